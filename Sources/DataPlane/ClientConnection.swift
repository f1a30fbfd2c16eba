// One client's connection. In HTTP/1 it takes requests off its bytes, one after the other; requests that come
// while one is under way wait, so answers keep their order. What becomes of a request is HTTP1Exchange's.
// A client that begins with the preface of HTTP/2, or agrees on it by ALPN, is HTTP2Client's.
//
// Bytes that cannot be taken yet are bounded by one read of the socket, and what the client does not read by
// one read of the upstream.

import Bytes
import Crossing
import Crypto
import HTTP2Wire
import HTTPWire
import Reactor
import Routing
import Vocabulary

/// A client's connection and its one exchange at a time.
final class ClientConnection: ByteStream {
    enum Phase {
        /// Between requests, or in the middle of a head.
        case head
        /// In the middle of a request's body.
        case body
        /// The request is whole and its response is not.
        case answering
        /// The upstream has agreed to another protocol; bytes pass as they come.
        case tunnel
        /// The last response is out; what still comes is read and dropped, since closing with unread
        /// bytes would reset the connection and could take the response with it (RFC 9112 section 9.6).
        case lingering
    }

    let worker: Worker
    /// The rules of the listener that it came through.
    let rules: ListenerRules
    /// Its place in the worker's list of clients.
    var place = 0

    private(set) var phase = Phase.head
    private var parser: HeadParser
    /// Bytes that cannot be taken yet.
    private var inbox = ByteBuffer()
    private var isConsuming = false
    private var isHeadTimed = false
    private var lingersSince: UInt64 = 0
    /// Made for the first request.
    private var http1: HTTP1Exchange?
    private var http2: HTTP2Client?
    /// The client has not shown yet what it speaks.
    private var isUndecided = true

    init(_ worker: Worker, _ rules: ListenerRules) {
        self.worker = worker
        self.rules = rules
        parser = HeadParser(limits: worker.settings.requestLimits)
        super.init(on: worker.loop)
    }

    /// The connection is accepted.
    func start() {
        guard let identity = rules.identity else { return begin() }
        arm(.clientHandshake)
        secure(with: TLSConnection(server: identity.context))
    }

    /// It may have agreed on HTTP/2 (RFC 9113 section 3.2).
    override func didSecure() {
        begin()
        if negotiatedProtocol == "h2" { startHTTP2() }
    }

    private func begin() {
        rest()
        startReading()
    }

    /// Waits for a request: the next, or the last one.
    private func rest() {
        // Beside an application that still calls, one that has not asked yet has all the time there is.
        let isWelcome =
            !rules.isRetired && http1 == nil && worker.settings.acceptsWhileDraining
        arm(isLeaving && !isWelcome ? .lastRequest : .clientIdle)
    }

    // MARK: Bytes from the client

    /// More than this is not held for requests that have to wait.
    private static let inboxBytesMax = 64 * 1024

    private func startHTTP2() {
        isUndecided = false
        isHeadTimed = false
        disarm()
        http2 = HTTP2Client(self)
    }

    /// Whether the first bytes are the preface of HTTP/2, which then takes them; nil when too few came.
    private func isHTTP2(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        guard let isPreface = ServerSession.isPreface(bytes) else { return nil }
        isUndecided = false
        guard isPreface else { return false }
        startHTTP2()
        http2?.receive(bytes)
        return true
    }

    override func willWait() {
        if let http2 { http2.turnEnds() } else { http1?.turnEnds() }
    }

