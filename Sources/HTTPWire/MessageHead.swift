// The head of a request or response as offsets into the bytes that were parsed. It owns its table and
// no bytes: the same table serves one message after the other, so a parse allocates nothing.

/// A run of bytes inside the buffer that was parsed; it means nothing without that buffer.
@usableFromInline
@frozen
package struct ByteRange: Hashable, Sendable {
    @usableFromInline package var start: UInt32
    @usableFromInline package var count: UInt32

    @inlinable
    package init(start: Int, end: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        count = UInt32(truncatingIfNeeded: end &- start)
    }

    @inlinable package static var empty: ByteRange { ByteRange(start: 0, end: 0) }

    @inlinable package var isEmpty: Bool { count == 0 }
    /// The offset of the byte behind the last.
    @inlinable package var end: Int { Int(start) &+ Int(count) }

    /// The bytes themselves, lent by the buffer that was parsed.
    @inlinable
    package func bytes(in buffer: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        precondition(end <= buffer.count, "a range of another buffer")
        guard let base = buffer.baseAddress else { return buffer }
        return UnsafeRawBufferPointer(start: base + Int(start), count: Int(count))
    }
}

/// One field line. The value is without the white space around it.
@usableFromInline
@frozen
package struct HeadField: Sendable {
    @usableFromInline package var name: ByteRange
    @usableFromInline package var value: ByteRange
    @usableFromInline package var known: KnownField
    /// A Connection field of the same head names it, so it ends here (RFC 9110 section 7.6.1).
    @usableFromInline package var isNamedByConnection: Bool
    /// The name has other bytes than letters, digits and hyphens, so that it may be another spelling of a
    /// name that a rule speaks of (`FieldSpelling`).
    @usableFromInline package var isOddlyNamed: Bool
    /// The line is exactly `name: value` CR LF, so that it can be copied as it stands.
    @usableFromInline package var isTight: Bool

    /// The whole line with its CR LF; only where `isTight`.
    @inlinable
    package var line: ByteRange { ByteRange(start: Int(name.start), end: value.end &+ 2) }
}

/// What the Connection fields of a head ask for.
@usableFromInline
@frozen
package struct ConnectionOptions: OptionSet, Hashable, Sendable {
    @usableFromInline package let rawValue: UInt8

    @inlinable
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    @inlinable package static var close: ConnectionOptions { ConnectionOptions(rawValue: 1) }
    @inlinable package static var keepAlive: ConnectionOptions { ConnectionOptions(rawValue: 2) }
    @inlinable package static var upgrade: ConnectionOptions { ConnectionOptions(rawValue: 4) }
}

/// A parsed head. Filled by `HeadParser`; every range refers to the bytes given to it last.
@usableFromInline
@frozen
package struct MessageHead: ~Copyable {
    /// In order of arrival; `fieldCount` of them are filled.
    @usableFromInline package let fields: UnsafeMutablePointer<HeadField>
    @usableFromInline package let fieldsMax: Int
    @usableFromInline package var fieldCount = 0

    /// Requests: the method, by number where it is a common one, and its bytes.
    @usableFromInline package var method = Method.other
    @usableFromInline package var methodBytes = ByteRange.empty
    /// Requests: the target as it came; bytes 0x21 to 0x7E only.
    @usableFromInline package var target = ByteRange.empty
    /// 0 for HTTP/1.0, 1 for HTTP/1.1 and any later 1.x (RFC 9110 section 2.5).
    @usableFromInline package var minorVersion: UInt8 = 1
    /// Responses: 100 to 999.
    @usableFromInline package var status = 0
    /// Responses: what stands behind the status, often nothing.
    @usableFromInline package var reason = ByteRange.empty
    /// The bytes of the whole head: an empty line before it, and the empty line that ends it,
    /// included.
    @usableFromInline package var length = 0

    /// The known fields that occur, and those that occur more than once.
    @usableFromInline package var present = KnownFieldSet(mask: 0)
    @usableFromInline package var repeated = KnownFieldSet(mask: 0)
    @usableFromInline package var connection: ConnectionOptions = []

    /// A table for heads of up to that many fields.
    package init(fieldsMax: Int = HeadLimits.standard.fieldsMax) {
        self.fieldsMax = fieldsMax
        fields = .allocate(capacity: fieldsMax)
        fields.initialize(
            repeating: HeadField(
                name: .empty, value: .empty, known: .other, isNamedByConnection: false,
                isOddlyNamed: false, isTight: false),
            count: fieldsMax)
    }

    deinit {
        fields.deallocate()
    }

    /// The index of the first field of that kind.
    @inlinable
    package func index(of known: KnownField) -> Int? {
        guard present.contains(known) else { return nil }
        for index in 0..<fieldCount where fields[index].known == known { return index }
        return nil
    }

    /// The value of the first field of that kind; never of `other`.
    @inlinable
    package func value(of known: KnownField, in bytes: UnsafeRawBufferPointer)
        -> UnsafeRawBufferPointer?
    {
        guard let index = index(of: known) else { return nil }
        return fields[index].value.bytes(in: bytes)
    }

    /// Forgets the message and keeps the table.
    @inlinable
    package mutating func removeAll() {
        fieldCount = 0
        method = .other
        methodBytes = .empty
        target = .empty
        minorVersion = 1
        status = 0
        reason = .empty
        length = 0
        present = KnownFieldSet(mask: 0)
        repeated = KnownFieldSet(mask: 0)
        connection = []
    }
}
