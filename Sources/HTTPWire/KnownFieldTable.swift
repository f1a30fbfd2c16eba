// Finds a known field by its name in one probe or two. It trusts its caller that the name is a token.

/// An open-addressed table over the names of `KnownField`; built once and never freed.
struct KnownFieldTable: Sendable {
    /// Room for the longest known name, in whole words.
    static let nameBytesMax = 40
    private static let slotCount = 256

    // SAFETY: written by the initialiser below, which runs once; read-only ever after.
    private nonisolated(unsafe) let slots: UnsafeMutablePointer<UInt8>
    private nonisolated(unsafe) let lengths: UnsafeMutablePointer<UInt8>
    /// The names in lower case, `nameBytesMax` apart.
    private nonisolated(unsafe) let names: UnsafeMutableRawPointer

    static let shared = KnownFieldTable()

    private init() {
        let fields = KnownField.allCases
        slots = .allocate(capacity: Self.slotCount)
        slots.initialize(repeating: 0, count: Self.slotCount)
        lengths = .allocate(capacity: fields.count)
        lengths.initialize(repeating: 0, count: fields.count)
        names = .allocate(byteCount: fields.count * Self.nameBytesMax, alignment: 8)
        names.initializeMemory(
            as: UInt8.self, repeating: 0, count: fields.count * Self.nameBytesMax)
        for field in fields where field != .other {
            let index = Int(field.rawValue)
            let text = field.name
            let name = names + index * Self.nameBytesMax
            precondition(text.utf8CodeUnitCount <= Self.nameBytesMax, "a known name is too long")
            for offset in 0..<text.utf8CodeUnitCount {
                name.storeBytes(
                    of: text.utf8Start[offset] | 0x20, toByteOffset: offset, as: UInt8.self)
            }
            lengths[index] = UInt8(text.utf8CodeUnitCount)
            var slot = Self.slot(UnsafeRawPointer(name), count: text.utf8CodeUnitCount)
            while slots[slot] != 0 { slot = (slot &+ 1) & (Self.slotCount &- 1) }
            slots[slot] = field.rawValue
        }
    }

    /// The field of a name of at least one byte.
    ///
    /// Setting bit 5 lower-cases letters and leaves digits and hyphens alone. No other byte of a
    /// token turns into a letter, a digit or a hyphen by it, so the comparison is exact.
    @inline(__always)
    func field(_ name: UnsafeRawPointer, count: Int) -> KnownField {
        var slot = Self.slot(name, count: count)
        while true {
            let candidate = slots[slot]
            if candidate == 0 { return .other }
            if Int(lengths[Int(candidate)]) == count, equals(name, candidate, count) {
                return KnownField(rawValue: candidate)!
            }
            slot = (slot &+ 1) & (Self.slotCount &- 1)
        }
    }

    @inline(__always)
    private func equals(_ name: UnsafeRawPointer, _ candidate: UInt8, _ count: Int) -> Bool {
        let known = UnsafeRawPointer(names) + Int(candidate) &* Self.nameBytesMax
        var offset = 0
        while offset &+ 8 <= count {
            let left = name.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            let right = known.load(fromByteOffset: offset, as: UInt64.self)
            if left | 0x2020_2020_2020_2020 != right { return false }
            offset &+= 8
        }
        while offset < count {
            let left = name.load(fromByteOffset: offset, as: UInt8.self)
            if left | 0x20 != known.load(fromByteOffset: offset, as: UInt8.self) { return false }
            offset &+= 1
        }
        return true
    }

    @inline(__always)
    private static func slot(_ name: UnsafeRawPointer, count: Int) -> Int {
        let first = UInt32(name.load(as: UInt8.self) | 0x20)
        let middle = UInt32(name.load(fromByteOffset: count &>> 1, as: UInt8.self) | 0x20)
        let last = UInt32(name.load(fromByteOffset: count &- 1, as: UInt8.self) | 0x20)
        let key = first | middle &<< 8 | last &<< 16 | UInt32(truncatingIfNeeded: count) &<< 24
        return Int((key &* 0x9E37_79B1) &>> 24)
    }
}
