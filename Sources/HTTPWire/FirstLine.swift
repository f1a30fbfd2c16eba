// The first line of a message: request line and status line (RFC 9112 sections 3 and 4).

import Bytes

extension MessageHead {
    static let protocolName: StaticString = "HTTP/"

    /// Reads `method SP target SP version`, with exactly one space in each place. The line holds no
    /// control byte but tabs.
    @inline(__always)
    mutating func readRequestLine(
        _ base: UnsafeRawPointer, from start: Int, to end: Int
    ) throws(WireError) {
        var offset = start
        while offset < end && FieldLine.isTokenByte(FieldLine.byte(base, offset)) { offset &+= 1 }
        guard offset < end else { throw .invalidRequestLine }
        guard offset > start, FieldLine.byte(base, offset) == ASCII.space else {
            throw .invalidMethod
        }
        method = Method(base + start, count: offset &- start)
        methodBytes = ByteRange(start: start, end: offset)
        let targetStart = offset &+ 1
        offset = Self.targetEnd(base, from: targetStart, to: end)
        guard offset < end else { throw .invalidRequestLine }
        guard offset > targetStart, FieldLine.byte(base, offset) == ASCII.space else {
            throw .invalidTarget
        }
        target = ByteRange(start: targetStart, end: offset)
        guard end &- offset == 9 else { throw .invalidRequestLine }
        minorVersion = try Self.minorVersion(base + offset + 1, otherwise: .invalidRequestLine)
    }

    /// Reads `version SP status [SP reason]`; the second space may be missing with the reason, since
    /// servers leave it out. The line starts with its buffer and with `HTTP/`.
    @inline(__always)
    mutating func readStatusLine(_ base: UnsafeRawPointer, to end: Int) throws(WireError) {
        guard end >= 12 else { throw .invalidStatusLine }
        minorVersion = try Self.minorVersion(base, otherwise: .invalidStatusLine)
        guard FieldLine.byte(base, 8) == ASCII.space else { throw .invalidStatusLine }
        var value = 0
        for offset in 9..<12 {
            let digit = FieldLine.byte(base, offset)
            guard ASCII.isDigit(digit) else { throw .invalidStatus }
            value = value &* 10 &+ Int(digit &- ASCII.zero)
        }
        guard value >= 100, end == 12 || FieldLine.byte(base, 12) == ASCII.space else {
            throw .invalidStatus
        }
        status = value
        reason = ByteRange(start: min(13, end), end: end)
    }

    /// The offset of the first byte that no target may hold: outside 0x21 to 0x7E, or the `#` of a
    /// fragment, at which upstreams cut in different ways. Marks as in `FieldLine.firstControl`.
    @inline(__always)
    private static func targetEnd(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var offset = start
        while offset &+ 8 <= end {
            let word = UInt64(
                littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let below = word &- 0x2121_2121_2121_2121
            let hash = (word ^ 0x2323_2323_2323_2323) &- 0x0101_0101_0101_0101
            let marks = ((below | hash) & ~word | word) & 0x8080_8080_8080_8080
            if marks != 0 { return offset &+ marks.trailingZeroBitCount &>> 3 }
            offset &+= 8
        }
        while offset < end {
            let byte = FieldLine.byte(base, offset)
            if byte < 0x21 || byte >= 0x7F || byte == 0x23 { return offset }
            offset &+= 1
        }
        return end
    }

    /// Reads the eight bytes of a version. A later 1.x is treated as 1.1 (RFC 9110 section 2.5).
    @inline(__always)
    private static func minorVersion(
        _ base: UnsafeRawPointer, otherwise error: WireError
    ) throws(WireError) -> UInt8 {
        let word = UInt64(littleEndian: base.loadUnaligned(as: UInt64.self))
        let minor = UInt8(truncatingIfNeeded: word &>> 56)
        let http1: UInt64 = 0x002E_312F_5054_5448  // "HTTP/1." from the lowest byte up
        guard word & 0x00FF_FFFF_FFFF_FFFF == http1, ASCII.isDigit(minor) else {
            let name = word & 0x0000_00FF_FFFF_FFFF
            let major = UInt8(truncatingIfNeeded: word &>> 40)
            let dot = UInt8(truncatingIfNeeded: word &>> 48)
            let isVersion =
                name == http1 & 0x0000_00FF_FFFF_FFFF && ASCII.isDigit(major)
                && dot == ASCII.dot && ASCII.isDigit(minor)
            throw isVersion ? .unsupportedVersion : error
        }
        return minor == ASCII.zero ? 0 : 1
    }
}
