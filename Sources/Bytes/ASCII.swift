// ASCII bytes by name, and the few comparisons that protocols make with them. Nothing here knows
// Unicode: bytes from 0x80 up compare as themselves.

/// Bytes that the wire formats name. Computed, since a stored constant of another room costs a call.
@usableFromInline
package enum ASCII {
    @inlinable package static var tab: UInt8 { 0x09 }
    @inlinable package static var lineFeed: UInt8 { 0x0A }
    @inlinable package static var carriageReturn: UInt8 { 0x0D }
    @inlinable package static var space: UInt8 { 0x20 }
    @inlinable package static var quote: UInt8 { 0x22 }
    @inlinable package static var percent: UInt8 { 0x25 }
    @inlinable package static var plus: UInt8 { 0x2B }
    @inlinable package static var comma: UInt8 { 0x2C }
    @inlinable package static var hyphen: UInt8 { 0x2D }
    @inlinable package static var dot: UInt8 { 0x2E }
    @inlinable package static var slash: UInt8 { 0x2F }
    @inlinable package static var zero: UInt8 { 0x30 }
    @inlinable package static var colon: UInt8 { 0x3A }
    @inlinable package static var semicolon: UInt8 { 0x3B }
    @inlinable package static var equals: UInt8 { 0x3D }
    @inlinable package static var question: UInt8 { 0x3F }

    /// The lower-case form of an ASCII letter; any other byte as it is.
    @inlinable
    package static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether the byte is a decimal digit.
    @inlinable
    package static func isDigit(_ byte: UInt8) -> Bool {
        byte &- 0x30 < 10
    }

    /// The value of a hexadecimal digit, or nil.
    @inlinable
    package static func hexValue(_ byte: UInt8) -> UInt8? {
        if isDigit(byte) { return byte &- 0x30 }
        let letter = lowercased(byte) &- 0x61
        return letter < 6 ? letter &+ 10 : nil
    }

    /// Whether bytes are those of an ASCII literal.
    @inlinable
    package static func isEqual(_ bytes: UnsafeRawBufferPointer, _ text: StaticString) -> Bool {
        guard bytes.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<bytes.count where bytes[index] != text.utf8Start[index] { return false }
        return true
    }

    /// Whether two runs of bytes are equal when ASCII letters are compared without case.
    package static func equalsIgnoringCase(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
    ) -> Bool {
        guard left.count == right.count else { return false }
        for index in 0..<left.count where lowercased(left[index]) != lowercased(right[index]) {
            return false
        }
        return true
    }

    /// Whether bytes equal an ASCII literal when letters are compared without case.
    package static func equalsIgnoringCase(
        _ left: UnsafeRawBufferPointer, _ right: StaticString
    ) -> Bool {
        equalsIgnoringCase(
            left, UnsafeRawBufferPointer(start: right.utf8Start, count: right.utf8CodeUnitCount))
    }
}
