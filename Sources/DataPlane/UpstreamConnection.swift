// One connection to an upstream: it sends what the client's side gives it and reads the response. It knows
// the framing of responses and when it may serve another request, and decides nothing else.

import Bytes
import Crypto
import HTTPWire
import Reactor
import Routing
import Vocabulary

/// A connection that is leased to one client connection at a time, or idle in the pool.
final class UpstreamConnection: ByteStream {
    private enum Phase {
        case securing
        case idle
        /// In HTTP/2, with any number of requests.
        case multiplexed
        case awaitingHead
        case body
        /// It has agreed to another protocol; bytes pass as they come.
        case tunnel
        /// Reading a response that nobody wants, so that the connection can be used again.
        case discarding
    }

    private let worker: Worker
    /// Its place in the worker's table, good while `epoch` is the table's.
    let upstream: Int
    let epoch: Int
    let openedAt: UInt64
    /// Who waits for the response; it detaches itself before it closes.
    private var client: ClientExchange?
    private var phase = Phase.idle
    private var parser: HeadParser
    private var reader = BodyReader(of: .response)
    /// A head that has come in part.
    private var inbox = ByteBuffer()
    private var persists = false
    private var isRequestWhole = false
    /// What had not left when the deadline was armed.
    private var unsentBefore = 0
    private var hasAnswered = false
    /// A client has shown on it who it is, and the upstream may believe that of everything that follows.
    private(set) var isBound = false
    /// For whom alone it is idle then.
    private var holder: ClientExchange?
    /// Whether any request was answered here.
    private var hasServed = false
    /// Of interim heads before this response.
    private var interimBytes = 0
    /// The turn in which it was leased without a look at what had come.
    private var turnOfLease: EventLoop.Turn?
    private var discarded = 0

    /// More than this is not read just to keep a connection.
    private static let discardBytesMax = 64 * 1024

    /// Whether it was dialled for all who wait for a stream.
    let isShared: Bool
    /// HTTP/2 is spoken whatever TLS agrees on.
    private let knowsHTTP2: Bool
    private let isSecure: Bool
    private var http2: HTTP2Upstream?

    init(_ worker: Worker, to upstream: Upstream, _ dial: DialTable.Dial) {
        self.worker = worker
        self.upstream = dial.upstream
        epoch = dial.installed.epoch
        isShared = dial.isShared
        knowsHTTP2 = upstream.http2 == .on && !dial.needsHTTP1
        isSecure = upstream.origin.scheme == .https
        openedAt = worker.loop.now
        parser = HeadParser(limits: worker.settings.responseLimits)
        super.init(on: worker.loop)
        worker.tally.upstreams.opened()
    }

    /// Makes the connection's TLS handshake; the client is told how it ends.
    func secure(with connection: consuming TLSConnection, for client: ClientExchange?) {
        self.client = client
        client?.upstream = .connection(self)
        phase = .securing
        arm(.handshake)
        secure(with: connection)
    }

    override func didSecure() {
        disarm()
        phase = .idle
        let client = client
        self.client = nil
        client?.upstream = nil
        worker.connectionReady(self, for: client)
    }

    // MARK: HTTP/2

    /// Whether the upstream has chosen HTTP/2, or is known to speak it.
    var speaksHTTP2: Bool { knowsHTTP2 || negotiatedProtocol == "h2" }

    /// Speaks HTTP/2 from here on; exchanges get streams.
    func multiplex() -> HTTP2Upstream {
        phase = .multiplexed
        let http2 = HTTP2Upstream(self, worker, isSecure: isSecure)
        self.http2 = http2
        startReading()
        return http2
    }

    override func willWait() { http2?.turnEnds() }

    // MARK: The request

    /// It is leased, and nobody has looked whether it was silent.
    func noteLeasedUnseen() { turnOfLease = loop.turn }

    /// Begins a request for a client; `gather`, `send` and `requestSent` follow.
    func begin(for client: ClientExchange) {
        self.client = client
        holder = nil
        if client.record.bindsConnection { isBound = true }
        phase = .awaitingHead
        parser.reset()
        hasAnswered = false
        interimBytes = 0
        isRequestWhole = false
        startReading()
    }

    /// More of the request was sent, or all of it.
    func requestSent(isWhole: Bool) {
        isRequestWhole = isWhole
        if phase == .awaitingHead { awaitUpstream() }
    }

    /// It is the upstream's turn: to take what was sent, then to answer. Which of the two it is late with shows
    /// when the time is over.
    private func awaitUpstream() {
        unsentBefore = isFlushed ? 0 : unflushedCount
        arm(.response)
    }

    private func responseIsLate() {
        guard isFlushed else {
            // Whoever takes a little in that time is slow and alive.
            return unflushedCount < unsentBefore ? awaitUpstream() : fail(.requestNotTaken)
        }
        // It has all there is: as long as more is to come, it is the client that is waited for.
        if isRequestWhole || hasFailedWriting { fail(.responseTimedOut) }
    }

