// Parses the head of a request or response (RFC 9112 sections 2 to 5) line by line as it arrives. It
// reads bytes that another owns, keeps only how far it came, and refuses whatever two readers could
// take to mean two things.

import Bytes

/// What a head may cost at the most.
package struct HeadLimits: Hashable, Sendable {
    /// The first line and the empty lines included.
    package var headBytesMax: Int
    package var fieldsMax: Int

    package init(headBytesMax: Int = 65_536, fieldsMax: Int = 128) {
        precondition(headBytesMax <= 1 << 30, "offsets into a head are 32 bits wide")
        self.headBytesMax = headBytesMax
        self.fieldsMax = fieldsMax
    }

    package static let standard = HeadLimits()
}

/// What came of the bytes so far.
@usableFromInline
@frozen
package enum HeadOutcome: Hashable, Sendable {
    /// No error yet, but no whole head either.
    case needMore
    /// The table is filled; the body starts at `MessageHead.length`.
    case complete
}

/// Remembers how far a head was read, so that a head in many pieces costs no more than in one.
///
/// Each call gets the bytes of the message from its first on, as many as there are; they may have
/// moved in memory since the last call. The result never depends on how the bytes were cut. After
/// `complete` the parser is ready for the next message; after an error only `reset` makes it so.
package struct HeadParser: Sendable {
    private let limits: HeadLimits
    private let names = KnownFieldTable.shared
    /// Where the first line that is not parsed yet starts.
    private var lineStart = 0
    /// The bytes of that line up to here hold no control byte.
    private var scanned = 0
    private var hasFirstLine = false

    package init(limits: HeadLimits = .standard) {
        self.limits = limits
    }

    /// Forgets a message that was begun.
    package mutating func reset() {
        lineStart = 0
        scanned = 0
        hasFirstLine = false
    }

    /// Reads a request head. One empty line before it is skipped (RFC 9112 section 2.2).
    package mutating func request(
        in bytes: UnsafeRawBufferPointer, into head: inout MessageHead
    ) throws(WireError) -> HeadOutcome {
        let end = min(bytes.count, limits.headBytesMax)
        guard let base = bytes.baseAddress, end > 0 else { return .needMore }
        if !hasFirstLine {
            head.removeAll()
            if lineStart == 0 && FieldLine.byte(base, 0) == ASCII.carriageReturn {
                guard end > 1 else { return try needMore(end) }
                guard FieldLine.byte(base, 1) == ASCII.lineFeed else { throw .bareLineBreak }
                begin(lineAt: 2)
            }
            guard let stop = try lineEnd(base, end) else { return try needMore(end) }
            try head.readRequestLine(base, from: lineStart, to: stop)
            hasFirstLine = true
            begin(lineAt: stop &+ 2)
        }
        guard try readFields(base, end, &head, of: .request) else { return try needMore(end) }
        if head.repeated.contains(.host) { throw .duplicateHost }
        if head.minorVersion > 0 && !head.present.contains(.host) { throw .missingHost }
        try finish(bytes, &head)
        return .complete
    }

    /// Reads a response head, interim ones included.
    package mutating func response(
        in bytes: UnsafeRawBufferPointer, into head: inout MessageHead
    ) throws(WireError) -> HeadOutcome {
        let end = min(bytes.count, limits.headBytesMax)
        guard let base = bytes.baseAddress, end > 0 else { return .needMore }
        if !hasFirstLine {
            head.removeAll()
            // Whatever is no HTTP at all is told at its first byte, not at its first line end.
            for offset in 0..<min(end, 5) {
                guard FieldLine.byte(base, offset) == MessageHead.protocolName.utf8Start[offset]
                else { throw .invalidStatusLine }
            }
            guard let stop = try lineEnd(base, end) else { return try needMore(end) }
            try head.readStatusLine(base, to: stop)
            hasFirstLine = true
            begin(lineAt: stop &+ 2)
        }
        guard try readFields(base, end, &head, of: .response) else { return try needMore(end) }
        try finish(bytes, &head)
        return .complete
    }

    @inline(__always)
    private mutating func begin(lineAt offset: Int) {
        lineStart = offset
        scanned = offset
    }

    /// The offset of the CR that ends the line under way, or nil when it has not come.
    @inline(__always)
    private mutating func lineEnd(
        _ base: UnsafeRawPointer, _ end: Int
    ) throws(WireError) -> Int? {
        let stop = FieldLine.firstControl(base, from: scanned, to: end)
        scanned = stop
        guard stop < end, try FieldLine.endsLine(base, at: stop, end: end) else { return nil }
        return stop
    }

    /// True at the empty line that ends the head.
    @inline(__always)
    private mutating func readFields(
        _ base: UnsafeRawPointer, _ end: Int, _ head: inout MessageHead, of direction: Direction
    ) throws(WireError) -> Bool {
        let fieldsMax = min(limits.fieldsMax, head.fieldsMax)
        while let stop = try lineEnd(base, end) {
            if stop == lineStart {
                begin(lineAt: stop &+ 2)
                return true
            }
            guard head.fieldCount < fieldsMax else { throw .tooManyFields(limit: fieldsMax) }
            let field = try FieldLine.parse(base, from: lineStart, to: stop, names, of: direction)
            head.fields[head.fieldCount] = field
            head.fieldCount &+= 1
            if head.present.contains(field.known) { head.repeated.insert(field.known) }
            head.present.insert(field.known)
            begin(lineAt: stop &+ 2)
        }
        return false
    }

    @inline(__always)
    private func needMore(_ end: Int) throws(WireError) -> HeadOutcome {
        guard end < limits.headBytesMax else {
            throw .headTooLarge(limit: limits.headBytesMax)
        }
        return .needMore
    }

    @inline(__always)
    private mutating func finish(
        _ bytes: UnsafeRawBufferPointer, _ head: inout MessageHead
    ) throws(WireError) {
        head.length = lineStart
        if head.present.contains(.connection) { try head.readConnectionOptions(bytes) }
        reset()
    }
}
