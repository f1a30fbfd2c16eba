// Writes JSON (RFC 8259). It runs twice, first to measure and then to fill, so that no copy of a
// secret is left behind by a growing buffer. Control characters of both sets are escaped, so the
// text is safe to print on a terminal.

package import Bytes

/// Turns a value into bytes.
package struct JSONWriter {
    package enum Style: Sendable {
        /// No white space.
        case compact
        /// Two spaces per level and a line feed at the end, for files that people open.
        case indented
    }

    private let style: Style
    /// Nil while measuring.
    private let target: UnsafeMutableRawBufferPointer?
    private var count = 0

    private init(style: Style, target: UnsafeMutableRawBufferPointer?) {
        self.style = style
        self.target = target
    }

    /// The document, secrets in clear.
    package static func write(_ value: JSONValue, style: Style = .compact) -> SecretBytes {
        var measure = JSONWriter(style: style, target: nil)
        measure.document(value)
        return SecretBytes(count: measure.count) { target in
            var writer = JSONWriter(style: style, target: target)
            writer.document(value)
        }
    }

    /// The document as text, with every secret replaced by "[secret]".
    package static func redactedText(_ value: JSONValue, style: Style = .compact) -> String {
        write(redact(value), style: style).withBytes { String(decoding: $0, as: UTF8.self) }
    }

    private static func redact(_ value: JSONValue) -> JSONValue {
        switch value {
        case .null, .bool, .number, .string: value
        case .secret(let secret): .string(secret.description)
        case .array(let elements): .array(elements.map(redact))
        case .object(let object):
            .object(
                JSONObject(
                    checked: object.members.map { .init(name: $0.name, value: redact($0.value)) }))
        }
    }

    private mutating func document(_ value: JSONValue) {
        write(value, depth: 0)
        if style == .indented { append(ASCII.lineFeed) }
    }

    private mutating func write(_ value: JSONValue, depth: Int) {
        switch value {
        case .null: append("null")
        case .bool(let value): append(value ? "true" : "false")
        case .number(let number): append(number.text)
        case .string(let text): quote(text)
        case .secret(let secret): secret.withBytes { quote($0) }
        case .array(let elements):
            list("[", elements, "]", depth: depth) { writer, element in
                writer.write(element, depth: depth + 1)
            }
        case .object(let object):
            list("{", object.members, "}", depth: depth) { writer, member in
                writer.quote(member.name)
                writer.append(writer.style == .indented ? ": " : ":")
                writer.write(member.value, depth: depth + 1)
            }
        }
    }

    private mutating func list<Element>(
        _ opening: String, _ elements: [Element], _ closing: String, depth: Int,
        _ body: (inout JSONWriter, Element) -> Void
    ) {
        append(opening)
        for (index, element) in elements.enumerated() {
            if index > 0 { append(ASCII.comma) }
            breakLine(depth: depth + 1)
            body(&self, element)
        }
        if !elements.isEmpty { breakLine(depth: depth) }
        append(closing)
    }

    private mutating func breakLine(depth: Int) {
        guard style == .indented else { return }
        append(ASCII.lineFeed)
        for _ in 0..<(depth * 2) { append(ASCII.space) }
    }

    private mutating func quote(_ text: String) {
        var text = text
        text.withUTF8 { quote(UnsafeRawBufferPointer($0)) }
    }

    private mutating func quote(_ bytes: UnsafeRawBufferPointer) {
        append(ASCII.quote)
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            switch byte {
            case ASCII.quote, UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case ASCII.lineFeed: append("\\n")
            case ASCII.carriageReturn: append("\\r")
            case ASCII.tab: append("\\t")
            case 0..<0x20, 0x7F: escape(byte)
            case 0xC2 where index < bytes.count && bytes[index] < 0xA0:
                // U+0080 to U+009F, which some terminals obey.
                escape(bytes[index])
                index += 1
            default: append(byte)
            }
        }
        append(ASCII.quote)
    }

    /// `\u00XX`.
    private mutating func escape(_ byte: UInt8) {
        append("\\u00")
        for digit in [byte >> 4, byte & 15] { append(digit < 10 ? 0x30 + digit : 0x57 + digit) }
    }

    private mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    private mutating func append(_ byte: UInt8) {
        if let target { target[count] = byte }
        count += 1
    }
}
