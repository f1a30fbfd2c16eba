// The look-up behind RouteTable: one pass over the path, one probe of a hash table for each segment
// that a configured prefix could end with.

import Bytes
import HTTPWire

final class RouteIndex: Sendable {
    /// Host names to numbers from 1 up; 0 stands for "any host".
    private let hosts: ByteTable
    /// Prefixes, tagged with the number of their host, to routes.
    private let prefixes: ByteTable
    /// The routes of whole hosts (an empty prefix), by host number; -1 where there is none.
    private let roots: [Int32]
    /// The same, where the upstream has no base path: those may be asked for `*`.
    private let wholeServers: [Int32]
    private let prefixBytesMax: Int

    /// Whether there are routes by host.
    var hasHosts: Bool { roots.count > 1 }

    /// - Parameter listener: whose routes are looked up; nil where all have the same.
    init(_ specs: [RouteSpec], for listener: Int?) throws(RouteError) {
        var hostNumbers: [String: UInt32] = [:]
        var hostEntries: [ByteTable.Entry] = []
        var prefixEntries: [ByteTable.Entry] = []
        var taken: [Place: Int] = [:]
        var roots: [Int32] = [-1]
        var wholeServers: [Int32] = [-1]
        var longest = 0
        for (route, spec) in specs.enumerated() {
            if let listener, spec.listeners?.contains(listener) == false { continue }
            var host: UInt32 = 0
            if let name = spec.host {
                guard let parts = HostAndPort(name), parts.port == nil else {
                    throw .hostInvalid(route: route, host: name)
                }
                host = hostNumbers[parts.host] ?? UInt32(roots.count)
                if Int(host) == roots.count {
                    hostNumbers[parts.host] = host
                    let literal = parts.host.contains(":") ? "[\(parts.host)]" : parts.host
                    hostEntries.append(.init(key: Array(literal.utf8), value: host))
                    roots.append(-1)
                    wholeServers.append(-1)
                }
            }
            guard PathPrefix.isWellFormed(spec.path) else {
                throw .pathInvalid(route: route, path: spec.path)
            }
            let prefix = PathPrefix.trimmed(spec.path)
            if let other = taken.updateValue(route, forKey: Place(host: host, prefix: prefix)) {
                throw .overlap(route: route, with: other)
            }
            if prefix.isEmpty {
                roots[Int(host)] = Int32(route)
                if spec.upstream.basePath.isEmpty { wholeServers[Int(host)] = Int32(route) }
            } else {
                longest = max(longest, prefix.utf8.count)
                prefixEntries.append(
                    .init(key: Array(prefix.utf8), tag: host, value: UInt32(route)))
            }
        }
        hosts = ByteTable(hostEntries)
        prefixes = ByteTable(prefixEntries)
        prefixBytesMax = longest
        self.roots = roots
        self.wholeServers = wholeServers
    }

    private struct Place: Hashable {
        let host: UInt32
        let prefix: String
    }

    /// A route of the host's own comes before any other, however short its prefix.
    func match(host: UnsafeRawBufferPointer, path: UnsafeRawBufferPointer) -> Int? {
        guard path.isEmpty || path[0] == ASCII.slash else { return nil }
        let number = self.number(of: host)
        if number != 0, let route = longestMatch(path, number) { return route }
        return longestMatch(path, 0)
    }

    /// The route of `*` (RFC 9110 section 9.3.7).
    func wholeServer(host: UnsafeRawBufferPointer) -> Int? {
        let own = wholeServers[Int(number(of: host))]
        let route = own >= 0 ? own : wholeServers[0]
        return route >= 0 ? Int(route) : nil
    }

    private func number(of host: UnsafeRawBufferPointer) -> UInt32 {
        hasHosts ? hosts.valueIgnoringCase(host, tag: 0) ?? 0 : 0
    }

    private func longestMatch(_ path: UnsafeRawBufferPointer, _ host: UInt32) -> Int? {
        var found = roots[Int(host)]
        guard let base = path.baseAddress else { return found >= 0 ? Int(found) : nil }
        let limit = min(path.count, prefixBytesMax)
        var hash = ByteTable.seed
        var index = 0
        while index < limit {
            hash = ByteTable.hash(hash, path[index])
            index &+= 1
            if index == path.count || path[index] == ASCII.slash,
                let route = prefixes.value(base, count: index, hash: hash, tag: host)
            {
                found = Int32(truncatingIfNeeded: route)
            }
        }
        return found >= 0 ? Int(found) : nil
    }
}
