// An origin: where a credential may go (RFC 6454 section 4; RFC 9110 section 4.3.1).

/// Scheme, host and port. Hosts are lower-case ASCII, an IPv6 address stands without brackets.
package struct Origin: Hashable, Sendable {
    package enum Scheme: String, Sendable {
        case http, https

        package var defaultPort: UInt16 { self == .http ? 80 : 443 }
    }

    package let scheme: Scheme
    package let host: String
    package let port: UInt16

    package init(scheme: Scheme, host: String, port: UInt16) {
        self.scheme = scheme
        self.host = host
        self.port = port
    }

    /// The value of a Host field for this origin: the port only where it is not the scheme's own.
    package var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port == scheme.defaultPort ? name : "\(name):\(port)"
    }

    /// Whether the host is this machine by name or address literal; no name is looked up.
    package var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "::1"
            || Origin.isLoopbackIPv4(host)
    }

    private static func isLoopbackIPv4(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension Origin: CustomStringConvertible {
    package var description: String { "\(scheme.rawValue)://\(authority)" }
}
