// One end of an HTTP/2 connection, between bytes and events: nghttp2 knows the frames, the field compression
// and the states of streams; this keeps the peer to its limits and holds what is to be sent. It opens no
// socket, reads no clock and decides nothing about messages.
//
// nghttp2 may not be called again from most of its callbacks. So callbacks only note what happened, and events
// are delivered when nghttp2 has returned; whoever gets one may call anything here.

package import Bytes
import CNGHTTP2
import HTTPWire

/// What both kinds of session have in common. One thread at a time.
package class Session {
    let handle: OpaquePointer
    let limits: SessionLimits
    /// In no order; each knows its place. By their numbers nghttp2 finds them.
    private var streams: [SessionStream] = []
    var heads: HeadText
    var strain: Strain
    var history = StreamHistory()
    /// Servers only.
    var dataFrames: DataFrames
    /// A rule that nghttp2 does not keep the peer to was broken.
    var violation: ErrorCode?
    let isServer: Bool
    var fields = FieldLines()
    private var events: [NotedEvent] = []
    /// Closed streams that events name.
    private var closed: [SessionStream] = []
    private var isDelivering = false
    /// Bytes cannot be read or frames written any more.
    private var hasFailed = false
    /// We have ended the connection; nghttp2 ignores what still comes.
    private var hasTerminated = false
    /// More is taken in one step only after what came of the last was delivered, so that a run of small
    /// frames cannot pile up heads.
    private static let inputStep = 16 * 1024

    init(_ limits: SessionLimits, isServer: Bool) {
        self.limits = limits
        self.isServer = isServer
        heads = HeadText(limits)
        strain = Strain(limits)
        dataFrames = DataFrames(behind: ServerSession.preface.utf8CodeUnitCount)
        var session: OpaquePointer?
        let options = Self.makeOptions(limits, isServer: isServer)
        defer { nghttp2_option_del(options) }
        let result =
            isServer
            ? nghttp2_session_server_new2(&session, Self.callbacks, nil, options)
            : nghttp2_session_client_new2(&session, Self.callbacks, nil, options)
        guard result == 0, let session else { preconditionFailure("out of memory") }
        handle = session
        // SAFETY: nghttp2 calls back only from within calls of this object's methods.
        nghttp2_session_set_user_data(session, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { nghttp2_session_del(handle) }

    /// How many streams are open.
    package var streamCount: Int { streams.count }

    package var openStreams: [SessionStream] { streams }

    /// A head has begun and not ended.
    package var isInsideHead: Bool { heads.isOpen }

    /// The connection is of no more use: send what `produce` still has, then close.
    package var isOver: Bool {
        hasFailed
            || nghttp2_session_want_read(handle) == 0 && nghttp2_session_want_write(handle) == 0
    }

    /// Whether `produce` has something to give.
    package var wantsToSend: Bool { !hasFailed && nghttp2_session_want_write(handle) != 0 }

    // MARK: In

    /// Reads bytes of the peer and delivers what they mean.
    ///
    /// - Parameter now: milliseconds of any steady clock.
    package func receive(
        _ bytes: UnsafeRawBufferPointer, now: UInt64, _ handler: (SessionEvent) -> Void
    ) {
        strain.drain(now: now)
        var rest = bytes
        while !rest.isEmpty && !hasFailed && !hasTerminated {
            let step = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.inputStep))
            if isServer { dataFrames.read(step, noting: &history) }
            let used = nghttp2_session_mem_recv(
                handle, step.baseAddress?.assumingMemoryBound(to: UInt8.self), step.count)
            if used < 0 {
                // Not HTTP/2 at all, or a flood that nghttp2 itself has noticed.
                hasFailed = true
            } else {
                rest = UnsafeRawBufferPointer(rebasing: rest[used...])
            }
            if isServer && !hasFailed { judgeDroppedData() }
            if strain.isTooMuch { endStrain() }
            if let violation { terminate(violation) }
            deliver(handler)
            heads.removeDelivered()
            if used <= 0 { break }
        }
    }

    /// Delivers events that came about since the last delivery.
    package func deliver(_ handler: (SessionEvent) -> Void) {
        guard !isDelivering else { return }
        isDelivering = true
        var index = 0
        while index < events.count {
            handler(events[index].event)
            index += 1
        }
        events.removeAll(keepingCapacity: index <= 256)
        closed.removeAll(keepingCapacity: closed.count <= 256)
        isDelivering = false
    }

    /// The text of a head or of trailers that an event named.
    package func text(in range: Range<Int>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: heads.text.bytes[range])
    }

    /// Bytes of a body were taken: the peer may send as many again.
    package func consume(_ count: Int, of stream: SessionStream) {
        guard count > 0, !stream.isClosed else { return }
        nghttp2_session_consume_stream(handle, stream.id, count)
    }

    // MARK: Out

    /// Appends frames until there are none or the output has reached the size.
    package func produce(into output: inout ByteBuffer, upTo size: Int) {
        while output.count < size && !hasFailed {
            var bytes: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(handle, &bytes)
            if count < 0 { hasFailed = true }
            guard count > 0, let bytes else { return }
            output.append(UnsafeRawBufferPointer(start: bytes, count: count))
        }
    }

    /// Adds data to what is to be sent on the stream.
    package func send(_ data: UnsafeRawBufferPointer, on stream: SessionStream) {
        guard !stream.isClosed, !data.isEmpty else { return }
        stream.output.append(data)
        resume(stream)
    }

    /// What was given to the stream is all, but for trailers: lines `name: value` CR LF, possibly none.
    package func finish(
        _ stream: SessionStream, trailers: UnsafeRawBufferPointer,
        neverIndexed: NeverIndexed = NeverIndexed()
    ) {
        guard !stream.isClosed else { return }
        stream.isOutputWhole = true
        stream.trailers.append(trailers)
        stream.trailersNeverIndexed = neverIndexed
        resume(stream)
    }

    private func resume(_ stream: SessionStream) {
        guard stream.isPaused else { return }
        stream.isPaused = false
        nghttp2_session_resume_data(handle, stream.id)
    }

    /// Ends a stream at once, in both directions.
    package func reset(_ stream: SessionStream, _ code: ErrorCode) {
        guard !stream.isClosed else { return }
        nghttp2_submit_rst_stream(
            handle, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream.id,
            code.rawValue)
    }

    /// Asks the peer for a sign of life.
    package func ping() {
        nghttp2_submit_ping(handle, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), nil)
    }

    /// Ends the connection, with what is open on it.
    package func terminate(_ code: ErrorCode) {
        hasTerminated = true
        nghttp2_session_terminate_session(handle, code.rawValue)
    }

    /// Lends what nghttp2 asks for the stream's data with, as soon as the peer's windows allow; nil where a
    /// message has none.
    func withProvider<Result>(
        of stream: SessionStream, _ endsStream: Bool,
        _ body: (UnsafePointer<nghttp2_data_provider>?) -> Result
    ) -> Result {
        if endsStream { return body(nil) }
        var provider = nghttp2_data_provider(
            source: nghttp2_data_source(ptr: stream.address), read_callback: readOutput)
        return withUnsafePointer(to: &provider) { body($0) }
    }

    /// The peer costs more than it may.
    func endStrain() { terminate(.enhanceYourCalm) }

    // MARK: What callbacks note

    func note(_ event: NotedEvent) { events.append(event) }

    /// Keeps a stream until nghttp2 closes it, which was told its address.
    func open(_ stream: SessionStream) {
        stream.place = streams.count
        streams.append(stream)
    }

    /// The open stream of that number.
    func stream(_ id: Int32) -> SessionStream? {
        // SAFETY: the address was given by `open`'s caller, and the stream is kept until `close`.
        nghttp2_session_get_stream_user_data(handle, id).map { SessionStream.at($0) }
    }

    /// The last noted piece of a body was the end of it; false if the last event was none of that stream's.
    func markLastDataAsEnd(of stream: SessionStream) -> Bool {
        guard let last = events.indices.last, events[last].kind == .data,
            !events[last].endsStream, events[last].names(stream)
        else { return false }
        events[last].endsStream = true
        return true
    }

    /// The last noted event was the head of that request, and nothing came behind it; false if it was not.
    func markLastHeadAsEnd(of stream: SessionStream) -> Bool {
        guard let last = events.indices.last, events[last].kind == .head,
            events[last].names(stream), let range = heads.withoutBody(events[last].range)
        else { return false }
        events[last].range = range
        events[last].endsStream = true
        return true
    }

    func close(_ id: Int32, _ code: ErrorCode) {
        guard let stream = stream(id), !stream.isClosed else { return }
        let last = streams.removeLast()
        if last !== stream {
            streams[stream.place] = last
            last.place = stream.place
        }
        stream.isClosed = true
        if stream.hasEnded { history.noteEnded(id) }
        stream.output = ByteBuffer()
        closed.append(stream)
        note(NotedEvent(.closed, of: stream, code: code))
    }
}

