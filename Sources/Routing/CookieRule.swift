// Turns the cookies of an upstream into ones that a browser keeps for this proxy: without the upstream's
// domain, with the path as the client sees it, and without what only https can have where the client
// speaks http (RFC 6265 section 5.3). It touches neither names nor values.

import Bytes

struct CookieRule: Sendable {
    private let basePath: [UInt8]
    private let prefix: [UInt8]

    init(_ spec: RouteSpec) {
        basePath = Array(spec.upstream.basePath.utf8)
        prefix = Array(PathPrefix.trimmed(spec.path).utf8)
    }

    /// Writes the rewritten value of a Set-Cookie field, or writes nothing and returns false where it
    /// cannot be: `__Host-` and `__Secure-` promise what a client of plain http cannot see kept, and
    /// `__Host-` a path that a route's prefix would break (draft-ietf-httpbis-rfc6265bis section 4.1.3).
    func write(
        _ value: UnsafeRawBufferPointer, isSecure: Bool, into output: inout ByteBuffer
    ) -> Bool {
        guard canRewrite(value, isSecure: isSecure) else { return false }
        var start = 0
        while start <= value.count {
            let end = value[start...].firstIndex(of: ASCII.semicolon) ?? value.count
            let part = UnsafeRawBufferPointer(rebasing: value[start..<end])
            if start == 0 {
                output.append(part)
            } else {
                write(attribute: part, isSecure: isSecure, into: &output)
            }
            start = end + 1
        }
        return true
    }

    func canRewrite(_ value: UnsafeRawBufferPointer, isSecure: Bool) -> Bool {
        !begins(value, with: "__host-") && (isSecure || !begins(value, with: "__secure-"))
    }

    /// - Parameter part: one attribute, spaces included, without its semicolon.
    private func write(
        attribute part: UnsafeRawBufferPointer, isSecure: Bool, into output: inout ByteBuffer
    ) {
        let equals = part.firstIndex(of: ASCII.equals)
        let name = trimmed(part, 0..<(equals ?? part.count))
        let value = equals.map { trimmed(part, ($0 + 1)..<part.count) }
        if ASCII.equalsIgnoringCase(name, "domain") { return }
        if !isSecure {
            if ASCII.equalsIgnoringCase(name, "secure") { return }
            if ASCII.equalsIgnoringCase(name, "partitioned") { return }
            if ASCII.equalsIgnoringCase(name, "samesite"), let value,
                ASCII.equalsIgnoringCase(value, "none")
            {
                // None goes with Secure only; without either a browser would drop the cookie.
                output.append("; SameSite=Lax")
                return
            }
        }
        if ASCII.equalsIgnoringCase(name, "path"), let value, let rest = behindBase(value) {
            output.append("; Path=")
            prefix.withUnsafeBytes { output.append($0) }
            if prefix.isEmpty, rest.isEmpty { output.append(ASCII.slash) }
            output.append(rest)
            return
        }
        output.append(ASCII.semicolon)
        output.append(part)
    }

    /// What a path has behind the base path; all of the base path for one that contains it, since the
    /// client sees no more of the upstream than that. Nil for a path beside it.
    private func behindBase(_ path: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        guard path.first == ASCII.slash else { return nil }
        var count = path.count
        while count > 1, path[count - 1] == ASCII.slash { count -= 1 }
        let trimmed = UnsafeRawBufferPointer(rebasing: path[..<(count == 1 ? 0 : count)])
        let shared = min(trimmed.count, basePath.count)
        guard basePath[..<shared].elementsEqual(trimmed[..<shared]) else { return nil }
        if trimmed.count > basePath.count {
            guard trimmed[basePath.count] == ASCII.slash else { return nil }
            return UnsafeRawBufferPointer(rebasing: path[basePath.count...])
        }
        guard trimmed.count == basePath.count || basePath[trimmed.count] == ASCII.slash else {
            return nil
        }
        return UnsafeRawBufferPointer(start: nil, count: 0)
    }

    private func begins(_ value: UnsafeRawBufferPointer, with start: StaticString) -> Bool {
        let value = trimmed(value, 0..<value.count)
        let count = start.utf8CodeUnitCount
        guard value.count >= count else { return false }
        return ASCII.equalsIgnoringCase(UnsafeRawBufferPointer(rebasing: value[..<count]), start)
    }

    private func trimmed(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>
    ) -> UnsafeRawBufferPointer {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, bytes[start] == ASCII.space || bytes[start] == ASCII.tab { start += 1 }
        while end > start, bytes[end - 1] == ASCII.space || bytes[end - 1] == ASCII.tab { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}
