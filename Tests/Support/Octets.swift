// Bytes that tests write as text. Each letter of a literal is one byte (Latin-1), so a message with
// bytes from 0x80 up can be written, compared and printed without passing through UTF-8.

/// A run of bytes with a literal form: `"X-Name: Andr\u{E9}\r\n"` ends in the byte E9, CR, LF.
package struct Octets: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    /// Every scalar must be below U+0100; anything else is a mistake in the test.
    package init(_ text: String) {
        bytes = text.unicodeScalars.map { scalar in
            precondition(scalar.value < 0x100, "no byte for \(scalar)")
            return UInt8(scalar.value)
        }
    }

    package init(repeating byte: UInt8, count: Int) {
        bytes = Array(repeating: byte, count: count)
    }

    /// Bytes that differ from place to place, so that a lost or repeated block is noticed.
    package static func pattern(count: Int, seed: UInt64 = 1) -> Octets {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        return Octets(
            (0..<count).lazy.map { _ in
                state ^= state << 13
                state ^= state >> 7
                state ^= state << 17
                return UInt8(truncatingIfNeeded: state)
            })
    }

    package var count: Int { bytes.count }
    package var isEmpty: Bool { bytes.isEmpty }

    /// One letter for each byte.
    package var text: String {
        var text = ""
        for byte in bytes { text.unicodeScalars.append(Unicode.Scalar(byte)) }
        return text
    }

    package func hasPrefix(_ other: Octets) -> Bool { bytes.starts(with: other.bytes) }

    package func hasSuffix(_ other: Octets) -> Bool {
        bytes.count >= other.count && bytes.suffix(other.count).elementsEqual(other.bytes)
    }

    package func contains(_ other: Octets) -> Bool { firstIndex(of: other) != nil }

    /// Where the other run begins for the first time, at `start` or behind it.
    package func firstIndex(of other: Octets, from start: Int = 0) -> Int? {
        bytes.firstIndex(of: other.bytes[...], from: start)
    }

    package static func + (left: Octets, right: Octets) -> Octets {
        Octets(left.bytes + right.bytes)
    }

    package static func += (left: inout Octets, right: Octets) { left.bytes += right.bytes }
}

extension Octets: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }
    package var description: String {
        count > 2048 ? "\(Octets(bytes.prefix(2048)).text)… (\(count) bytes)" : text
    }
}

extension Array<UInt8> {
    /// The offset of a run of bytes, searched from `start`.
    func firstIndex(of needle: ArraySlice<UInt8>, from start: Int) -> Int? {
        guard let first = needle.first else { return start }
        var index = start
        while index + needle.count <= count {
            guard let candidate = self[index...].firstIndex(of: first) else { return nil }
            if self[candidate...].starts(with: needle) { return candidate }
            index = candidate + 1
        }
        return nil
    }
}
