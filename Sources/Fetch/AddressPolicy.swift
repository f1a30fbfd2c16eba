// Which addresses a name may lead to. A name of the public internet that resolves to this machine, to a
// private network or to a cloud's metadata service is no API: somebody who controls the name, or the
// answers of a resolver, wants our credential carried there.

import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The judge of one dial. Belongs to the driver's thread.
final class AddressPolicy {
    enum Reach {
        /// Any address: the configuration names it, or allows it.
        case anywhere
        /// A name of a private network: all but link-local addresses and metadata services.
        case privateToo
        /// A public name.
        case publicOnly
        /// Whatever a stranger's document named: only what the registries have given out.
        case registeredOnly
    }

    private let reach: Reach
    /// Whether an address was refused.
    private(set) var hasRefused = false

    init(_ reach: Reach) { self.reach = reach }

    /// What a host of the configuration may lead to. An address literal says what it means.
    static func reach(of host: String, allowsPrivate: Bool) -> Reach {
        if allowsPrivate || isLiteral(host) { return .anywhere }
        return isPrivateName(host) ? .privateToo : .publicOnly
    }

    func admits(_ address: UnsafePointer<sockaddr>) -> Bool {
        let isAdmitted =
            switch reach {
            case .anywhere: true
            case .privateToo: Self.kind(of: address) != .special
            case .publicOnly: Self.kind(of: address) == .open
            case .registeredOnly: Self.isRegistered(address)
            }
        if !isAdmitted { hasRefused = true }
        return isAdmitted
    }

    enum Kind {
        /// Of the public internet.
        case open
        /// This machine, or a network of the site.
        case local
        /// Link-local, metadata, multicast, or no address of a host at all.
        case special
    }

    static func kind(of address: UnsafePointer<sockaddr>) -> Kind {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            return kind(
                v4: UInt32(bigEndian: raw.loadUnaligned(fromByteOffset: 4, as: UInt32.self)))
        case AF_INET6:
            return kind(v6: UnsafeRawBufferPointer(start: raw + 8, count: 16))
        default: return .special
        }
    }

    /// RFC 6890 and the registry that it began; 100.100.100.200 and 168.63.129.16 are services of
    /// clouds for their own machines, the latter at a public address.
    private static func kind(v4 address: UInt32) -> Kind {
        func isIn(_ network: UInt32, _ bits: UInt32) -> Bool {
            address >> (32 - bits) == network >> (32 - bits)
        }
        if isIn(0xA9FE_0000, 16) || isIn(0xE000_0000, 4) || isIn(0xF000_0000, 4)
            || address == 0x6464_64C8 || address == 0xA83F_8110
        {
            return .special
        }
        if isIn(0, 8) || isIn(0x0A00_0000, 8) || isIn(0x6440_0000, 10) || isIn(0x7F00_0000, 8)
            || isIn(0xAC10_0000, 12) || isIn(0xC000_0000, 24) || isIn(0xC0A8_0000, 16)
            || isIn(0xC612_0000, 15)
        {
            return .local
        }
        return .open
    }

    /// Addresses that hold one of IPv4 (mapped, NAT64, 6to4) are judged by it.
    private static func kind(v6 bytes: UnsafeRawBufferPointer) -> Kind {
        func v4(at offset: Int) -> Kind {
            kind(
                v4: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)))
        }
        let high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        let low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        if high == 0 {
            if low >> 32 == 0xFFFF { return v4(at: 12) }
            // :: and ::1, and the addresses once meant to be compatible with IPv4.
            return low <= 1 ? .local : v4(at: 12)
        }
        if high == 0x0064_FF9B_0000_0000, low >> 32 == 0 { return v4(at: 12) }
        if high >> 48 == 0x2002 { return v4(at: 2) }
        // fe80::/10, ff00::/8, and fd00:ec2::254, the metadata service of a cloud.
        if high >> 54 == 0xFE80 >> 6 || high >> 56 == 0xFF { return .special }
        if high == 0xFD00_0EC2_0000_0000, low == 0x254 { return .special }
        // fc00::/7, fec0::/10 (site-local until RFC 3879), and 64:ff9b:1::/48, a site's own NAT64
        // (RFC 8215), whose addresses of IPv4 stand where only the site knows.
        let isSite =
            high >> 57 == 0xFC >> 1 || high >> 54 == 0xFEC0 >> 6 || high >> 16 == 0x0064_FF9B_0001
        return isSite ? .local : .open
    }

    private static func isRegistered(_ address: UnsafePointer<sockaddr>) -> Bool {
        let raw = UnsafeRawPointer(address)
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            let host = raw.loadUnaligned(as: sockaddr_in.self).sin_addr.s_addr
            return PublicAddress.isPublic(UInt32(bigEndian: host))
        case AF_INET6:
            let host = raw.loadUnaligned(as: sockaddr_in6.self).sin6_addr
            return PublicAddress.isPublic(withUnsafeBytes(of: host) { Array($0) })
        default: return false
        }
    }

    private static func isLiteral(_ host: String) -> Bool {
        host.contains(":") || host.utf8.allSatisfy { $0 == 0x2E || $0 &- 0x30 < 10 }
    }

    /// Names that no public zone has (RFC 6761, RFC 8375, and what sites have long used), and names of
    /// one label.
    private static func isPrivateName(_ host: String) -> Bool {
        let labels = host.lowercased().split(separator: ".")
        guard labels.count > 1, let last = labels.last else { return true }
        if last == "arpa" { return labels.suffix(2).first == "home" }
        return [
            "localhost", "local", "internal", "intranet", "private", "lan", "home", "corp", "test",
            "localdomain",
        ].contains(last)
    }
}