/// Moves data of a stream into a frame, and says whether it is the last.
private func readOutput(
    _ handle: OpaquePointer?, _ id: Int32, _ target: UnsafeMutablePointer<UInt8>?, _ room: Int,
    _ flags: UnsafeMutablePointer<UInt32>?, _ source: UnsafeMutablePointer<nghttp2_data_source>?,
    _ userData: UnsafeMutableRawPointer?
) -> Int {
    guard let target, let flags, let address = source?.pointee.ptr else {
        return Int(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue)
    }
    // SAFETY: see Session.init; nghttp2 asks for data of open streams, which the session keeps.
    let session = Unmanaged<Session>.fromOpaque(userData!).takeUnretainedValue()
    let stream = SessionStream.at(address)
    let count = min(room, stream.output.count)
    if count > 0, let source = stream.output.bytes.baseAddress {
        UnsafeMutableRawPointer(target).copyMemory(from: source, byteCount: count)
        stream.output.consume(count)
    }
    guard stream.output.isEmpty else {
        stream.isHeldBack = true
        return count
    }
    // Nobody waits for room behind the end of a message, unless it took its time.
    if !stream.isOutputWhole || stream.isTunnel || stream.isHeldBack {
        session.note(NotedEvent(.drained, of: stream))
    }
    stream.isHeldBack = false
    guard stream.isOutputWhole else {
        guard count == 0 else { return count }
        stream.isPaused = true
        return Int(NGHTTP2_ERR_DEFERRED.rawValue)
    }
    flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue
    if !stream.trailers.isEmpty {
        flags.pointee |= NGHTTP2_DATA_FLAG_NO_END_STREAM.rawValue
        session.submitTrailers(stream)
    }
    return count
}

extension Session {
    fileprivate func submitTrailers(_ stream: SessionStream) {
        var text = ByteBuffer()
        swap(&text, &stream.trailers)
        fields.readTrailers(text.mutableBytes, stream.trailersNeverIndexed)
        fields.withFields { fields in
            _ = nghttp2_submit_trailer(handle, stream.id, fields.baseAddress, fields.count)
        }
    }
}
