// One line of a head or a trailer section: where it ends, and what is its name and value
// (RFC 9112 section 5). All rules about single bytes are here, once.

import Bytes

/// Which way a message goes. What clients send is read without any leniency, since a caller could gain by an
/// upstream's other reading; of what upstreams send, what RFC 9112 obliges a proxy to mend is mended.
package enum Direction: Sendable {
    case request, response
}

/// Reads lines out of a run of bytes; offsets in, offsets out.
enum FieldLine {
    /// The offset of the first byte from `start` on that ends a line or may not stand in one: a
    /// control byte other than a tab. `end` when there is none before it.
    ///
    /// Eight bytes at a time. Subtracting 0x20 from each byte, or 1 from each byte that 0x7F turns
    /// into zero, borrows exactly where the byte was too small; a borrow runs upwards only, so the
    /// lowest mark is exact and that is the one taken. Bytes from 0x80 up are never marked.
    @inline(__always)
    static func firstControl(_ base: UnsafeRawPointer, from start: Int, to end: Int) -> Int {
        var offset = start
        while offset &+ 8 <= end {
            let word = UInt64(
                littleEndian: base.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
            let below = word &- 0x2020_2020_2020_2020
            let delete = (word ^ 0x7F7F_7F7F_7F7F_7F7F) &- 0x0101_0101_0101_0101
            let marks = (below | delete) & ~word & 0x8080_8080_8080_8080
            if marks == 0 {
                offset &+= 8
                continue
            }
            offset &+= marks.trailingZeroBitCount &>> 3
            if byte(base, offset) != ASCII.tab { return offset }
            offset &+= 1
        }
        while offset < end {
            let byte = byte(base, offset)
            if (byte < 0x20 && byte != ASCII.tab) || byte == 0x7F { return offset }
            offset &+= 1
        }
        return end
    }

    /// Judges a byte that `firstControl` stopped at: true when it is the CR of a CR LF, false when
    /// the LF has not come yet.
    @inline(__always)
    static func endsLine(_ base: UnsafeRawPointer, at offset: Int, end: Int) throws(WireError)
        -> Bool
    {
        switch byte(base, offset) {
        case ASCII.carriageReturn:
            if offset &+ 1 == end { return false }
            guard byte(base, offset &+ 1) == ASCII.lineFeed else { throw .bareLineBreak }
            return true
        case ASCII.lineFeed: throw .bareLineBreak
        default: throw .controlByte
        }
    }

    /// Takes a line apart. It has at least one byte, no control byte but tabs, and ends before `end`. White
    /// space before the colon of a response is cut (RFC 9112 section 5.1).
    @inline(__always)
    static func parse(
        _ base: UnsafeRawPointer, from start: Int, to end: Int, _ names: KnownFieldTable,
        of direction: Direction
    ) throws(WireError) -> HeadField {
        var colon = start
        var isOddlyNamed = false
        while true {
            let byte = byte(base, colon)
            if !isPlainNameByte(byte) {
                guard isTokenByte(byte) else { break }
                isOddlyNamed = true
            }
            colon &+= 1
            if colon == end { throw .invalidFieldName }
        }
        let nameEnd = colon
        if direction == .response && nameEnd > start {
            while colon < end && isWhiteSpace(byte(base, colon)) { colon &+= 1 }
        }
        guard colon < end, byte(base, colon) == ASCII.colon, nameEnd > start else {
            throw nameEnd == start && isWhiteSpace(byte(base, start))
                ? .obsoleteFold : .invalidFieldName
        }
        var first = colon &+ 1
        while first < end && isWhiteSpace(byte(base, first)) { first &+= 1 }
        var last = end
        while last > first && isWhiteSpace(byte(base, last &- 1)) { last &-= 1 }
        let isTight =
            last == end && colon == nameEnd && first == colon &+ 2
            && byte(base, colon &+ 1) == ASCII.space
        return HeadField(
            name: ByteRange(start: start, end: nameEnd), value: ByteRange(start: first, end: last),
            known: names.field(base + start, count: nameEnd &- start), isNamedByConnection: false,
            isOddlyNamed: isOddlyNamed, isTight: isTight)
    }

    /// Letters, digits and hyphens, of which nearly every name consists.
    @inline(__always)
    private static func isPlainNameByte(_ byte: UInt8) -> Bool {
        let low: UInt64 = 0x03FF_2000_0000_0000
        let high: UInt64 = 0x07FF_FFFE_07FF_FFFE
        let set = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && set &>> UInt64(byte & 0x3F) & 1 != 0
    }

    /// RFC 9110 section 5.6.2: letters, digits and !#$%&'*+-.^_`|~ as two sets of 64.
    @inline(__always)
    static func isTokenByte(_ byte: UInt8) -> Bool {
        let low: UInt64 = 0x03FF_6CFA_0000_0000
        let high: UInt64 = 0x57FF_FFFF_C7FF_FFFE
        let set = byte & 0x40 == 0 ? low : high
        return byte < 0x80 && set &>> UInt64(byte & 0x3F) & 1 != 0
    }

    /// RFC 9110 section 5.6.3.
    @inline(__always)
    static func isWhiteSpace(_ byte: UInt8) -> Bool {
        byte == ASCII.space || byte == ASCII.tab
    }

    @inline(__always)
    static func byte(_ base: UnsafeRawPointer, _ offset: Int) -> UInt8 {
        base.load(fromByteOffset: offset, as: UInt8.self)
    }
}
