// One stream of an HTTP/2 client as an exchange: the body comes in frames and is held back by the stream's
// window, the response goes out in frames as the client takes them.

import Bytes
import Crypto
import HTTP2Wire
import HTTPWire
import Reactor
import Routing

/// The client's side of an exchange in HTTP/2; one for each stream, then for another.
final class HTTP2Exchange: ClientExchange {
    /// A cycle while the stream is open: its session is the client's, and it keeps this exchange until `letGo`.
    private let client: HTTP2Client
    private let session: ServerSession
    private var stream: SessionStream
    /// What the client has sent and nobody has taken; its window is smaller by it.
    private var inbox = ByteBuffer()
    private var hasEnded: Bool
    private var trailers = ByteBuffer()
    private var isOver = false
    // Of a tunnel.
    private var unconsumed = 0
    private var readsTunnel = true
    private var hasEndedTunnel = false

    /// More than this waits for the client only where one piece of a response was larger.
    private static let unsentBytesMax = 64 * 1024

    init(_ client: HTTP2Client, _ stream: SessionStream, endsStream: Bool) {
        self.client = client
        session = client.session
        self.stream = stream
        hasEnded = endsStream
        super.init(client.worker, client.rules)
    }

    /// Begins anew with another stream, once all that it had was finished.
    func renew(_ stream: SessionStream, endsStream: Bool) {
        self.stream = stream
        hasEnded = endsStream
        if trailers.capacity > 0 { trailers = ByteBuffer() }
        isOver = false
        unconsumed = 0
        readsTunnel = true
        hasEndedTunnel = false
    }

    // MARK: The request

    /// A head that cannot be passed on.
    func refuse(_ error: WireError) {
        isRequestWhole = true
        record.beginUnreadable(id: worker.tally.begin(), now: loop.now)
        answer(.badRequest(error))
    }

    override var requestTrailers: UnsafeRawBufferPointer { trailers.bytes }
    override var neverIndexed: NeverIndexed { stream.neverIndexed }

    override func startBody(_ framing: BodyFraming) {
        // What follows the head of a tunnel is no body of the request's, and there must be no place for one.
        isRequestWhole = hasEnded || stream.isTunnel && framing == .none
    }

    override var needsUpgrade: Bool { stream.isTunnel }
    override var mayPause: Bool { record.framing == .chunked }

    func receive(_ bytes: UnsafeRawBufferPointer, endsStream: Bool) {
        if isOver { return session.consume(bytes.count, of: stream) }
        if stream.isTunnel { return receiveForTunnel(bytes, endsStream: endsStream) }
        isContinued = true
        if endsStream { hasEnded = true }
        guard inbox.isEmpty, canTakeBody(bytes.count) else {
            inbox.append(bytes)
            if hasEnded && inbox.isEmpty { isRequestWhole = true }
            return
        }
        take(bytes)
    }

    func receiveTrailers(_ lines: UnsafeRawBufferPointer) {
        trailers.append(lines)
        receive(UnsafeRawBufferPointer(start: nil, count: 0), endsStream: true)
    }

    override func resumeInput() {
        guard !isOver, !stream.isTunnel, !inbox.isEmpty, canTakeBody(inbox.count) else { return }
        var bytes = ByteBuffer()
        swap(&bytes, &inbox)
        take(bytes.bytes)
    }

    private func take(_ bytes: UnsafeRawBufferPointer) {
        if hasEnded { isRequestWhole = true }
        session.consume(bytes.count, of: stream)
        client.wake()
        forward(bytes)
    }

    // MARK: The response

    override var isClientFlushed: Bool { stream.unsentCount <= Self.unsentBytesMax }
    override var hasClientEnded: Bool {
        stream.isClosed || client.hasEnded || isTunnel && hasEnded
    }
    override var endsConnection: Bool { false }
    override var clientAddress: String { client.address }

    override func terms(closes: Bool) -> ClientTerms {
        ClientTerms(
            authority: record.authority, isSecure: rules.isSecure, isMultiplexed: true)
    }

    override func sendInterim() {
        // Those for information are not kept for a client that does not read (RFC 9110 section 15.2); one that waits
        // for a 100 reads.
        guard client.isFlushed || record.expectsContinue else { return }
        session.sendInterim(
            worker.output.mutableBytes, on: stream,
            neverIndexed: upstream?.neverIndexed ?? NeverIndexed())
        client.wake()
    }

