// The exceptions of `no_proxy`, read as curl reads them: names with everything below them, addresses,
// address blocks, and `*`. No name is ever looked up to decide.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

import Vocabulary

/// Hosts that are dialled directly.
struct NoProxyList: Hashable, Sendable {
    private enum Rule: Hashable, Sendable {
        case everything
        /// The name and all names below it.
        case name(String)
        /// Addresses that begin with the first `bits` of these.
        case block([UInt8], bits: Int)
    }

    private struct Entry: Hashable, Sendable {
        let rule: Rule
        let port: UInt16?
    }

    private let entries: [Entry]

    /// Entries between commas or white space; one that cannot be read matches nothing.
    init(_ text: String) {
        entries = text.split { $0 == "," || $0.isWhitespace }.compactMap { NoProxyList.entry($0) }
    }

    func contains(_ origin: Origin) -> Bool {
        let host = NoProxyList.plain(origin.host[...])
        let address = NoProxyList.address(host)
        return entries.contains { entry in
            if let port = entry.port, port != origin.port { return false }
            switch entry.rule {
            case .everything: return true
            case .name(let name):
                return address == nil && (host == name || host.hasSuffix("." + name))
            case .block(let prefix, let bits):
                guard let address, address.count == prefix.count else { return false }
                return NoProxyList.agree(address, prefix, bits: bits)
            }
        }
    }

    private static func entry(_ text: Substring) -> Entry? {
        if text == "*" { return Entry(rule: .everything, port: nil) }
        if let rule = rule(text) { return Entry(rule: rule, port: nil) }
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...]), let rule = rule(text[..<colon])
        else { return nil }
        return Entry(rule: rule, port: port)
    }

    private static func rule(_ text: Substring) -> Rule? {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first else { return nil }
        if let address = address(plain(first)) {
            guard parts.count == 2 else { return .block(address, bits: address.count * 8) }
            guard let bits = Int(parts[1]), 0...address.count * 8 ~= bits else { return nil }
            return .block(address, bits: bits)
        }
        var name = plain(text)
        if name.hasPrefix("*.") { name.removeFirst(2) }
        if name.hasPrefix(".") { name.removeFirst() }
        guard !name.isEmpty, !name.contains(":"), !name.contains("/") else { return nil }
        return .name(name)
    }

    /// Lower case, without brackets and the final dot of an absolute name.
    private static func plain(_ host: Substring) -> String {
        var host = host
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        if host.hasSuffix(".") { host = host.dropLast() }
        return host.lowercased()
    }

    /// The 4 or 16 bytes of an address literal.
    private static func address(_ host: String) -> [UInt8]? {
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return withUnsafeBytes(of: four) { Array($0) } }
        var sixteen = in6_addr()
        if inet_pton(AF_INET6, host, &sixteen) == 1 {
            return withUnsafeBytes(of: sixteen) { Array($0) }
        }
        return nil
    }

    private static func agree(_ left: [UInt8], _ right: [UInt8], bits: Int) -> Bool {
        let whole = bits / 8
        guard left[..<whole] == right[..<whole] else { return false }
        let rest = bits % 8
        return rest == 0 || (left[whole] ^ right[whole]) >> UInt8(8 - rest) == 0
    }
}
