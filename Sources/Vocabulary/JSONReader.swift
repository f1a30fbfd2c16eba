// Reads JSON that a stranger wrote (RFC 8259): strict in grammar and UTF-8, bounded in size, depth
// and number of values. It refuses repeated names, which readers disagree about (RFC 7493 section
// 2.3), and lone surrogates, which no text can hold.

package import Bytes

/// Why bytes are not JSON that we accept; offsets count bytes from the start.
package enum JSONError: Error, Hashable, Sendable {
    case empty
    case tooLarge(limit: Int)
    case tooDeep(limit: Int)
    case tooManyValues(limit: Int)
    case endsEarly
    case unexpectedByte(at: Int)
    case invalidUTF8(at: Int)
    case invalidEscape(at: Int)
    case repeatedName(at: Int)
    case trailingBytes(at: Int)
}

/// A cursor over one document.
package struct JSONReader {
    package struct Limits: Sendable {
        package var bytesMax = 1 << 20
        package var depthMax = 32
        package var valuesMax = 1 << 16

        package init() {}
    }

    /// How string values are held; names are always plain.
    package enum Strings: Sendable {
        case plain
        /// For documents that carry credentials: no string value ever becomes a `String`.
        case secret
    }

    private let bytes: UnsafeRawBufferPointer
    private let strings: Strings
    private let limits: Limits
    private var position = 0
    private var depth = 0
    private var values = 0

    private init(_ bytes: UnsafeRawBufferPointer, strings: Strings, limits: Limits) {
        self.bytes = bytes
        self.strings = strings
        self.limits = limits
    }

    /// The one value of a document. A byte order mark before it is passed over (RFC 8259 section
    /// 8.1), white space around it too; anything else beside it is an error.
    package static func read(
        _ bytes: UnsafeRawBufferPointer, strings: Strings = .plain, limits: Limits = Limits()
    ) throws(JSONError) -> JSONValue {
        guard bytes.count <= limits.bytesMax else { throw .tooLarge(limit: limits.bytesMax) }
        if let offset = firstInvalidUTF8(in: bytes) { throw .invalidUTF8(at: offset) }
        var reader = JSONReader(bytes, strings: strings, limits: limits)
        if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { reader.position = 3 }
        reader.skipWhiteSpace()
        guard reader.position < bytes.count else { throw .empty }
        let value = try reader.value()
        reader.skipWhiteSpace()
        guard reader.position == bytes.count else { throw .trailingBytes(at: reader.position) }
        return value
    }

    package static func read(
        _ secret: SecretBytes, strings: Strings = .secret, limits: Limits = Limits()
    ) throws(JSONError) -> JSONValue {
        try secret.withBytes { bytes throws(JSONError) in
            try read(bytes, strings: strings, limits: limits)
        }
    }

    package static func read(
        text: String, strings: Strings = .plain, limits: Limits = Limits()
    ) throws(JSONError) -> JSONValue {
        try read(SecretBytes(text), strings: strings, limits: limits)
    }

    // MARK: Values

    private mutating func value() throws(JSONError) -> JSONValue {
        values += 1
        guard values <= limits.valuesMax else { throw .tooManyValues(limit: limits.valuesMax) }
        switch try peek() {
        case UInt8(ascii: "{"):
            return try nested { reader throws(JSONError) in try reader.object() }
        case UInt8(ascii: "["): return try nested { reader throws(JSONError) in try reader.array() }
        case ASCII.quote: return try string()
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case ASCII.hyphen, 0x30...0x39: return .number(try number())
        default: throw .unexpectedByte(at: position)
        }
    }

    private mutating func nested(
        _ body: (inout JSONReader) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depth < limits.depthMax else { throw .tooDeep(limit: limits.depthMax) }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try body(&self)
    }

    /// What follows "{".
    private mutating func object() throws(JSONError) -> JSONValue {
        var members: [JSONObject.Member] = []
        var names: Set<[UInt8]> = []
        skipWhiteSpace()
        if try peek() == UInt8(ascii: "}") {
            position += 1
            return .object(JSONObject())
        }
        while true {
            skipWhiteSpace()
            let start = position
            guard try peek() == ASCII.quote else { throw .unexpectedByte(at: position) }
            let name = try decodeString { String(decoding: $0, as: UTF8.self) }
            // As bytes: two names that are equivalent to Unicode are two names here.
            guard names.insert(Array(name.utf8)).inserted else { throw .repeatedName(at: start) }
            skipWhiteSpace()
            guard try peek() == ASCII.colon else { throw .unexpectedByte(at: position) }
            position += 1
            skipWhiteSpace()
            members.append(JSONObject.Member(name: name, value: try value()))
            if try endsList(with: UInt8(ascii: "}")) {
                return .object(JSONObject(checked: members))
            }
        }
    }

    /// What follows "[".
    private mutating func array() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        skipWhiteSpace()
        if try peek() == UInt8(ascii: "]") {
            position += 1
            return .array([])
        }
        while true {
            skipWhiteSpace()
            elements.append(try value())
            if try endsList(with: UInt8(ascii: "]")) { return .array(elements) }
        }
    }

    /// Takes a comma (false) or the closing byte (true).
    private mutating func endsList(with closing: UInt8) throws(JSONError) -> Bool {
        skipWhiteSpace()
        let byte = try peek()
        guard byte == closing || byte == ASCII.comma else { throw .unexpectedByte(at: position) }
        position += 1
        return byte == closing
    }

    private mutating func word(
        _ word: StaticString, _ value: JSONValue
    ) throws(JSONError) -> JSONValue {
        for index in 0..<word.utf8CodeUnitCount {
            guard try peek() == word.utf8Start[index] else { throw .unexpectedByte(at: position) }
            position += 1
        }
        return value
    }

    private mutating func number() throws(JSONError) -> JSONNumber {
        let start = position
        if bytes[position] == ASCII.hyphen { position += 1 }
        if try peek() == ASCII.zero { position += 1 } else { try digits() }
        if position < bytes.count, bytes[position] == ASCII.dot {
            position += 1
            try digits()
        }
        if position < bytes.count, ASCII.lowercased(bytes[position]) == UInt8(ascii: "e") {
            position += 1
            if try peek() == ASCII.plus || bytes[position] == ASCII.hyphen { position += 1 }
            try digits()
        }
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<position])
        return JSONNumber(checked: String(decoding: text, as: UTF8.self))
    }

    private mutating func digits() throws(JSONError) {
        guard ASCII.isDigit(try peek()) else { throw .unexpectedByte(at: position) }
        while position < bytes.count, ASCII.isDigit(bytes[position]) { position += 1 }
    }

    private func peek() throws(JSONError) -> UInt8 {
        guard position < bytes.count else { throw .endsEarly }
        return bytes[position]
    }

    private mutating func skipWhiteSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }

    // MARK: Strings

    private mutating func string() throws(JSONError) -> JSONValue {
        switch strings {
        case .plain: .string(try decodeString { String(decoding: $0, as: UTF8.self) })
        case .secret: .secret(try decodeString { SecretBytes(copying: $0) })
        }
    }

    /// Takes a string from its opening quote on and lends its decoded bytes, which are valid UTF-8.
    private mutating func decodeString<Result>(
        _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(JSONError) -> Result {
        position += 1
        let start = position
        var end = position
        while end < bytes.count, bytes[end] != ASCII.quote {
            end += bytes[end] == UInt8(ascii: "\\") ? 2 : 1
        }
        // Decoding never lengthens, so nothing that may be secret is left behind by growth.
        var decoded = ByteBuffer(capacity: min(end, bytes.count) - start)
        defer { wipe(decoded.mutableBytes) }
        try decodeCharacters(into: &decoded)
        return body(decoded.bytes)
    }

    /// Up to behind the closing quote.
    private mutating func decodeCharacters(into decoded: inout ByteBuffer) throws(JSONError) {
        while true {
            let byte = try peek()
            position += 1
            switch byte {
            case ASCII.quote:
                return
            case UInt8(ascii: "\\"):
                try decodeEscape(into: &decoded)
            case 0..<0x20:
                throw .unexpectedByte(at: position - 1)
            default:
                decoded.append(byte)
            }
        }
    }

    private mutating func decodeEscape(into decoded: inout ByteBuffer) throws(JSONError) {
        let start = position - 1
        let byte = try peek()
        position += 1
        switch byte {
        case ASCII.quote, UInt8(ascii: "\\"), ASCII.slash: decoded.append(byte)
        case UInt8(ascii: "b"): decoded.append(0x08)
        case UInt8(ascii: "f"): decoded.append(0x0C)
        case UInt8(ascii: "n"): decoded.append(0x0A)
        case UInt8(ascii: "r"): decoded.append(0x0D)
        case UInt8(ascii: "t"): decoded.append(0x09)
        case UInt8(ascii: "u"): append(try scalar(from: start), to: &decoded)
        default: throw .invalidEscape(at: start)
        }
    }

    private func append(_ scalar: Unicode.Scalar, to decoded: inout ByteBuffer) {
        for unit in UTF8.encode(scalar).unsafelyUnwrapped { decoded.append(unit) }
    }

    /// What `\u` stands for, a second `\u` of a surrogate pair included.
    private mutating func scalar(from start: Int) throws(JSONError) -> Unicode.Scalar {
        let first = try hexadecimal(from: start)
        if let scalar = Unicode.Scalar(first) { return scalar }
        guard first < 0xDC00 else { throw .invalidEscape(at: start) }
        for expected in [UInt8(ascii: "\\"), UInt8(ascii: "u")] {
            guard try peek() == expected else { throw .invalidEscape(at: start) }
            position += 1
        }
        let second = try hexadecimal(from: start)
        guard (0xDC00...0xDFFF).contains(second),
            let scalar = Unicode.Scalar(0x10000 + (first - 0xD800) << 10 + (second - 0xDC00))
        else { throw .invalidEscape(at: start) }
        return scalar
    }

    private mutating func hexadecimal(from start: Int) throws(JSONError) -> UInt32 {
        var value: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = ASCII.hexValue(try peek()) else { throw .invalidEscape(at: start) }
            value = value << 4 | UInt32(digit)
            position += 1
        }
        return value
    }
}

/// The offset of the first byte that does not belong to well-formed UTF-8 (Unicode table 3-7), or
/// nil.
package func firstInvalidUTF8(in bytes: UnsafeRawBufferPointer) -> Int? {
    var index = 0
    while index < bytes.count {
        let lead = bytes[index]
        let second: ClosedRange<UInt8>
        let length: Int
        switch lead {
        case 0x00...0x7F:
            index += 1
            continue
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return index
        }
        guard index + length <= bytes.count, second.contains(bytes[index + 1]) else { return index }
        for tail in bytes[(index + 1)..<(index + length)] where tail & 0xC0 != 0x80 { return index }
        index += length
    }
    return nil
}
