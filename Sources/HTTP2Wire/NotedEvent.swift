// Events between the callback that notes them and their delivery. Nothing in them is counted, so that noting one
// costs a few stores; the session keeps the streams that they name until everything is delivered.

import HTTPWire

/// A `SessionEvent` in waiting.
struct NotedEvent {
    enum Kind: UInt8 {
        case head, interim, data, trailers, drained, closed, goingAway
    }

    let kind: Kind
    // SAFETY: the session holds a stream while it is open, and what was closed until it is delivered.
    private var named: Unmanaged<SessionStream>?
    var range = 0..<0
    private var bytes = UnsafeRawBufferPointer(start: nil, count: 0)
    private var flaw: WireError?
    private var code = ErrorCode.none
    var endsStream = false

    init(_ kind: Kind, of stream: SessionStream? = nil, code: ErrorCode = .none) {
        self.kind = kind
        // SAFETY: see `named`.
        named = stream.map { Unmanaged.passUnretained($0) }
        self.code = code
    }

    init(
        _ kind: Kind, of stream: SessionStream, _ range: Range<Int>, endsStream: Bool = false,
        flaw: WireError? = nil
    ) {
        self.init(kind, of: stream)
        self.range = range
        self.endsStream = endsStream
        self.flaw = flaw
    }

    init(_ bytes: UnsafeRawBufferPointer, of stream: SessionStream, endsStream: Bool) {
        self.init(.data, of: stream)
        self.bytes = bytes
        self.endsStream = endsStream
    }

    /// Whether it is of that stream.
    func names(_ stream: SessionStream) -> Bool {
        // SAFETY: compared, never followed.
        named?.toOpaque() == Unmanaged.passUnretained(stream).toOpaque()
    }

    /// What is delivered.
    var event: SessionEvent {
        guard let stream = named?.takeUnretainedValue() else { return .goingAway(code) }
        return switch kind {
        case .head: .head(stream, range, endsStream: endsStream, flaw: flaw)
        case .interim: .interim(stream, range)
        case .data: .data(stream, bytes, endsStream: endsStream)
        case .trailers: .trailers(stream, range)
        case .drained: .drained(stream)
        case .closed: .closed(stream, code)
        case .goingAway: .goingAway(code)
        }
    }
}
