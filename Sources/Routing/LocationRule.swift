// Turns a Location that names the upstream into one that names this proxy, so that a client that
// follows it stays where its requests get their credential (RFC 9110 section 10.2.2). Whatever is
// not certainly the route's own upstream and base path is left as it came.

import Bytes
import HTTPWire
import Vocabulary

struct LocationRule: Sendable {
    private let scheme: [UInt8]
    private let host: [UInt8]
    private let port: UInt16
    private let defaultPort: UInt16
    private let basePath: [UInt8]
    private let prefix: [UInt8]

    init(_ spec: RouteSpec) {
        let origin = spec.upstream.origin
        scheme = Array("\(origin.scheme.rawValue):".utf8)
        host = Array((origin.host.contains(":") ? "[\(origin.host)]" : origin.host).utf8)
        port = origin.port
        defaultPort = origin.scheme.defaultPort
        basePath = Array(spec.upstream.basePath.utf8)
        prefix = Array(PathPrefix.trimmed(spec.path).utf8)
    }

    /// Writes the rewritten value, or writes nothing and returns false.
    ///
    /// `https://api/base/x`, `//api/base/x` and `/base/x` become `http://authority/prefix/x` (https where the client speaks it); a
    /// Location of the other scheme does not, since it names another origin. Without an authority a
    /// path is written, which a client resolves against its own request.
    func write(
        _ value: UnsafeRawBufferPointer, authority: UnsafeRawBufferPointer, isSecure: Bool,
        into output: inout ByteBuffer
    ) -> Bool {
        guard let reference = pathOfOwn(value) else { return false }
        let end = reference.firstIndex { $0 == ASCII.question || $0 == 0x23 } ?? reference.count
        let path = UnsafeRawBufferPointer(rebasing: reference[..<end])
        guard begins(path, with: basePath),
            path.count == basePath.count || path[basePath.count] == ASCII.slash,
            !DotSegments.occur(in: path)
        else { return false }
        let tail = UnsafeRawBufferPointer(rebasing: reference[basePath.count...])
        if !authority.isEmpty {
            output.append(isSecure ? "https://" : "http://")
            output.append(authority)
        }
        prefix.withUnsafeBytes { output.append($0) }
        if prefix.isEmpty, tail.first != ASCII.slash { output.append(ASCII.slash) }
        output.append(tail)
        return true
    }

    /// The path, query and fragment of a reference to the upstream; nil for any other.
    private func pathOfOwn(_ value: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var start = 0
        if begins(value, with: scheme) { start = scheme.count }
        let rest = UnsafeRawBufferPointer(rebasing: value[start...])
        guard rest.count >= 2, rest[0] == ASCII.slash, rest[1] == ASCII.slash else {
            // A path alone needs no change where the route maps it to itself.
            guard start == 0, rest.first == ASCII.slash, prefix != basePath else { return nil }
            return rest
        }
        var end = 2
        while end < rest.count, rest[end] != ASCII.slash, rest[end] != ASCII.question,
            rest[end] != 0x23
        {
            end += 1
        }
        let authority = Authority(UnsafeRawBufferPointer(rebasing: rest[2..<end]))
        guard let authority, (authority.port ?? defaultPort) == port,
            host.withUnsafeBytes({ ASCII.equalsIgnoringCase($0, authority.host) })
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: rest[end...])
    }

    /// Compares without case only for schemes; a base path has none to lose.
    private func begins(_ value: UnsafeRawBufferPointer, with start: [UInt8]) -> Bool {
        guard value.count >= start.count else { return false }
        let isScheme = start.last == ASCII.colon
        for index in 0..<start.count {
            let byte = isScheme ? ASCII.lowercased(value[index]) : value[index]
            if byte != start[index] { return false }
        }
        return true
    }
}
