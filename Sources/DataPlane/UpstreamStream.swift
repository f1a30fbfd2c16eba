// One request on a connection in HTTP/2 that many share, and its response. A slow client holds back its own
// stream by the stream's window, and no other.

import Bytes
import HTTP2Wire
import HTTPWire
import Reactor

/// A stream to an upstream, then perhaps another to the same.
final class UpstreamStream: Timed {
    /// A cycle while the stream is open: its session is the connection's, and it keeps this object until `end`.
    private let connection: HTTP2Upstream
    private let session: ClientSession
    private let worker: Worker
    /// Who waits for the response; it is let go before this ends.
    private var client: ClientExchange?
    /// Nil until the head is sent.
    private var stream: SessionStream?
    private var isRequestWhole = false
    /// What had not left when the deadline was armed.
    private var unsentBefore = 0
    private var hasAnswered = false
    /// Of interim heads before this response. No window holds them back.
    private var interimBytes = 0
    private var hasHead = false
    /// What the client was given and has not taken.
    private var unconsumed = 0
    private var isOver = false

    /// More than this waits for the upstream only where one piece of a request was larger.
    private static let unsentBytesMax = 64 * 1024

    init(_ connection: HTTP2Upstream) {
        self.connection = connection
        session = connection.session
        worker = connection.worker
        super.init(on: connection.worker.loop)
    }

    /// Begins anew, once it has ended.
    func renew() {
        stream = nil
        isRequestWhole = false
        hasAnswered = false
        interimBytes = 0
        hasHead = false
        unconsumed = 0
        isOver = false
    }

    override func deadlinePassed(_ kind: DeadlineKind) {
        let unsent = stream?.unsentCount ?? 0
        // Whoever takes a little in that time is slow and alive.
        if unsent > 0 && unsent < unsentBefore { return awaitUpstream() }
        // It has all there is: as long as more is to come, it is the client that is waited for.
        if unsent == 0 && !isRequestWhole { return }
        // Whoever does not answer one request may be unable to answer any.
        connection.retire()
        lose(unsent > 0 ? .requestNotTaken : .responseTimedOut, isUnprocessed: false)
    }

    /// It is the upstream's turn: to take what was sent, then to answer.
    private func awaitUpstream() {
        unsentBefore = stream?.unsentCount ?? 0
        arm(.response)
    }

    // MARK: The request

    var isFlushed: Bool { (stream?.unsentCount ?? 0) <= Self.unsentBytesMax }
    var hasFailedWriting: Bool { isOver || stream?.isClosed == true }

    func begin(for client: ClientExchange) {
        self.client = client
    }

    /// Sends pieces of the request, and before them the head where there is one. The credential's lines begin at
    /// `secretsFrom` in it.
    func send(
        head: UnsafeMutableRawBufferPointer?, secretsFrom: Int, _ neverIndexed: NeverIndexed,
        _ held: UnsafeRawBufferPointer, _ data: UnsafeRawBufferPointer, isLast: Bool,
        trailers: UnsafeRawBufferPointer
    ) -> SendOutcome {
        let isHeadAlone = isLast && held.isEmpty && data.isEmpty && trailers.isEmpty
        if let head {
            stream = session.request(
                head, isSecure: connection.isSecure, endsStream: isHeadAlone,
                secretsFrom: secretsFrom, neverIndexed: neverIndexed)
            stream?.owner = self
            if stream != nil { connection.streamBegan() }
        }
        guard let stream, !stream.isClosed else { return .failed(nothingSent: head != nil) }
        if head == nil || !isHeadAlone {
            session.send(held, on: stream)
            session.send(data, on: stream)
            if isLast {
                session.finish(stream, trailers: trailers, neverIndexed: neverIndexed)
            }
        }
        if stream.unsentCount > Self.unsentBytesMax { connection.pump() } else { connection.wake() }
        return isFlushed ? .sent : .waiting
    }

    func requestSent(isWhole: Bool) {
        isRequestWhole = isWhole
        if !hasHead { awaitUpstream() }
    }

    /// The upstream has taken what was sent.
    func drained() {
        guard !isOver else { return }
        if !hasHead { awaitUpstream() }
        client?.upstreamFlushed()
    }

    // MARK: The response

