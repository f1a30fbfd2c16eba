// Takes an absolute http or https URL apart (RFC 3986 section 3) without changing a byte of it. It
// normalises nothing but the host's case in `origin`, decodes nothing and resolves nothing.

/// Why a text is no URL that we would send something to.
package enum WebURLError: Error, Hashable, Sendable {
    case notHTTP
    /// A byte outside 0x21...0x7E, or one that no URL contains unescaped.
    case invalidByte(at: Int)
    case userInfo
    case invalidHost
    case invalidPort
}

/// An absolute URL with an http or https scheme.
package struct WebURL: Hashable, Sendable {
    /// As it was given.
    package let text: String
    package let origin: Origin
    /// As written: empty, or starting with a slash.
    package let path: String
    /// Without its "?"; nil where there is none.
    package let query: String?
    /// Without its "#".
    package let fragment: String?

    package init(_ text: String) throws(WebURLError) {
        let forbidden: Set<UInt8> = Set("\"<>\\^`{|}".utf8)
        for (offset, byte) in text.utf8.enumerated()
        where !(0x21...0x7E).contains(byte) || forbidden.contains(byte) {
            throw .invalidByte(at: offset)
        }
        guard let colon = text.firstIndex(of: ":"),
            let scheme = Origin.Scheme(rawValue: text[..<colon].lowercased())
        else { throw .notHTTP }
        var rest = text[text.index(after: colon)...]
        guard rest.hasPrefix("//") else { throw .notHTTP }
        rest = rest.dropFirst(2)
        fragment = WebURL.cut(&rest, at: "#")
        query = WebURL.cut(&rest, at: "?")
        let slash = rest.firstIndex(of: "/") ?? rest.endIndex
        path = String(rest[slash...])
        let (host, port) = try WebURL.authority(rest[..<slash])
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        self.text = text
    }

    /// Whether what is sent there is protected, or never leaves this machine.
    package var isSecure: Bool { origin.scheme == .https || origin.isLoopback }

    /// Everything before the path, as written.
    package var textBeforePath: Substring {
        let tail =
            path.utf8.count + (query.map { $0.utf8.count + 1 } ?? 0)
            + (fragment.map { $0.utf8.count + 1 } ?? 0)
        return text.dropLast(tail)
    }

    private static func cut(_ text: inout Substring, at mark: Character) -> String? {
        guard let index = text.firstIndex(of: mark) else { return nil }
        defer { text = text[..<index] }
        return String(text[text.index(after: index)...])
    }

    private static func authority(
        _ text: Substring
    ) throws(WebURLError) -> (host: String, port: UInt16?) {
        guard !text.contains("@") else { throw .userInfo }
        var host = text
        var port: UInt16?
        let end = text.lastIndex(of: "]") ?? text.startIndex
        if let colon = text[end...].lastIndex(of: ":") {
            host = text[..<colon]
            let digits = text[text.index(after: colon)...]
            // A colon with nothing behind it is the default port (RFC 3986 section 3.2.3).
            if !digits.isEmpty {
                guard digits.utf8.allSatisfy({ $0 &- 0x30 < 10 }), let number = UInt16(digits),
                    number > 0
                else { throw .invalidPort }
                port = number
            }
        }
        let isLiteral = host.hasPrefix("[") && host.hasSuffix("]")
        let name = isLiteral ? host.dropFirst().dropLast() : host
        guard !name.isEmpty, name.utf8.allSatisfy(isLiteral ? isAddressByte : isNameByte) else {
            throw .invalidHost
        }
        return (name.lowercased(), port)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E
            || byte == 0x5F
    }

    private static func isAddressByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 6 || byte &- 0x30 < 10 || byte == 0x3A || byte == 0x2E
    }
}
