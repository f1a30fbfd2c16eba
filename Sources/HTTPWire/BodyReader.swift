// Takes a body out of the bytes of a connection: counts it, or decodes its chunks where they lie
// (RFC 9112 section 7.1). It never holds data back; what it keeps is a few numbers and the trailers.

package import Bytes

/// What a body's framing may cost at the most; the size of the body itself is the caller's business.
package struct BodyLimits: Hashable, Sendable {
    /// The size line of one chunk with its extensions.
    package var chunkLineBytesMax: Int
    package var trailerBytesMax: Int

    package init(chunkLineBytesMax: Int = 4096, trailerBytesMax: Int = 16_384) {
        self.chunkLineBytesMax = chunkLineBytesMax
        self.trailerBytesMax = trailerBytesMax
    }

    package static let standard = BodyLimits()
}

/// What one call found.
@usableFromInline
@frozen
package struct BodyStep: Hashable, Sendable {
    /// Where the decoded data lies now; possibly empty.
    @usableFromInline package var data: Range<Int>
    /// The bytes that belong to this body; what follows them is the next message. Less than all only
    /// when the body is finished.
    @usableFromInline package var consumed: Int
    @usableFromInline package var isFinished: Bool
}

/// Reads one body after the other; `start` begins the next without an allocation.
package struct BodyReader: ~Copyable {
    private enum State: UInt8 {
        case finished, counted, untilClose
        case sizeStart, size, extensionStart, `extension`, sizeLineFeed
        case data, dataReturn, dataLineFeed
        case trailer, trailerLineFeed
    }

    private let limits: BodyLimits
    private let direction: Direction
    private var state: State
    /// Bytes of the body, or of the chunk, that are still to come.
    private var remaining: UInt64
    /// Bytes of the size line so far.
    private var lineBytes = 0
    private var trailerBytes = 0
    private var trailerLine = ByteBuffer()

    /// The trailer section as lines `name: value` CR LF, ready to be sent. Fields that a trailer may
    /// not carry were left out. Complete once the body is finished, then valid until `start`.
    package private(set) var trailers = ByteBuffer()

    package init(
        _ framing: BodyFraming = .none, of direction: Direction = .request,
        limits: BodyLimits = .standard
    ) {
        self.limits = limits
        self.direction = direction
        (state, remaining) = Self.initial(framing)
    }

    /// Begins the body of the next message.
    package mutating func start(_ framing: BodyFraming) {
        (state, remaining) = Self.initial(framing)
        trailerBytes = 0
        trailerLine.removeAll()
        trailers.removeAll()
    }

    /// True as soon as the last byte of the body was read; at once where there is none.
    package var isFinished: Bool { state == .finished }

    /// The number of bytes to come where the framing tells it: the length that is left.
    package var knownRemaining: UInt64? { state == .counted ? remaining : nil }

    /// Reads as much as belongs to this body. Chunked data is moved together, so that it is one run.
    package mutating func read(
        _ bytes: UnsafeMutableRawBufferPointer
    ) throws(WireError) -> BodyStep {
        switch state {
        case .finished: return BodyStep(data: 0..<0, consumed: 0, isFinished: true)
        case .untilClose:
            return BodyStep(data: 0..<bytes.count, consumed: bytes.count, isFinished: false)
        case .counted:
            let count = Int(min(remaining, UInt64(bytes.count)))
            remaining &-= UInt64(count)
            if remaining == 0 { state = .finished }
            return BodyStep(data: 0..<count, consumed: count, isFinished: isFinished)
        case .sizeStart, .size, .extensionStart, .extension, .sizeLineFeed, .data, .dataReturn,
            .dataLineFeed, .trailer, .trailerLineFeed:
            return try readChunks(bytes)
        }
    }

    /// The peer closed its side.
    package mutating func end() throws(WireError) {
        guard state == .untilClose || state == .finished else { throw .truncated }
        state = .finished
    }

    private static func initial(_ framing: BodyFraming) -> (State, UInt64) {
        switch framing {
        case .none: (.finished, 0)
        case .length(let length): (length == 0 ? .finished : .counted, length)
        case .chunked: (.sizeStart, 0)
        case .untilClose: (.untilClose, 0)
        }
    }

    private mutating func readChunks(
        _ bytes: UnsafeMutableRawBufferPointer
    ) throws(WireError) -> BodyStep {
        guard let base = bytes.baseAddress else {
            return BodyStep(data: 0..<0, consumed: 0, isFinished: false)
        }
        let end = bytes.count
        var offset = 0
        var data = 0..<0
        while offset < end && state != .finished {
            switch state {
            case .data:
                let count = Int(min(remaining, UInt64(end &- offset)))
                if data.isEmpty {
                    data = offset..<(offset &+ count)
                } else {
                    (base + data.upperBound).copyMemory(from: base + offset, byteCount: count)
                    data = data.lowerBound..<(data.upperBound &+ count)
                }
                offset &+= count
                remaining &-= UInt64(count)
                if remaining == 0 { state = .dataReturn }
            case .trailer, .trailerLineFeed:
                offset = try readTrailer(UnsafeRawPointer(base), from: offset, to: end)
            case .finished, .counted, .untilClose, .sizeStart, .size, .extensionStart, .extension,
                .sizeLineFeed, .dataReturn, .dataLineFeed:
                try readFraming(base.load(fromByteOffset: offset, as: UInt8.self))
                offset &+= 1
            }
        }
        return BodyStep(data: data, consumed: offset, isFinished: isFinished)
    }

    /// One byte of a size line or of the line end behind a chunk.
    @inline(__always)
    private mutating func readFraming(_ byte: UInt8) throws(WireError) {
        switch state {
        case .sizeStart:
            guard let digit = ASCII.hexValue(byte) else { throw .invalidChunkSize }
            remaining = UInt64(digit)
            lineBytes = 1
            state = .size
        case .size:
            if let digit = ASCII.hexValue(byte) {
                // Room for one more digit within Int64.max.
                guard remaining < 1 &<< 59 else { throw .invalidChunkSize }
                remaining = remaining &<< 4 | UInt64(digit)
                try countLineByte()
            } else if byte == ASCII.carriageReturn {
                state = .sizeLineFeed
            } else if byte == ASCII.semicolon {
                try countLineByte()
                state = .extension
            } else if FieldLine.isWhiteSpace(byte) {
                try countLineByte()
                state = .extensionStart
            } else {
                throw .invalidChunkSize
            }
        case .extensionStart:
            // White space behind the size is legal only as part of an extension, but there are servers that
            // fill the size up with it, and every client takes that from them.
            if byte == ASCII.carriageReturn, direction == .response {
                state = .sizeLineFeed
                return
            }
            try countLineByte()
            if byte == ASCII.semicolon {
                state = .extension
            } else if !FieldLine.isWhiteSpace(byte) {
                throw .invalidChunkSize
            }
        case .extension:
            if byte == ASCII.carriageReturn {
                state = .sizeLineFeed
            } else {
                try countLineByte()
                guard byte >= 0x20 && byte != 0x7F || byte == ASCII.tab else {
                    throw .invalidChunkExtension
                }
            }
        case .sizeLineFeed:
            guard byte == ASCII.lineFeed else { throw .bareLineBreak }
            state = remaining == 0 ? .trailer : .data
        case .dataReturn:
            guard byte == ASCII.carriageReturn else { throw .invalidChunkEnd }
            state = .dataLineFeed
        case .dataLineFeed:
            guard byte == ASCII.lineFeed else { throw .bareLineBreak }
            state = .sizeStart
        case .finished, .counted, .untilClose, .data, .trailer, .trailerLineFeed:
            preconditionFailure("readChunks handles these states itself")
        }
    }

    @inline(__always)
    private mutating func countLineByte() throws(WireError) {
        lineBytes &+= 1
        guard lineBytes <= limits.chunkLineBytesMax else {
            throw .chunkLineTooLong(limit: limits.chunkLineBytesMax)
        }
    }

    /// Reads up to the end of one line of the trailer section; returns the offset behind it.
    private mutating func readTrailer(
        _ base: UnsafeRawPointer, from start: Int, to end: Int
    ) throws(WireError) -> Int {
        if state == .trailerLineFeed {
            guard FieldLine.byte(base, start) == ASCII.lineFeed else { throw .bareLineBreak }
            try finishTrailerLine()
            return start + 1
        }
        let stop = FieldLine.firstControl(base, from: start, to: end)
        trailerBytes += stop - start
        guard trailerBytes <= limits.trailerBytesMax else {
            throw .trailersTooLarge(limit: limits.trailerBytesMax)
        }
        trailerLine.append(UnsafeRawBufferPointer(start: base + start, count: stop - start))
        guard stop < end else { return end }
        guard FieldLine.byte(base, stop) == ASCII.carriageReturn else {
            throw FieldLine.byte(base, stop) == ASCII.lineFeed ? .bareLineBreak : .controlByte
        }
        state = .trailerLineFeed
        return stop + 1
    }

    private mutating func finishTrailerLine() throws(WireError) {
        let line = trailerLine.bytes
        guard let base = line.baseAddress, !line.isEmpty else {
            state = .finished
            return
        }
        state = .trailer
        trailerBytes += 2
        let field = try FieldLine.parse(base, from: 0, to: line.count, .shared, of: direction)
        let name = field.name.bytes(in: line)
        let known = field.isOddlyNamed ? FieldSpelling.known(name) : field.known
        if !KnownFieldSet.refusedInTrailers.contains(known) {
            trailers.append(name)
            trailers.append(": ")
            trailers.append(field.value.bytes(in: line))
            trailers.append("\r\n")
        }
        trailerLine.removeAll()
    }
}
