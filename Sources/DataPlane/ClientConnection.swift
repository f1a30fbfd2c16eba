// One client's connection: it reads requests, one after the other, and performs what Exchange decides for
// the one under way. Requests that come while one is under way wait, so answers keep their order.
//
// What it holds is bounded: a head and a body kept for a replay by their limits, bytes that cannot be
// taken yet by one read of the socket, and what the client does not read by one read of the upstream.

import Bytes
import Crossing
import HTTPWire
import Reactor
import Routing
import Vocabulary

/// A client connection and its one exchange at a time.
final class ClientConnection: ByteStream {
    enum Phase {
        /// Between requests, or in the middle of a head.
        case head
        /// In the middle of a request's body.
        case body
        /// The request is whole and its response is not.
        case answering
        /// The last response is out; what still comes is read and dropped, since closing with unread
        /// bytes would reset the connection and could take the response with it (RFC 9112 section 9.6).
        case lingering
    }

    let worker: Worker
    /// The rules of the listener that it came through.
    let rules: ListenerRules
    /// Its place in the worker's list of clients.
    var place = 0
    /// Its dial slot while it waits for a connection.
    var dialSlot: Int?

    var phase = Phase.head
    var exchange = Exchange()
    var parser: HeadParser
    var reader = BodyReader()
    /// Bytes that cannot be taken yet.
    var inbox = ByteBuffer()
    private var isConsuming = false
    private var isHeadTimed = false
    /// Whether no request has come through it yet.
    private var isFresh = true

    // The request under way.
    var record = RequestRecord()
    var held = HeldBody()
    /// What HeldBody holds, as counted against the worker's budget.
    var reserved = 0
    var parkedAt: UInt64 = 0

    // Its response.
    var clientFraming = BodyFraming.none
    var closesAfterResponse = false
    var isContinued = false
    /// Whether all of the request has been given to the upstream connection.
    var isRequestSent = false
    /// Whether the worker's output buffer holds this response's head.
    var hasUnsentHead = false

    /// The connection that has the request; it detaches itself before it closes.
    var upstream: UpstreamConnection?

    init(_ worker: Worker, _ rules: ListenerRules) {
        self.worker = worker
        self.rules = rules
        parser = HeadParser(limits: worker.settings.requestLimits)
        super.init(on: worker.loop)
    }

    var method: Method { record.method }

    /// The connection is accepted.
    func start() {
        arm(.clientIdle)
        startReading()
    }

    // MARK: Bytes from the client

    /// More than this is not held for requests that have to wait.
    private static let inboxBytesMax = 64 * 1024

    override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
        if phase == .lingering { return }
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
        guard !isConsuming, !isClosing else { return }
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
            case .answering: return offset
            case .lingering: return bytes.count
            }
            if used == 0 { return offset }
            offset += used
        }
        return offset
    }

    private func takeHead(_ bytes: UnsafeRawBufferPointer) -> Int {
        do throws(WireError) {
            guard try parser.request(in: bytes, into: &worker.requestHead) == .complete else {
                if !isHeadTimed {
                    isHeadTimed = true
                    arm(.clientHead)
                }
                return 0
            }
        } catch {
            record.beginUnreadable()
            answer(.badRequest(error), closes: true)
            return bytes.count
        }
        parser.reset()
        isFresh = false
        isHeadTimed = false
        disarm()
        let length = worker.requestHead.length
        begin(UnsafeRawBufferPointer(rebasing: bytes[..<length]))
        return length
    }

    // MARK: Ends and failures

    override func didEnd() {
        switch phase {
        case .head:
            // Whole requests that wait to be taken are still answered.
            if inbox.isEmpty || isFlushed { close() }
        case .body: abandon()
        case .answering: break
        case .lingering: if isFlushed { close() }
        }
    }

    override func didFail(_ error: ReactorError) { abandon() }

    override func didFlush() {
        if phase == .lingering {
            hasEnded ? close() : arm(.linger)
            return
        }
        upstream?.startReading()
        consumeInbox()
    }

    override func deadlinePassed(_ kind: DeadlineKind) {
        switch kind {
        case .credentialWait: answer(.credentialTimeout)
        case .expectContinue: sendContinue()
        case .clientHead, .clientIdle, .linger: close()
        default: preconditionFailure("a client connection arms no other deadline")
        }
    }

    /// The client has gone: nothing is done for it any longer. A refresh that it caused goes on.
    func abandon() {
        leaveQueues()
        upstream?.abandon()
        upstream = nil
        close()
    }

    /// Nobody is to call back for the exchange under way.
    func leaveQueues() {
        if exchange.awaitedGeneration != nil { worker.unpark(self) }
        if let slot = dialSlot { worker.forgetDial(slot) }
        dialSlot = nil
    }

    /// Between requests a connection ends at once when the worker drains: but not one whose request
    /// has come already, unseen yet, nor a fresh one where such are still taken.
    func closeIfIdle() {
        guard phase == .head, inbox.isEmpty, isFlushed else { return }
        let isWelcome = isFresh && worker.settings.acceptsWhileDraining
        if !isWelcome, !hasUnreadInput { close() }
    }

    override func didClose() { worker.clientClosed(self) }

    /// Ends the connection after the last response, in a way that lets the client read it.
    func linger() {
        phase = .lingering
        inbox = ByteBuffer()
        disarm()
        if hasFailedWriting { return close() }
        end()
        startReading()
        if isFlushed {
            hasEnded ? close() : arm(.linger)
        }
    }
}
