// A client's connection that speaks HTTP/2: its session between the socket and the exchanges of its streams.
// Frames that come about in one turn of the loop go out in one write.
//
// What it holds is bounded: a body's bytes that have nowhere to go by the stream's window, what a client does
// not read by one read of the upstream for each stream, heads by their limits, streams by theirs.

import Bytes
import HTTP2Wire
import HTTPWire
import Reactor

/// The HTTP/2 side of a client connection, which owns it.
final class HTTP2Client {
    // SAFETY: the connection owns this object, and nobody else keeps it once the connection is closed.
    private unowned(unsafe) let connection: ClientConnection
    let worker: Worker
    let session: ServerSession
    private var parser: HeadParser
    /// The client has closed its sending side.
    private(set) var hasEnded = false
    var isFlushed: Bool { connection.isFlushed }
    /// Whether `pump` is going to be called at the end of this turn.
    private var isAwake = false
    private var isHeadTimed = false
    private var isIdle = false
    /// Exchanges that were finished, for streams to come.
    private var spare: [HTTP2Exchange] = []
    private var isOver = false
    /// Whether the client knows which request is the last one.
    private var hasSaidLast = false

    private static let spareMax = 16

    init(_ connection: ClientConnection) {
        self.connection = connection
        worker = connection.worker
        session = ServerSession(worker.settings.clientSessionLimits)
        parser = HeadParser(limits: worker.settings.requestLimits)
        wake()
        if connection.isLeaving { leave() }
    }

    var rules: ListenerRules { connection.rules }
    var address: String { connection.peerAddress }

    // MARK: In

    func receive(_ bytes: UnsafeRawBufferPointer) {
        session.receive(bytes, now: connection.loop.now) { handle($0) }
        wake()
    }

    private func handle(_ event: SessionEvent) {
        switch event {
        case .head(let stream, let range, let ends, let flaw):
            // What was reset by the time that it is looked at has cost its client more than us, and so has
            // what it makes us reset (CVE-2025-8671).
            if stream.isClosed || stream.isBroken || connection.isClosing { return }
            begin(stream, session.text(in: range), endsStream: ends, flaw)
        case .data(let stream, let bytes, let ends):
            if let exchange = exchange(of: stream) {
                exchange.receive(bytes, endsStream: ends)
            } else {
                session.consume(bytes.count, of: stream)
            }
        case .trailers(let stream, let range):
            exchange(of: stream)?.receiveTrailers(session.text(in: range))
        case .drained(let stream): exchange(of: stream)?.drained()
        case .closed(let stream, _):
            let exchange = exchange(of: stream)
            stream.owner = nil
            exchange?.streamClosed()
        case .interim, .goingAway: break
        }
    }

    private func exchange(of stream: SessionStream) -> HTTP2Exchange? {
        stream.owner.map { unsafeDowncast($0, to: HTTP2Exchange.self) }
    }

    private func begin(
        _ stream: SessionStream, _ text: UnsafeRawBufferPointer, endsStream: Bool,
        _ flaw: WireError?
    ) {
        let exchange = makeExchange(stream, endsStream: endsStream)
        stream.owner = exchange
        if let flaw { return exchange.refuse(flaw) }
        guard stream.isTunnel else { return parse(text, for: exchange) }
        var whole = ByteBuffer()
        HTTP2Exchange.completeHandshake(text, into: &whole)
        parse(whole.bytes, for: exchange)
    }

    private func makeExchange(_ stream: SessionStream, endsStream: Bool) -> HTTP2Exchange {
        // Whoever still runs code of one keeps it as well.
        guard var exchange = spare.popLast(), isKnownUniquelyReferenced(&exchange) else {
            return HTTP2Exchange(self, stream, endsStream: endsStream)
        }
        exchange.renew(stream, endsStream: endsStream)
        return exchange
    }

    /// The exchange is finished and may serve another stream.
    func keep(_ exchange: HTTP2Exchange) {
        if !isOver && spare.count < Self.spareMax { spare.append(exchange) }
    }

    private func parse(_ text: UnsafeRawBufferPointer, for exchange: HTTP2Exchange) {
        parser.reset()
        do throws(WireError) {
            let outcome = try parser.request(in: text, into: &worker.requestHead)
            guard outcome == .complete, worker.requestHead.length == text.count else {
                throw .invalidRequestLine
            }
        } catch {
            return exchange.refuse(error)
        }
        exchange.begin(text)
    }

    // MARK: Out

    /// Something is to be sent; it leaves at the end of this turn.
    func wake() {
        guard !isAwake else { return }
        isAwake = true
        connection.requestCallBeforeWaiting()
    }

    func turnEnds() {
        isAwake = false
        pump()
    }

    /// Sends what is due and the socket takes.
    func pump() {
        guard worker.sendFrames(of: session, through: connection) else { return abandon() }
        session.deliver { handle($0) }
        guard !connection.isClosing else { return }
        if session.isOver { return over() }
        watch()
    }

    /// Arms what the connection waits for.
    private func watch() {
        if hasEnded {
            if session.streamCount == 0 { over() } else { dropStuckStreams() }
            return
        }
        if session.isInsideHead {
            if !isHeadTimed {
                isHeadTimed = true
                isIdle = false
                connection.arm(.clientHead)
            }
            return
        }
        if isHeadTimed {
            isHeadTimed = false
            connection.disarm()
            if connection.isLeaving && !hasSaidLast { connection.arm(.lastRequest) }
        }
        let isIdle = session.streamCount == 0
        if connection.isLeaving {
            if isIdle && hasSaidLast { over() }
            return
        }
        guard isIdle != self.isIdle else { return }
        self.isIdle = isIdle
        if isIdle { connection.arm(.clientIdle) } else { connection.disarm() }
    }

    // MARK: Ends

    /// The connection ends with the last request under way. The client is told so first, and a moment
    /// later which request that is: those that crossed the first word are still answered (RFC 9113
    /// section 6.8).
    func leave() {
        session.announceEnd()
        if !isHeadTimed { connection.arm(.lastRequest) }
        wake()
    }

    /// The moment is over.
    func leaveNow() {
        hasSaidLast = true
        session.goAway()
        wake()
    }

    /// A deadline of the connection's has passed.
    func expire() {
        session.terminate(.none)
        wake()
    }

    /// Nothing more can be read: what is still to be sent goes out, then the connection ends.
    private func over() {
        letGoOfStreams()
        guard session.wantsToSend && !connection.hasFailedWriting || !connection.isFlushed else {
            return connection.finishMultiplexed()
        }
    }

    private func letGoOfStreams() {
        isOver = true
        spare = []
        // What was closed and not told yet must not keep its exchange.
        session.deliver { handle($0) }
        for stream in session.openStreams { exchange(of: stream)?.streamClosed() }
    }

    /// The client will send no more, and may still read: what it has asked for to the end is answered, for as
    /// long as that can be sent (C130). The rest never comes to an end.
    func clientEnded() {
        if session.isInsideHead { return abandon() }
        hasEnded = true
        connection.disarm()
        for stream in session.openStreams where !stream.hasEnded {
            exchange(of: stream)?.streamClosed()
        }
        wake()
    }

    /// Gives up what the client's windows hold back, since it will not open them.
    private func dropStuckStreams() {
        guard connection.isFlushed, !session.wantsToSend else { return }
        for stream in session.openStreams where stream.hasUnsent {
            exchange(of: stream)?.streamClosed()
            session.reset(stream, .cancel)
        }
        if session.wantsToSend { wake() }
    }

    /// The client has gone.
    func abandon() {
        letGoOfStreams()
        connection.close()
    }
}