    override func sendResponse(
        _ data: UnsafeRawBufferPointer, hasHead: Bool, isLast: Bool,
        trailers: UnsafeRawBufferPointer
    ) -> Bool {
        let stream = stream
        let isHeadAlone = isLast && data.isEmpty && trailers.isEmpty
        let neverIndexed = upstream?.neverIndexed ?? NeverIndexed()
        if hasHead {
            session.sendHead(
                worker.output.mutableBytes, on: stream, endsStream: isHeadAlone,
                neverIndexed: neverIndexed)
        }
        if !hasHead || !isHeadAlone {
            session.send(data, on: stream)
            if isLast {
                session.finish(stream, trailers: trailers, neverIndexed: neverIndexed)
            }
        }
        // What is large had better go before more of it comes.
        if stream.unsentCount > Self.unsentBytesMax { client.pump() } else { client.wake() }
        return true
    }

    override func sendOwnResponse() -> Bool {
        let text = worker.output.mutableBytes
        let end = Self.endOfHead(UnsafeRawBufferPointer(text))
        let body = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[end...])
        session.sendHead(
            UnsafeMutableRawBufferPointer(rebasing: text[..<end]), on: stream,
            endsStream: body.isEmpty)
        if !body.isEmpty {
            session.send(body, on: stream)
            session.finish(stream, trailers: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        client.wake()
        return true
    }

    /// The offset behind the empty line; no head of ours lacks one.
    private static func endOfHead(_ text: UnsafeRawBufferPointer) -> Int {
        var offset = 3
        while offset < text.count {
            if text[offset] == ASCII.lineFeed, text[offset - 2] == ASCII.lineFeed {
                return offset + 1
            }
            offset += 1
        }
        return text.count
    }

    /// The client has taken what it was sent.
    func drained() {
        if isOver { return }
        if isTunnel { tunnelFlushed() } else { upstream?.startReading() }
    }

    override func cutOff() {
        session.reset(stream, .internalError)
        client.wake()
        finish(closes: false)
    }

    override func finished(closes: Bool) {
        letGo()
        session.consume(inbox.count, of: stream)
        inbox = ByteBuffer()
        session.stopRequest(stream)
        client.keep(self)
    }

    // MARK: Ends

    /// The stream and this end their hold on each other; what still comes is for nobody.
    private func letGo() {
        isOver = true
        stream.owner = nil
    }

    /// The client has reset the stream, or closed its connection, or both sides are done.
    func streamClosed() {
        guard !isOver else { return }
        abandon()
    }

    override func clientGone() {
        letGo()
        inbox = ByteBuffer()
        // A tunnel that has ended on both sides closes by itself.
        if !hasEndedTunnel || !hasEnded { session.reset(stream, .cancel) }
        client.wake()
    }

    // MARK: A tunnel

    /// Bytes of a tunnel that are read no further than the upstream takes them.
    private func receiveForTunnel(_ bytes: UnsafeRawBufferPointer, endsStream: Bool) {
        if endsStream { hasEnded = true }
        unconsumed += bytes.count
        guard isTunnel else { return inbox.append(bytes) }
        takeForTunnel(bytes)
        giveWindow()
        if hasEnded && isTunnel { tunnelEnded() }
    }

    private func giveWindow() {
        guard readsTunnel, unconsumed > 0 else { return }
        session.consume(unconsumed, of: stream)
        unconsumed = 0
        client.wake()
    }

    override func sendToTunnel(_ bytes: UnsafeRawBufferPointer, hasHead: Bool) -> Bool {
        if hasHead {
            session.sendHead(worker.output.mutableBytes, on: stream, endsStream: false)
        }
        session.send(bytes, on: stream)
        if stream.unsentCount > Self.unsentBytesMax { client.pump() } else { client.wake() }
        return true
    }

    override func takeEarlyBytes() {
        var early = ByteBuffer()
        swap(&early, &inbox)
        if !early.isEmpty { takeForTunnel(early.bytes) }
        giveWindow()
    }

    override func readClient(_ reads: Bool) {
        readsTunnel = reads
        giveWindow()
    }

    override func endClient() {
        guard !hasEndedTunnel else { return }
        hasEndedTunnel = true
        session.finish(stream, trailers: UnsafeRawBufferPointer(start: nil, count: 0))
        client.wake()
    }

    override func resetClient() {
        letGo()
        session.reset(stream, .cancel)
        client.wake()
    }

    /// The handshake of WebSocket over HTTP/2 has no key, that of HTTP/1 needs one (RFC 8441 section 5;
    /// RFC 6455 section 4.1). Nobody relies on it here: the client has asked in HTTP/2.
    static func completeHandshake(_ text: UnsafeRawBufferPointer, into whole: inout ByteBuffer) {
        whole.append(UnsafeRawBufferPointer(rebasing: text[..<(text.count - 2)]))
        whole.append("sec-websocket-key: ")
        whole.append(text: Base64.encode(RandomBytes.make(16), .standard))
        whole.append("\r\n\r\n")
    }
}