    /// The client has gone, or answers itself: the upstream need not go on. One that reads no further would not
    /// see an end behind what waits for it, and none must take what it has for the whole.
    func abandon() {
        client = nil
        let isCut =
            switch phase {
            case .awaitingHead, .body: !isRequestWhole || !isFlushed
            case .tunnel: true
            case .securing, .idle, .multiplexed, .discarding: false
            }
        isCut ? reset() : close()
    }

    /// Both sides of the tunnel have ended in good order.
    func finishTunnel() {
        client = nil
        close()
    }

    /// The response is not wanted. The connection is kept if its rest is short.
    func discardResponse() {
        client = nil
        phase = .discarding
        discarded = 0
        if isRequestWhole { arm(.upstreamIdle) } else { close() }
    }

    // MARK: The response

    override func didReceive(_ bytes: UnsafeMutableRawBufferPointer) {
        switch phase {
        case .idle:
            // Nothing was asked: whatever this is, the connection cannot be trusted.
            leaveIdle()
            close()
        case .awaitingHead: receiveHead(bytes)
        case .body, .discarding: receiveBody(bytes)
        case .tunnel: client?.relayThroughTunnel(UnsafeRawBufferPointer(bytes))
        case .multiplexed: http2?.receive(UnsafeRawBufferPointer(bytes))
        case .securing: close()
        }
    }

    private func receiveHead(_ bytes: UnsafeMutableRawBufferPointer) {
        if let turn = turnOfLease {
            turnOfLease = nil
            // What the loop saw together with the request had come before it, and answers nothing: a 408 for an
            // idle connection, or leftovers of the last response.
            if turn == loop.turn { return fail(.connectionLost) }
        }
        hasAnswered = true
        if inbox.isEmpty {
            let used = readHeads(bytes)
            guard phase == .awaitingHead, client != nil, used < bytes.count, !isClosing else {
                return
            }
            inbox.append(UnsafeRawBufferPointer(rebasing: bytes[used...]))
        } else {
            var whole = ByteBuffer()
            swap(&whole, &inbox)
            whole.append(UnsafeRawBufferPointer(bytes))
            let used = readHeads(whole.mutableBytes)
            guard phase == .awaitingHead, client != nil, used < whole.count, !isClosing else {
                return
            }
            whole.consume(used)
            swap(&whole, &inbox)
        }
    }

