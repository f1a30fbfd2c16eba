// An origin that pages may call from, as browsers serialise it (RFC 6454 section 6.2). There is no
// wildcard, and `null` is no origin.

/// Scheme, host and port of a page.
package struct AllowedOrigin: Hashable, Sendable {
    /// Every spelling that counts as this origin, in lower case: the port of http and https may be
    /// left out where it is the scheme's own.
    let spellings: [String]

    /// Nil for anything but `scheme://host` or `scheme://host:port`.
    package init?(_ text: String) {
        guard let separator = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<separator.lowerBound].lowercased()
        guard let first = scheme.utf8.first, first &- 0x61 < 26,
            scheme.utf8.allSatisfy(Self.isSchemeByte),
            let parts = HostAndPort(text[separator.upperBound...])
        else { return nil }
        let host = parts.host.contains(":") ? "[\(parts.host)]" : parts.host
        let defaultPort: UInt16? = scheme == "http" ? 80 : scheme == "https" ? 443 : nil
        var port: UInt16?
        if let digits = parts.port {
            guard let number = UInt16(digits), number > 0, digits.utf8.first != 0x30 else {
                return nil
            }
            port = number
        }
        if let defaultPort, (port ?? defaultPort) == defaultPort {
            spellings = ["\(scheme)://\(host)", "\(scheme)://\(host):\(defaultPort)"]
        } else {
            spellings = ["\(scheme)://\(host)" + (port.map { ":\($0)" } ?? "")]
        }
    }

    private static func isSchemeByte(_ byte: UInt8) -> Bool {
        byte &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2B || byte == 0x2D || byte == 0x2E
    }
}
