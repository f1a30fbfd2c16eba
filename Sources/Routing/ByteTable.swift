// A read-only hash table keyed by bytes and a number. Built at load; a look-up allocates nothing,
// touches no reference count and costs the same however many entries there are.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Keys are a run of bytes with a tag, values are numbers below `UInt32.max`.
final class ByteTable: Sendable {
    struct Entry {
        var key: [UInt8]
        var tag: UInt32 = 0
        var value: UInt32
    }

    private struct Cell {
        var hash: UInt64 = 0
        var start: UInt32 = 0
        var count: UInt32 = 0
        var tag: UInt32 = 0
        var value: UInt32 = ByteTable.empty
    }

    private static let empty = UInt32.max

    // SAFETY: written in the initialiser only, read-only until `deinit`.
    private nonisolated(unsafe) let cells: UnsafeMutablePointer<Cell>
    private nonisolated(unsafe) let text: UnsafeMutableRawPointer
    private let mask: Int

    /// At most half of the cells are taken. Of two entries with one key the first is found.
    init(_ entries: [Entry]) {
        var size = 4
        while size < entries.count * 2 + 2 { size *= 2 }
        mask = size - 1
        cells = .allocate(capacity: size)
        cells.initialize(repeating: Cell(), count: size)
        text = .allocate(byteCount: entries.reduce(0) { $0 + $1.key.count }, alignment: 1)
        var end = 0
        for entry in entries {
            let hash = entry.key.reduce(Self.seed) { Self.hash($0, $1) }
            var index = place(hash, entry.tag)
            while cells[index].value != Self.empty { index = (index + 1) & mask }
            entry.key.withUnsafeBytes { key in
                if let base = key.baseAddress {
                    (text + end).copyMemory(from: base, byteCount: key.count)
                }
            }
            cells[index] = Cell(
                hash: hash, start: UInt32(end), count: UInt32(entry.key.count), tag: entry.tag,
                value: entry.value)
            end += entry.key.count
        }
    }

    deinit {
        cells.deallocate()
        text.deallocate()
    }

    /// The hash of no bytes.
    static let seed: UInt64 = 0xCBF2_9CE4_8422_2325

    /// The hash of some bytes and one more (FNV-1a). Keys come from the configuration alone, so a
    /// caller cannot make them collide.
    @inline(__always)
    static func hash(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
        (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3
    }

    /// The value of the key that is the first `count` bytes at `key`, whose hash is known.
    @inline(__always)
    func value(_ key: UnsafeRawPointer, count: Int, hash: UInt64, tag: UInt32) -> UInt32? {
        var index = place(hash, tag)
        while true {
            let cell = cells[index]
            if cell.value == Self.empty { return nil }
            if cell.hash == hash, cell.tag == tag, Int(cell.count) == count,
                memcmp(text + Int(cell.start), key, count) == 0
            {
                return cell.value
            }
            index = (index &+ 1) & mask
        }
    }

    /// The value of a key that was put in with lower-case letters, looked up without case.
    @inline(__always)
    func valueIgnoringCase(_ key: UnsafeRawBufferPointer, tag: UInt32) -> UInt32? {
        var hash = Self.seed
        for byte in key { hash = Self.hash(hash, ASCII.lowercased(byte)) }
        var index = place(hash, tag)
        while true {
            let cell = cells[index]
            if cell.value == Self.empty { return nil }
            if cell.hash == hash, cell.tag == tag, Int(cell.count) == key.count,
                equalsIgnoringCase(cell, key)
            {
                return cell.value
            }
            index = (index &+ 1) & mask
        }
    }

    @inline(__always)
    private func equalsIgnoringCase(_ cell: Cell, _ key: UnsafeRawBufferPointer) -> Bool {
        let stored = text + Int(cell.start)
        for offset in 0..<key.count
        where stored.load(fromByteOffset: offset, as: UInt8.self) != ASCII.lowercased(key[offset]) {
            return false
        }
        return true
    }

    @inline(__always)
    private func place(_ hash: UInt64, _ tag: UInt32) -> Int {
        let mixed = (hash ^ UInt64(tag) &* 0x9E37_79B9_7F4A_7C15) &* 0xD6E8_FEB8_6659_FD93
        return Int(truncatingIfNeeded: mixed &>> 32) & mask
    }
}
