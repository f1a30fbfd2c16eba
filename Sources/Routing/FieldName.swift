// Field names as the rules of a route use them: by number where HTTPWire knows them, else by their
// folded bytes, so that a rule holds for every spelling of a name (`FieldSpelling`). Sets are compiled at
// load, so that most lines of a head cost one bit test.

import Bytes
import HTTPWire

/// One name.
struct FieldName: Sendable {
    let known: KnownField
    /// Folded.
    let bytes: [UInt8]

    /// Nil when the text is no token (RFC 9110 section 5.6.2).
    init?(_ name: String) {
        guard !name.isEmpty, name.utf8.allSatisfy(Self.isTokenByte) else { return nil }
        bytes = name.utf8.map(FieldSpelling.folded)
        known = bytes.withUnsafeBytes { KnownField.named($0) }
    }

    /// Whether a parsed line has this name, in any spelling.
    func matches(_ field: HeadField, _ bytes: UnsafeRawBufferPointer) -> Bool {
        if known != .other && !field.isOddlyNamed { return field.known == known }
        guard field.known == .other, Int(field.name.count) == self.bytes.count else { return false }
        return FieldSpelling.isSame(field.name.bytes(in: bytes), as: self.bytes)
    }

    private static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x41...0x5A, 0x30...0x39: true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"): true
        case UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"): true
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"): true
        case UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"): true
        default: false
        }
    }
}

/// A field's value from the configuration.
enum FieldValue {
    /// Whether it can be sent as it stands: visible bytes, spaces and tabs between them
    /// (RFC 9110 section 5.5).
    static func isValid(_ value: String) -> Bool {
        let isClean = value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == ASCII.tab }
        let edges = [value.utf8.first, value.utf8.last]
        return isClean && !edges.contains(ASCII.space) && !edges.contains(ASCII.tab)
    }
}

/// A set of names; immutable.
struct FieldNameSet: Sendable {
    private(set) var known: KnownFieldSet
    /// The names that have no number.
    private var others: [[UInt8]] = []
    /// Bit n is set when one of them has n bytes; bit 63 stands for 63 and more.
    private var lengths: UInt64 = 0

    init(_ known: KnownFieldSet = []) { self.known = known }

    mutating func insert(_ name: FieldName) {
        guard name.known == .other else { return known.insert(name.known) }
        others.append(name.bytes)
        lengths |= 1 &<< UInt64(min(name.bytes.count, 63))
    }

    mutating func insertKnown(_ field: KnownField) { known.insert(field) }
    mutating func insertKnown(_ fields: KnownFieldSet) { known = known.union(fields) }

    /// The same set with one known field more or less.
    func with(_ field: KnownField, _ isMember: Bool) -> FieldNameSet {
        var copy = self
        if isMember { copy.known.insert(field) } else { copy.known.remove(field) }
        return copy
    }

    /// Whether a line whose name has no number is a member.
    @inline(__always)
    func containsOther(_ name: UnsafeRawBufferPointer) -> Bool {
        guard lengths != 0, lengths &>> UInt64(min(name.count, 63)) & 1 != 0 else { return false }
        return isListed(name)
    }

    /// Whether a line whose name is odd is a spelling of a known member; of what frames a message it never
    /// may be.
    func containsSpelling(_ name: UnsafeRawBufferPointer) -> Bool {
        let field = FieldSpelling.known(name)
        return known.contains(field) || field == .contentLength
    }

    private func isListed(_ name: UnsafeRawBufferPointer) -> Bool {
        others.contains { FieldSpelling.isSame(name, as: $0) }
    }
}