    /// Reads interim heads, the final one and the body behind it. Answers how many bytes were used; that
    /// means nothing once the response is done, since the connection may serve another by then.
    private func readHeads(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
        var offset = 0
        while let client {
            let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[offset...])
            let head = UnsafeRawBufferPointer(rest)
            let framing: BodyFraming
            do throws(WireError) {
                guard try parser.response(in: head, into: &worker.responseHead) == .complete else {
                    return offset
                }
                parser.reset()
                offset += worker.responseHead.length
                if worker.responseHead.status == 101 {
                    guard client.agreesToSwitch(head) else { throw .invalidStatus }
                    disarm()
                    phase = .tunnel
                    client.headArrived(head, framing: .none)
                    client.beginTunnel(UnsafeRawBufferPointer(rebasing: bytes[offset...]))
                    return bytes.count
                }
                if worker.responseHead.status < 200 {
                    interimBytes += max(
                        worker.responseHead.length, WorkerSettings.interimBytesMin)
                    let limit = worker.settings.responseHeadBytesMax
                    guard interimBytes <= limit else { throw .headTooLarge(limit: limit) }
                    client.relayInterim(head)
                    if !client.isClientFlushed { stopReading() }
                    continue
                }
                framing = try worker.responseHead.responseFraming(in: head, to: client.method)
            } catch {
                fail(.responseMalformed)
                return bytes.count
            }
            disarm()
            persists = worker.responseHead.persists && framing != .untilClose
            reader.start(framing)
            phase = .body
            client.headArrived(head, framing: framing)
            // The client may have let the connection go, or have closed.
            guard !isClosing, phase == .body || phase == .discarding else { return bytes.count }
            receiveBody(UnsafeMutableRawBufferPointer(rebasing: bytes[offset...]))
            return bytes.count
        }
        return offset
    }

    private func receiveBody(_ bytes: UnsafeMutableRawBufferPointer) {
        let step: BodyStep
        do throws(WireError) {
            step = try reader.read(bytes)
        } catch {
            return fail(.responseMalformed)
        }
        let hasLeftover = step.consumed < bytes.count
        guard let client else {
            discarded += bytes.count
            if step.isFinished {
                conclude(hasLeftover: hasLeftover)
            } else if discarded > Self.discardBytesMax {
                close()
            }
            return
        }
        let data = UnsafeRawBufferPointer(rebasing: bytes[step.data])
        client.relayBody(data, isLast: step.isFinished, trailers: reader.trailers.bytes)
        guard !isClosing else { return }
        if step.isFinished {
            conclude(hasLeftover: hasLeftover)
        } else if !client.isClientFlushed {
            stopReading()
        }
    }

    /// The response is whole. The last thing done here, since the connection may be leased again at once.
    private func conclude(hasLeftover: Bool) {
        let client = client
        self.client = nil
        phase = .idle
        hasServed = true
        let isReusable =
            persists && !hasLeftover && isRequestWhole && isFlushed && !hasFailedWriting
            && !hasEnded
        if !isReusable {
            close()
        } else if isBound {
            keep(for: client)
        } else {
            worker.giveBack(self)
        }
        client?.responseDone()
    }

    /// Waits for another request of the same client's, and serves nobody else's.
    private func keep(for client: ClientExchange?) {
        guard let client, client.holdConnection(self) else { return close() }
        holder = client
        rest()
    }

    /// Nothing can be asked here any longer.
    private func leaveIdle() {
        if let holder {
            self.holder = nil
            holder.dropConnection()
        } else {
            worker.pool.remove(self)
        }
    }

    // MARK: Ends and failures

    override func didEnd() {
        switch phase {
        case .idle:
            leaveIdle()
            close()
        case .awaitingHead: fail(.connectionLost)
        case .body:
            do throws(WireError) {
                try reader.end()
            } catch {
                return fail(.connectionLost)
            }
            client?.relayBody(
                UnsafeRawBufferPointer(start: nil, count: 0), isLast: true,
                trailers: UnsafeRawBufferPointer(start: nil, count: 0))
            guard !isClosing else { return }
            conclude(hasLeftover: false)
        case .tunnel: client?.tunnelEnded()
        case .multiplexed: http2?.lose(.connectionLost)
        case .discarding, .securing: fail(.connectionLost)
        }
    }

    /// An answer may be on its way, or wait for the client to take it; what is left of the request is dropped.
    override func didFailWriting(_ error: ReactorError) {
        if let http2 { return http2.writingFailed() }
        switch phase {
        case .awaitingHead, .body: client?.upstreamFlushed()
        case .securing, .idle, .tunnel, .multiplexed, .discarding: didFail(error)
        }
    }

    override func didFail(_ error: ReactorError) {
        if let http2 {
            return http2.lose(refusal(unless: http2.hasServed) ?? .connectionLost)
        }
        if phase == .idle { leaveIdle() }
        fail(refusal(unless: hasServed || hasAnswered) ?? .connectionLost)
    }

    /// Whether the upstream has not shown yet that it takes our side of the TLS handshake.
    var mayHaveBeenRefused: Bool { isSecure && !hasServed && !hasAnswered }

    /// The alert that ended the connection, if it is a refusal of what was said in the handshake.
    private func refusal(unless hasServed: Bool) -> Exchange.Failure? {
        guard case .refusedByPeer(let alert) = tlsFailure, !hasServed else { return nil }
        return .refusedTLS(alert: alert)
    }

    private func fail(_ failure: Exchange.Failure) {
        let client = client
        if phase == .tunnel {
            // Whoever has ended its side in good order need not read what still comes.
            if hasEnded && tlsFailure == nil {
                client?.tunnelFlushed()
            } else {
                client?.breakTunnel()
            }
            return
        }
        let wasSecuring = phase == .securing
        self.client = nil
        close()
        if wasSecuring {
            client?.upstream = nil
            let reply: LocalReply =
                if case .refusedTLS(let alert) = failure { .upstreamRefusedTLS(alert: alert) } else
                {
                    .upstreamTLS(tlsFailure?.reason ?? "the connection broke off")
                }
            worker.connectFailed(self, for: client, reply)
        } else {
            client?.upstreamLost(nothingSent: false, isUnanswered: !hasAnswered, failure)
        }
    }

    override func didClose() { worker.tally.upstreams.closed() }

    override func didFlush() {
        if let http2 { return http2.pump() }
        if phase == .awaitingHead { awaitUpstream() }
        // The handshake's bytes are none of the client's business.
        if phase != .securing { client?.upstreamFlushed() }
    }

    override func deadlinePassed(_ kind: DeadlineKind) {
        switch phase {
        case .idle:
            leaveIdle()
            close()
        case .securing:
            let client = client
            self.client = nil
            client?.upstream = nil
            close()
            worker.connectFailed(self, for: client, .dial(.timedOut))
        case .awaitingHead: responseIsLate()
        case .multiplexed: kind == .upstreamProbe ? http2?.probeFailed() : http2?.close()
        case .body, .discarding, .tunnel: close()
        }
    }

    /// Into the pool: nothing is expected until the next `begin`.
    func rest() {
        turnOfLease = nil
        startReading()
        arm(.upstreamIdle)
    }
}