    override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
        if let http2 {
            phase == .lingering ? lingerOn() : http2.receive(UnsafeRawBufferPointer(bytes))
            return
        }
        if phase == .lingering { return lingerOn() }
        if phase == .tunnel { return exchange().takeForTunnel(UnsafeRawBufferPointer(bytes)) }
        guard inbox.isEmpty, !isConsuming else {
            inbox.append(UnsafeRawBufferPointer(bytes))
            consumeInbox()
            return
        }
        let used = consume(bytes)
        if used < bytes.count, !isClosing, phase != .lingering {
            inbox.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        }
        adjustReading()
    }

    /// Goes on with what could not be taken before.
    func consumeInbox() {
        guard !isConsuming, !isClosing, phase != .tunnel else { return }
        if !inbox.isEmpty {
            // The bytes must stay where they are while they are looked at.
            var bytes = ByteBuffer()
            swap(&bytes, &inbox)
            let used = consume(bytes.mutableBytes)
            if isClosing || phase == .lingering { return }
            bytes.consume(used)
            if !bytes.isEmpty { swap(&bytes, &inbox) }
        }
        if hasEnded && phase == .head && isFlushed { return close() }
        adjustReading()
    }

    /// Reads on unless what is held is enough.
    private func adjustReading() {
        guard !isClosing else { return }
        let isFull = phase == .body ? !inbox.isEmpty : inbox.count > Self.inboxBytesMax
        if isFull && !(phase == .head && isFlushed) { stopReading() } else { startReading() }
    }

    /// Takes as much as can be taken now and answers how much that was.
    private func consume(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        isConsuming = true
        defer { isConsuming = false }
        var offset = 0
        while offset < bytes.count && !isClosing {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
            let used: Int
            switch phase {
            case .head:
                // A client that sends and never reads must not make us hold its answers.
                guard isFlushed else { return offset }
                used = takeHead(UnsafeRawBufferPointer(rest))
            case .body: used = takeBody(rest)
            case .answering, .tunnel: return offset
            case .lingering: return bytes.count
            }
            if used == 0 { return offset }
            offset += used
        }
        return offset
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        if isUndecided {
            guard let isHTTP2 = isHTTP2(bytes) else {
                timeHead()
                return 0
            }
            if isHTTP2 { return bytes.count }
        }
        do throws(WireError) {
            guard try parser.request(in: bytes, into: &worker.requestHead) == .complete else {
                timeHead()
                return 0
            }
        } catch {
            phase = .answering
            exchange().refuse(error)
            return bytes.count
        }
        parser.reset()
        isHeadTimed = false
        disarm()
        let length = worker.requestHead.length
        // The answer may be there when the call returns, and with it the next phase.
        phase = .body
        let exchange = exchange()
        exchange.begin(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        if phase == .body && exchange.isRequestWhole { phase = .answering }
        return length
    }

    private func timeHead() {
        guard !isHeadTimed else { return }
        isHeadTimed = true
        arm(.clientHead)
    }

    private func takeBody(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        let exchange = exchange()
        let used = exchange.takeBody(bytes)
        if phase == .body && exchange.isRequestWhole { phase = .answering }
        return used
    }

    private func exchange() -> HTTP1Exchange {
        if let http1 { return http1 }
        let exchange = HTTP1Exchange(self)
        http1 = exchange
        return exchange
    }

    /// From here on all bytes are for the tunnel, those that wait first.
    func enterTunnel() {
        phase = .tunnel
        var early = ByteBuffer()
        swap(&early, &inbox)
        startReading()
        if !early.isEmpty { exchange().takeForTunnel(early.bytes) }
    }

    /// The response is out, or never will be.
    func exchangeFinished(closes: Bool) {
        if closes || isClosing || hasFailedWriting { return mayCloseAtOnce ? close() : linger() }
        phase = .head
        rest()
        // Within `consume` the loop there goes on by itself.
        consumeInbox()
    }

    /// The last request was taken whole and its answer is with the kernel: nothing can come that would reset the
    /// connection.
    private var mayCloseAtOnce: Bool {
        http1?.isLastRequest == true && inbox.isEmpty && isFlushed && !isClosing
            && !hasFailedWriting && http1?.isRequestWhole == true && !hasUnreadBytes
    }

    // MARK: Ends and failures

    override func didEnd() {
        if let http2, phase != .lingering { return http2.clientEnded() }
        switch phase {
        case .head:
            // Whole requests that wait to be taken are still answered.
            if inbox.isEmpty || isFlushed { close() }
        case .body: abandon()
        case .answering: break
        case .tunnel: exchange().tunnelEnded()
        case .lingering: if isFlushed { close() }
        }
    }

    override func didFail(_ error: ReactorError) { abandon() }

    override func didLosePeer() { abandon() }

    override func didFlush() {
        if phase == .tunnel { return exchange().tunnelFlushed() }
        if let http2, phase != .lingering { return http2.pump() }
        if phase == .lingering {
            hasEnded ? close() : arm(.linger)
            return
        }
        http1?.upstream?.startReading()
        consumeInbox()
    }

    override func deadlinePassed(_ kind: DeadlineKind) {
        switch kind {
        case .clientHandshake, .linger: close()
        case .clientHead, .clientIdle:
            if let http2 { http2.expire() } else { close() }
        case .lastRequest:
            if let http2 { return http2.leaveNow() }
            // One that has come already, unseen yet, is answered.
            hasUnreadInput ? arm(.lastRequest) : close()
        default: preconditionFailure("a client connection arms no other deadline")
        }
    }

    /// The client has gone.
    func abandon() {
        if let http2 { return http2.abandon() }
        if let http1 { http1.abandon() } else { close() }
    }

    /// Whether the connection is to end: with the answer under way, or soon where there is none.
    var isLeaving: Bool { worker.isDraining || rules.isRetired }

    /// The connection is to end now that it `isLeaving`. A client may have sent a request already that is
    /// not seen yet, so an idle connection has a moment.
    func leave() {
        if let http2 { return http2.leave() }
        if phase == .head, inbox.isEmpty, isFlushed { rest() }
    }

    override func didClose() {
        http1?.dropConnection()?.close()
        worker.clientClosed(self)
    }

    /// The last frame is out.
    func finishMultiplexed() {
        if phase != .lingering { linger() }
    }

    /// Ends the connection after the last response, in a way that lets the client read it.
    func linger() {
        phase = .lingering
        lingersSince = loop.now
        inbox = ByteBuffer()
        disarm()
        if hasFailedWriting { return close() }
        end()
        startReading()
        if isFlushed {
            hasEnded ? close() : arm(.linger)
        }
    }

    /// One that still sends has not looked at the answer yet.
    private func lingerOn() {
        if isFlushed, loop.now &- lingersSince < worker.settings.lingerTotal { arm(.linger) }
    }
}