    var neverIndexed: NeverIndexed { stream?.neverIndexed ?? NeverIndexed() }

    func receiveInterim(_ text: UnsafeRawBufferPointer) {
        hasAnswered = true
        guard let client else { return }
        do throws(WireError) {
            try connection.parse(text)
            if worker.responseHead.status == 101 { throw .invalidStatus }
            interimBytes += max(text.count, WorkerSettings.interimBytesMin)
            let limit = worker.settings.responseHeadBytesMax
            guard interimBytes <= limit else { throw .headTooLarge(limit: limit) }
        } catch {
            return lose(.responseMalformed, isUnprocessed: false)
        }
        client.relayInterim(text)
    }

    func receiveHead(_ text: UnsafeRawBufferPointer, endsStream: Bool, _ flaw: WireError?) {
        hasAnswered = true
        guard let client else { return }
        var framing: BodyFraming
        do throws(WireError) {
            if let flaw { throw flaw }
            try connection.parse(text)
            framing = try worker.responseHead.responseFraming(in: text, to: client.method)
        } catch {
            return lose(.responseMalformed, isUnprocessed: false)
        }
        // Without a length the stream's end is the body's.
        if framing == .untilClose { framing = endsStream ? .length(0) : .chunked }
        hasHead = true
        disarm()
        client.headArrived(text, framing: framing)
        receive(UnsafeRawBufferPointer(start: nil, count: 0), endsStream: endsStream)
    }

    func receive(
        _ bytes: UnsafeRawBufferPointer, endsStream: Bool,
        trailers: UnsafeRawBufferPointer = .init(start: nil, count: 0)
    ) {
        guard let client, let stream else { return }
        client.relayBody(bytes, isLast: endsStream, trailers: trailers)
        guard !isOver else { return }
        if client.isClientFlushed {
            session.consume(bytes.count, of: stream)
        } else {
            unconsumed += bytes.count
        }
        if endsStream { conclude() }
    }

    /// The client has taken what it was given.
    func startReading() {
        guard unconsumed > 0, let stream else { return }
        session.consume(unconsumed, of: stream)
        unconsumed = 0
        connection.wake()
    }

    private func conclude() {
        let client = client
        end()
        if !isRequestWhole, let stream {
            // An answer that does not wait for the request's end (RFC 9113 section 8.1).
            session.reset(stream, .cancel)
            connection.wake()
        }
        client?.responseDone()
    }

    // MARK: Ends

    /// The response is not wanted any longer.
    func abandon() {
        guard !isOver else { return }
        end()
        if let stream {
            session.reset(stream, .cancel)
            connection.wake()
        }
    }

    /// The upstream has reset the stream, or the connection is lost.
    ///
    /// - Parameter isUnprocessed: the upstream says that it has done nothing for the request
    ///   (RFC 9113 section 8.7), or has never seen it.
    func lose(_ failure: Exchange.Failure, isUnprocessed: Bool) {
        guard !isOver else { return }
        let client = client
        end()
        if let stream {
            session.reset(stream, .cancel)
            connection.wake()
        }
        client?.upstreamLost(
            nothingSent: isUnprocessed, isUnanswered: !hasAnswered, wasRefused: isUnprocessed,
            failure)
    }

    /// The upstream wants HTTP/1.1 on every connection. What it has begun to answer may still come.
    func refuseHTTP2() {
        guard !hasAnswered else { return }
        client?.record.requiresHTTP1 = true
        lose(.connectionLost, isUnprocessed: true)
    }

    /// The stream is closed on both sides, however that came about.
    func closed(_ code: ErrorCode) {
        // An upstream that wants HTTP/1.1 has not looked at the request.
        if code == .http11Required && !hasAnswered { return refuseHTTP2() }
        // We have ended it, since what came is no message. It is an answer all the same: nothing is asked twice.
        if let stream, stream.isBroken || code == .protocolError && !stream.hasEnded {
            return lose(.responseMalformed, isUnprocessed: false)
        }
        lose(
            .connectionLost, isUnprocessed: code == .refusedStream || stream?.isBegun != true)
    }

    private func end() {
        isOver = true
        client = nil
        stream?.owner = nil
        disarm()
        connection.keep(self)
    }
}
