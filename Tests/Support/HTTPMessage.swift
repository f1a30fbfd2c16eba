// HTTP/1.1 messages as tests see them: read leniently, kept raw. Deliberately not built on HTTPWire,
// which is what these tests judge.

/// A request or a response.
package struct HTTPMessage: Sendable {
    package struct Field: Hashable, Sendable {
        /// As it came, bytes as Latin-1.
        package let name: String
        /// Without the white space around it.
        package let value: String

        package init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The bytes of the head as they came, the empty line included.
    package let head: Octets
    package let startLine: String
    package let fields: [Field]
    /// Decoded.
    package var body = Octets("")
    package var trailers: [Field] = []
    /// Whether the body came in chunks.
    package var isChunked = false

    package init(head: Octets) throws {
        self.head = head
        var lines = head.text.components(separatedBy: "\r\n")
        while lines.first == "" { lines.removeFirst() }
        guard let first = lines.first, head.hasSuffix("\r\n\r\n") else {
            throw Failure.malformed("head without lines")
        }
        startLine = first
        fields = try lines.dropFirst().filter { !$0.isEmpty }.map(HTTPMessage.field)
    }

    static func field(_ line: String) throws -> Field {
        let scalars = line.unicodeScalars
        guard let colon = scalars.firstIndex(of: ":") else {
            throw Failure.malformed("field line without a colon: \(line.debugDescription)")
        }
        var value = scalars[scalars.index(after: colon)...]
        while let last = value.last, last == " " || last == "\t" { value.removeLast() }
        while let first = value.first, first == " " || first == "\t" { value.removeFirst() }
        return Field(name: String(scalars[..<colon]), value: String(value))
    }

    private var words: [String] { startLine.components(separatedBy: " ") }

    // Of a request.
    package var method: String { words[0] }
    package var target: String { words.count > 1 ? words[1] : "" }
    /// The target up to the query.
    package var path: String { target.components(separatedBy: "?")[0] }
    package var query: String {
        let parts = target.components(separatedBy: "?")
        return parts.dropFirst().joined(separator: "?")
    }

    // Of a response.
    package var status: Int { words.count > 1 ? Int(words[1]) ?? -1 : -1 }

    /// All values of a field in their order.
    package func values(_ name: String) -> [String] {
        fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// The value of a field that may come once only.
    package func value(_ name: String) -> String? {
        let values = values(name)
        return values.count == 1 ? values[0] : nil
    }

    package func has(_ name: String) -> Bool { !values(name).isEmpty }
}

extension HTTPMessage: CustomStringConvertible {
    package var description: String { (head + body).description }
}

extension String {
    /// Splits at every occurrence of a separator, byte by byte: a CR LF is one Character, so that
    /// `split` on characters would miss it.
    package func components(separatedBy separator: String) -> [String] {
        let bytes = Array(utf8)
        let needle = Octets(Array(separator.utf8))
        return bytes.withUnsafeBytes { bytes in
            var parts: [String] = []
            var start = 0
            while let index = offset(of: needle, in: bytes, from: start) {
                parts.append(String(decoding: bytes[start..<index], as: UTF8.self))
                start = index + needle.count
            }
            parts.append(String(decoding: bytes[start...], as: UTF8.self))
            return parts
        }
    }
}
