// application/x-www-form-urlencoded, the coding of token requests, redirects and some token answers
// (RFC 6749 appendix B). It bounds what it reads and never repairs what is not UTF-8.

package import Bytes
import Vocabulary

/// One name and value of a form.
package struct FormParameter: Sendable {
    package let name: String
    package let value: SecretBytes

    package init(_ name: String, _ value: SecretBytes) {
        self.name = name
        self.value = value
    }

    package init(_ name: String, _ value: String) {
        self.init(name, SecretBytes(value))
    }
}

/// Why bytes are not a form that we read.
package enum FormError: Error, Hashable, Sendable {
    case tooManyParameters(limit: Int)
    case invalidEscape
    case invalidUTF8
    /// Request and response parameters must not be repeated (RFC 6749 section 3.1).
    case repeatedParameter(name: String)
}

package enum FormEncoding {
    package static let parametersMax = 256

    /// `a=b&c=d`, made without leaving a copy of a value behind.
    package static func encode(_ parameters: [FormParameter]) -> SecretBytes {
        var measure = Sink(target: nil)
        measure.write(parameters)
        return SecretBytes(count: measure.count) { target in
            var sink = Sink(target: target)
            sink.write(parameters)
        }
    }

    /// One value, space as "+", for what is form-encoded before it goes elsewhere (RFC 6749 section
    /// 2.3.1).
    static func encode(value: SecretBytes) -> SecretBytes {
        value.withBytes { bytes in
            var measure = Sink(target: nil)
            measure.write(bytes)
            return SecretBytes(count: measure.count) { target in
                var sink = Sink(target: target)
                sink.write(bytes)
            }
        }
    }

    /// What goes between a URL, with or without a query, and a parameter.
    static func separator(behind url: String) -> String {
        !url.contains("?") ? "?" : url.hasSuffix("?") ? "" : "&"
    }

    /// One value for a URL's query, space as "%20", which every decoder understands.
    package static func encodeForURL(_ value: String) -> String {
        var encoded = ""
        for byte in value.utf8 {
            if isUnreserved(byte) {
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return encoded
    }

    /// The parameters in order. Names and values are valid UTF-8, each name stands once; a piece
    /// without "=" is a name with an empty value, an empty piece is nothing.
    package static func read(
        _ bytes: UnsafeRawBufferPointer
    ) throws(FormError) -> [FormParameter] {
        var parameters: [FormParameter] = []
        var names: Set<String> = []
        for piece in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            guard parameters.count < parametersMax else {
                throw .tooManyParameters(limit: parametersMax)
            }
            let middle = piece.firstIndex(of: ASCII.equals) ?? piece.endIndex
            let name = try decode(piece[..<middle]) { String(decoding: $0, as: UTF8.self) }
            let value = try decode(piece[middle...].dropFirst()) { SecretBytes(copying: $0) }
            guard names.insert(name).inserted else { throw .repeatedParameter(name: name) }
            parameters.append(FormParameter(name, value))
        }
        return parameters
    }

    /// The value of one parameter, whatever the others are; nil where there is none.
    package static func value(
        of name: String, in bytes: UnsafeRawBufferPointer
    ) throws(FormError) -> SecretBytes? {
        var value: SecretBytes?
        for piece in bytes.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: true) {
            let middle = piece.firstIndex(of: ASCII.equals) ?? piece.endIndex
            let its = try? decode(piece[..<middle]) { String(decoding: $0, as: UTF8.self) }
            guard let its, its.isIdentical(to: name) else { continue }
            guard value == nil else { throw .repeatedParameter(name: name) }
            value = try decode(piece[middle...].dropFirst()) { SecretBytes(copying: $0) }
        }
        return value
    }

    private static func decode<Result>(
        _ piece: Slice<UnsafeRawBufferPointer>, _ body: (UnsafeRawBufferPointer) -> Result
    ) throws(FormError) -> Result {
        var decoded = ByteBuffer(capacity: piece.count)
        defer { wipe(decoded.mutableBytes) }
        var rest = piece
        while let byte = rest.popFirst() {
            switch byte {
            case ASCII.plus:
                decoded.append(ASCII.space)
            case ASCII.percent:
                guard let high = rest.popFirst().flatMap(ASCII.hexValue),
                    let low = rest.popFirst().flatMap(ASCII.hexValue)
                else { throw .invalidEscape }
                decoded.append(high << 4 | low)
            default:
                decoded.append(byte)
            }
        }
        guard firstInvalidUTF8(in: decoded.bytes) == nil else { throw .invalidUTF8 }
        return body(decoded.bytes)
    }

    /// RFC 3986 section 2.3: what no coding of URLs or forms changes. "*" is left out, since some
    /// signatures over URLs treat it as reserved.
    private static func isUnreserved(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || ASCII.isDigit(byte) || byte == ASCII.hyphen
            || byte == ASCII.dot || byte == 0x5F || byte == 0x7E
    }

    /// Measures when it has no target, else fills it.
    private struct Sink {
        let target: UnsafeMutableRawBufferPointer?
        var count = 0

        init(target: UnsafeMutableRawBufferPointer?) { self.target = target }

        mutating func write(_ parameters: [FormParameter]) {
            for (index, parameter) in parameters.enumerated() {
                if index > 0 { append(UInt8(ascii: "&")) }
                var name = parameter.name
                name.withUTF8 { write(UnsafeRawBufferPointer($0)) }
                append(ASCII.equals)
                parameter.value.withBytes { write($0) }
            }
        }

        mutating func write(_ bytes: UnsafeRawBufferPointer) {
            for byte in bytes {
                if isUnreserved(byte) {
                    append(byte)
                } else if byte == ASCII.space {
                    append(ASCII.plus)
                } else {
                    append(ASCII.percent)
                    append(digit(byte >> 4))
                    append(digit(byte & 15))
                }
            }
        }

        private func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x37 + value }

        private mutating func append(_ byte: UInt8) {
            if let target { target[count] = byte }
            count += 1
        }
    }
}
