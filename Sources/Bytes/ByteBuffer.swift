// A growable run of bytes with one owner. Appending is inlined into the caller, since a call across
// rooms costs several times what it does per byte. It sets no limit: whoever fills it does.

/// Bytes in order; appended at the end, consumed from the front.
@usableFromInline
@frozen
package struct ByteBuffer: ~Copyable {
    @usableFromInline package var base: UnsafeMutableRawPointer
    @usableFromInline package var start = 0
    @usableFromInline package var end = 0
    @usableFromInline package var capacity: Int

    /// An empty buffer; a capacity of 0 allocates nothing.
    @inlinable
    package init(capacity: Int = 0) {
        self.capacity = capacity
        base = capacity > 0 ? .allocate(byteCount: capacity, alignment: 16) : Self.nowhere
    }

    @inlinable
    deinit {
        if capacity > 0 { base.deallocate() }
    }

    /// Where an empty buffer's bytes would be; never read or written.
    @inlinable
    static var nowhere: UnsafeMutableRawPointer {
        UnsafeMutableRawPointer(bitPattern: 16).unsafelyUnwrapped
    }

    /// The number of bytes not yet consumed.
    @inlinable package var count: Int { end &- start }
    @inlinable package var isEmpty: Bool { end == start }

    /// The bytes not yet consumed; valid until the next mutation.
    @inlinable
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base + start, count: count)
    }

    /// The same, to be changed in place.
    @inlinable
    package var mutableBytes: UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: base + start, count: count)
    }

    @inlinable
    package mutating func append(_ byte: UInt8) {
        reserve(1)
        base.storeBytes(of: byte, toByteOffset: end, as: UInt8.self)
        end &+= 1
    }

    @inlinable
    package mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress, bytes.count > 0 else { return }
        reserve(bytes.count)
        (base + end).copyMemory(from: source, byteCount: bytes.count)
        end &+= bytes.count
    }

    @inlinable
    package mutating func append(_ text: StaticString) {
        append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Appends the UTF-8 form of a text; not for the hot path.
    package mutating func append(text: String) {
        var text = text
        text.withUTF8 { append(UnsafeRawBufferPointer($0)) }
    }

    /// Appends a number in decimal digits.
    @inlinable
    package mutating func append(decimal value: UInt64) {
        append(value, radix: 10)
    }

    /// Appends a number in lower-case hexadecimal digits.
    @inlinable
    package mutating func append(hexadecimal value: UInt64) {
        append(value, radix: 16)
    }

    @inlinable
    mutating func append(_ value: UInt64, radix: UInt64) {
        reserve(20)
        var digits = 1
        var rest = value / radix
        while rest > 0 {
            digits &+= 1
            rest /= radix
        }
        rest = value
        var position = end &+ digits
        end = position
        for _ in 0..<digits {
            position &-= 1
            let digit = UInt8(truncatingIfNeeded: rest % radix)
            let byte = digit < 10 ? 0x30 &+ digit : 0x57 &+ digit
            base.storeBytes(of: byte, toByteOffset: position, as: UInt8.self)
            rest /= radix
        }
    }

    /// Drops bytes from the front.
    @inlinable
    package mutating func consume(_ count: Int) {
        precondition(count <= self.count, "consuming more than the buffer holds")
        start &+= count
        if start == end { removeAll() }
    }

    /// Forgets bytes at the end.
    package mutating func removeLast(_ count: Int) {
        precondition(count <= self.count, "no more than there is")
        end -= count
    }

    /// Forgets the bytes and keeps the storage.
    @inlinable
    package mutating func removeAll() {
        start = 0
        end = 0
    }

    /// Makes room for `count` more bytes: by moving what is left to the front, else by growing.
    @inlinable
    package mutating func reserve(_ count: Int) {
        if capacity &- end < count { makeRoom(count) }
    }

    @usableFromInline
    mutating func makeRoom(_ count: Int) {
        let used = self.count
        if capacity - used >= count && start > 0 {
            base.copyMemory(from: base + start, byteCount: used)
        } else {
            let larger = Swift.max(256, capacity * 2, used + count)
            let fresh = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
            fresh.copyMemory(from: base + start, byteCount: used)
            if capacity > 0 { base.deallocate() }
            base = fresh
            capacity = larger
        }
        start = 0
        end = used
    }
}
