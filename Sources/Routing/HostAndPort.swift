// A host and a port as a person writes them: in a URL, in `listen`, in `allowed_hosts`. It looks up
// no name, and refuses the odd spellings of an address that would compare unequal to the usual one.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// `host`, `host:port`, `[v6]` or `[v6]:port`.
package struct HostAndPort: Hashable, Sendable {
    /// Lower-case; an IPv6 address without brackets and in its canonical form (RFC 5952).
    package let host: String
    /// The digits behind the colon, not yet judged; nil without a colon.
    package let port: String?

    /// Nil when the host is neither a registered name nor an address literal
    /// (RFC 3986 section 3.2.2).
    package init?(_ text: some StringProtocol) {
        let text = text.lowercased()
        if text.utf8.first == 0x5B {
            guard let end = text.firstIndex(of: "]") else { return nil }
            let inside = text[text.index(after: text.startIndex)..<end]
            let rest = text[text.index(after: end)...]
            guard let host = Self.canonicalIPv6(String(inside)), rest.isEmpty || rest.first == ":"
            else { return nil }
            self.host = host
            port = rest.isEmpty ? nil : String(rest.dropFirst())
        } else {
            let colon = text.firstIndex(of: ":") ?? text.endIndex
            let host = String(text[..<colon])
            guard Self.isName(host) else { return nil }
            self.host = host
            port = colon == text.endIndex ? nil : String(text[text.index(after: colon)...])
        }
    }

    /// Whether the text is a name that DNS could hold or a dotted IPv4 address. A last label that is
    /// a number belongs to an address only: "127.1" and "0x7f.1" are refused, since resolvers read
    /// them as addresses where a comparison of names does not.
    private static func isName(_ host: String) -> Bool {
        let labels = host.utf8.split(separator: ASCII.dot, omittingEmptySubsequences: false)
        guard (1...253).contains(host.utf8.count), labels.allSatisfy(isLabel) else { return false }
        guard let last = labels.last, let first = last.first, ASCII.isDigit(first) else {
            return true
        }
        let isNumber =
            last.allSatisfy(ASCII.isDigit)
            || last.starts(with: [0x30, 0x78]) && last.dropFirst(2).allSatisfy(isHexadecimal)
        return !isNumber || isIPv4(labels)
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool { ASCII.hexValue(byte) != nil }

    private static func isLabel(_ label: Substring.UTF8View) -> Bool {
        (1...63).contains(label.count) && label.first != ASCII.hyphen
            && label.last != ASCII.hyphen
            && label.allSatisfy { byte in
                byte &- 0x61 < 26 || ASCII.isDigit(byte) || byte == ASCII.hyphen || byte == 0x5F
            }
    }

    private static func isIPv4(_ labels: [Substring.UTF8View]) -> Bool {
        labels.count == 4
            && labels.allSatisfy { label in
                label.count == 1 || label.first != ASCII.zero
                    ? UInt8(Substring(label)) != nil : false
            }
    }

    private static func canonicalIPv6(_ text: String) -> String? {
        var address = in6_addr()
        guard inet_pton(AF_INET6, text, &address) == 1 else { return nil }
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) {
            guard let base = $0.baseAddress,
                inet_ntop(AF_INET6, &address, base, socklen_t(INET6_ADDRSTRLEN)) != nil
            else { return nil }
            return String(cString: base)
        }
    }
}
