// Which addresses are of the public Internet and which lead into somebody's own network: what a
// stranger's document says must not make us talk to the second kind (RFC 9728 section 7.7). Nothing is
// looked up here.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// By the registries of special-purpose addresses (RFC 6890), multicast included.
package enum PublicAddress {
    /// Blocks of IPv4 that are not public: the first address and the number of bits that count.
    private static let closedIPv4: [(first: UInt32, bits: UInt32)] = [
        (0x0000_0000, 8), (0x0A00_0000, 8), (0x6440_0000, 10), (0x7F00_0000, 8),
        (0xA9FE_0000, 16), (0xAC10_0000, 12), (0xC000_0000, 24), (0xC0A8_0000, 16),
        (0xC612_0000, 15), (0xE000_0000, 3),
        // A cloud's service for its own machines.
        (0xA83F_8110, 32),
    ]

    /// - Parameter address: in the order of its bytes, most significant first.
    package static func isPublic(_ address: UInt32) -> Bool {
        closedIPv4.allSatisfy { (address ^ $0.first) >> (32 - $0.bits) != 0 }
    }

    /// - Parameter bytes: the 16 of an IPv6 address; any other number is not public.
    package static func isPublic(_ bytes: [UInt8]) -> Bool {
        guard bytes.count == 16 else { return false }
        func isWithin(_ prefix: [UInt8]) -> Bool { bytes.starts(with: prefix) }
        func ipv4(at offset: Int) -> UInt32 {
            bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
        // An IPv4 address in other clothes: mapped, translated (RFC 6052), 6to4 (RFC 3056).
        if isWithin([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF])
            || isWithin([0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0])
        {
            return isPublic(ipv4(at: 12))
        }
        if isWithin([0x20, 0x02]) { return isPublic(ipv4(at: 2)) }
        // Teredo hides another's address (RFC 4380).
        if isWithin([0x20, 0x01, 0, 0]) { return false }
        // All that has been given out so far (RFC 3513 section 4).
        return bytes[0] & 0xE0 == 0x20
    }

    /// Whether a host may be one: false for literals of other addresses and for names that mean
    /// something only in one network (RFC 6761, RFC 6762, RFC 8375, ".internal"). A name may still lead
    /// to any address, which shows only when it is looked up.
    ///
    /// - Parameter host: as in `Origin`: lower case, IPv6 without brackets.
    package static func mayBePublic(_ host: String) -> Bool {
        if host.contains(":") {
            var address = in6_addr()
            guard inet_pton(AF_INET6, host, &address) == 1 else { return false }
            return isPublic(withUnsafeBytes(of: address) { Array($0) })
        }
        let labels = host.split(separator: ".", omittingEmptySubsequences: false)
        guard let last = labels.last, !last.isEmpty else { return false }
        // What ends in a number is an address, in one of several spellings; one of them is plain.
        if last.utf8.allSatisfy({ $0 &- 0x30 < 10 }) || last.hasPrefix("0x") {
            var address = in_addr()
            guard inet_pton(AF_INET, host, &address) == 1 else { return false }
            return isPublic(UInt32(bigEndian: address.s_addr))
        }
        let tail = labels.suffix(2).joined(separator: ".")
        return labels.count > 1 && tail != "home.arpa"
            && !["localhost", "local", "internal", "localdomain"].contains(String(last))
    }
}
