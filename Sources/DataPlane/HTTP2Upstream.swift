// A connection to an upstream that speaks HTTP/2: its session between the socket and the streams that exchanges
// share it by. Frames that come about in one turn of the loop go out in one write.

import Bytes
import HTTP2Wire
import HTTPWire
import Reactor

/// The HTTP/2 side of an upstream connection, which owns it.
final class HTTP2Upstream {
    // SAFETY: the connection owns this object, and nobody else keeps it once the connection is closed.
    private unowned(unsafe) let connection: UpstreamConnection
    let worker: Worker
    let session: ClientSession
    let isSecure: Bool
    private var parser: HeadParser
    /// Whether `pump` is going to be called at the end of this turn.
    private var isAwake = false
    private var isIdle = false
    /// Whether any request was answered here.
    private(set) var hasServed = false
    /// Streams that have ended, for requests to come.
    private var spare: [UpstreamStream] = []
    /// No stream is begun here any more.
    private(set) var isRetired = false
    /// The upstream reads no more.
    private var hasFailedWriting = false
    /// When the upstream was heard last.
    private var heardAt: UInt64
    /// It was asked for a sign of life, and has a deadline for it.
    private var isProbed = false
    /// How often it may be asked before it answers a request. gRPC's servers end a connection on which PINGs come
    /// while they have nothing to say, at the fourth.
    private var probesLeft = probesMax

    private static let spareMax = 64
    private static let probesMax = 2

    init(_ connection: UpstreamConnection, _ worker: Worker, isSecure: Bool) {
        self.connection = connection
        self.worker = worker
        self.isSecure = isSecure
        session = ClientSession(worker.settings.upstreamSessionLimits)
        parser = HeadParser(limits: worker.settings.responseLimits)
        heardAt = worker.loop.now
        wake()
    }

    var upstream: Int { connection.upstream }
    var epoch: Int { connection.epoch }
    var openedAt: UInt64 { connection.openedAt }

    /// How many more streams may be begun now.
    var capacity: Int { isRetired || connection.isClosing ? 0 : session.capacity }

    /// Nothing is under way, and the upstream has said something that nobody has read: perhaps its end.
    var mayHaveEnded: Bool { session.streamCount == 0 && connection.hasUnreadInput }

    func makeStream() -> UpstreamStream {
        // Whoever still runs code of one keeps it as well.
        guard var stream = spare.popLast(), isKnownUniquelyReferenced(&stream) else {
            return UpstreamStream(self)
        }
        stream.renew()
        return stream
    }

    /// The stream has ended and may serve another request.
    func keep(_ stream: UpstreamStream) {
        if !isRetired && spare.count < Self.spareMax { spare.append(stream) }
    }

    /// Reads the text of a head into the worker's table.
    func parse(_ text: UnsafeRawBufferPointer) throws(WireError) {
        parser.reset()
        let outcome = try parser.response(in: text, into: &worker.responseHead)
        guard outcome == .complete, worker.responseHead.length == text.count else {
            throw .invalidStatusLine
        }
    }

    // MARK: In

    func receive(_ bytes: UnsafeRawBufferPointer) {
        heardAt = connection.loop.now
        if isProbed {
            isProbed = false
            if isIdle { connection.arm(.upstreamIdle) } else { connection.disarm() }
        }
        session.receive(bytes, now: connection.loop.now) { handle($0) }
        wake()
    }

    private func handle(_ event: SessionEvent) {
        switch event {
        case .head(let stream, let range, let ends, let flaw):
            hasServed = true
            probesLeft = Self.probesMax
            user(of: stream)?.receiveHead(session.text(in: range), endsStream: ends, flaw)
        case .interim(let stream, let range):
            user(of: stream)?.receiveInterim(session.text(in: range))
        case .data(let stream, let bytes, let ends):
            user(of: stream)?.receive(bytes, endsStream: ends)
        case .trailers(let stream, let range):
            user(of: stream)?.receive(
                UnsafeRawBufferPointer(start: nil, count: 0), endsStream: true,
                trailers: session.text(in: range))
        case .drained(let stream): user(of: stream)?.drained()
        case .closed(let stream, let code):
            let user = user(of: stream)
            stream.owner = nil
            user?.closed(code)
        case .goingAway(let code):
            if code == .http11Required { worker.refusesHTTP2(upstream, of: epoch) }
            retire()
            guard code == .http11Required else { return }
            for stream in session.openStreams { user(of: stream)?.refuseHTTP2() }
        }
    }

    private func user(of stream: SessionStream) -> UpstreamStream? {
        stream.owner.map { unsafeDowncast($0, to: UpstreamStream.self) }
    }

    // MARK: Out

    /// A request was begun. A connection that has been silent for a while may be dead without a sign, as when a
    /// network has gone; it is asked for one, so that not one request after the other waits there for nothing.
    func streamBegan() {
        guard connection.loop.now &- heardAt >= worker.settings.upstreamSilence, !isProbed,
            probesLeft > 0
        else { return }
        isProbed = true
        probesLeft -= 1
        session.ping()
        connection.arm(.upstreamProbe)
    }

    /// Nothing came.
    func probeFailed() {
        // What waits for an upstream that is slow to read has not asked it yet.
        guard connection.isFlushed else { return connection.arm(.upstreamProbe) }
        isProbed = false
        lose(.connectionLost)
    }

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
        if !hasFailedWriting && !worker.sendFrames(of: session, through: connection) {
            writingFailed()
        }
        session.deliver { handle($0) }
        guard !connection.isClosing else { return }
        if session.isOver { return lose(.responseMalformed) }
        let ageMax = worker.settings.upstreamAge
        if ageMax > 0 && worker.loop.now &- openedAt > ageMax { retire() }
        let isIdle = session.streamCount == 0
        if isIdle && isRetired { return close() }
        if isIdle != self.isIdle {
            self.isIdle = isIdle
            if isIdle {
                isProbed = false
                connection.arm(.upstreamIdle)
            } else if !isProbed {
                connection.disarm()
            }
        }
        if !isRetired { worker.streamsFreed(on: self) }
    }

    // MARK: Ends

    /// No stream is begun here from now on; the connection ends with its last.
    func retire() {
        guard !isRetired else { return }
        isRetired = true
        spare = []
        worker.multiplexed.remove(self)
        worker.redial(upstream, of: epoch)
        wake()
    }

    /// Nothing more can be sent. What the upstream has said before it went is still read, perhaps an answer that
    /// does not wait for the request's end (RFC 9113 section 8.1); then comes its end.
    func writingFailed() {
        hasFailedWriting = true
        retire()
    }

    /// Nothing more can be read or sent.
    func lose(_ failure: Exchange.Failure) {
        retire()
        connection.close()
        // What was closed and not told yet must not keep its user.
        session.deliver { handle($0) }
        for stream in session.openStreams {
            let user = user(of: stream)
            stream.owner = nil
            user?.lose(failure, isUnprocessed: !stream.isBegun)
        }
    }

    /// Nobody needs it.
    func close() {
        retire()
        if !session.isOver && !hasFailedWriting {
            session.goAway()
            _ = worker.sendFrames(of: session, through: connection)
        }
        lose(.connectionLost)
    }
}
