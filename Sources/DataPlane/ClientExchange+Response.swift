// The client's side of a response: the upstream's, passed on as it comes, or one of our own.

import Bytes
import Crossing
import HTTPWire
import Reactor
import Routing
import Vocabulary

extension ClientExchange {
    // MARK: The upstream's response

    /// An interim response (RFC 9110 section 15.2). A client of HTTP/1.0 knows none, and one that has
    /// begun its body needs no 100.
    func relayInterim(_ bytes: UnsafeRawBufferPointer) {
        let isContinue = worker.responseHead.status == 100
        guard record.minorVersion > 0, !(isContinue && (isContinued || !record.expectsContinue)),
            let plan = record.plan
        else { return }
        if isContinue {
            isContinued = true
            disarm()
            timeBody()
        }
        worker.output.removeAll()
        _ = plan.writeResponse(
            worker.responseHead, bytes, framing: .none, client: terms(closes: false),
            into: &worker.output)
        worker.output.append("\r\n")
        sendInterim()
    }

    /// The upstream has not said whether it wants the body; the client has waited long enough.
    func sendContinue() {
        guard !isContinued else { return }
        isContinued = true
        timeBody()
        worker.output.removeAll()
        worker.output.append("HTTP/1.1 100 Continue\r\n\r\n")
        sendInterim()
    }

    /// The final head has come; the body follows by `relayBody`, unless the response is not wanted.
    func headArrived(_ bytes: UnsafeRawBufferPointer, framing: BodyFraming) {
        disarm()
        record.headAt = loop.now
        if record.isProven { worker.keepNonce(bytes, of: record) }
        // In HTTP/2 any 2xx says that the protocol is spoken from here on (RFC 8441 section 5), and a page is none.
        if needsUpgrade && (200..<300).contains(worker.responseHead.status) {
            return answer(.upgradeRefused)
        }
        // Only refusals are looked at closely, and heads that are all there is: gRPC refuses by one.
        let mayRefuse = worker.responseHead.status >= 400 || framing == .length(0)
        let verdict =
            mayRefuse && record.credential != nil
            ? worker.judge(bytes, record, exchange) : .final
        let action = exchange.headArrived(verdict, isBodyHeld: held.isWhole)
        switch action {
        case .relay: relayHead(bytes, framing)
        case .relayUnreplayed: relayHead(bytes, framing, isUnreplayed: true)
        case .relayAndReport(let generation):
            if let slot = record.credential { worker.ask(slot, newerThan: generation) }
            relayHead(bytes, framing, isUnreplayed: true)
        case .discardAndAwait(let generation):
            discard()
            perform(.awaitCredential(newerThan: generation))
        case .discardAndResend(let mayReuse):
            discard()
            perform(.connect(mayReuse: mayReuse))
        case .fail(let failure): fail(failure)
        case .awaitCredential, .connect, .send, .cutOff:
            preconditionFailure("a response's head leads to no such action")
        }
    }

    private func discard() {
        worker.tally.replayed(record.row)
        record.headAt = 0
        upstream?.discardResponse()
        upstream = nil
    }

    /// - Parameter isUnreplayed: a rejection that a replay might have cured, had the body been kept;
    ///   the client is told, since sending the request again is worth its while.
    private func relayHead(
        _ bytes: UnsafeRawBufferPointer, _ framing: BodyFraming, isUnreplayed: Bool = false
    ) {
        guard let plan = record.plan else { preconditionFailure("a sent request has a plan") }
        let closes = endsConnection
        worker.output.removeAll()
        clientFraming = plan.writeResponse(
            worker.responseHead, bytes, framing: framing, client: responseTerms(closes: closes),
            into: &worker.output)
        if plan.hasFixedCookie(worker.responseHead, bytes, isSecure: rules.isSecure) {
            worker.noteFixedCookie()
        }
        if worker.responseHead.status == 101 {
            worker.output.append("Connection: Upgrade\r\nUpgrade: ")
            worker.output.append(record.upgrade)
            worker.output.append("\r\n")
        }
        if isUnreplayed {
            worker.output.append("Proxy-Status: credential-proxy; details=\"not_replayed\"\r\n")
        }
        worker.output.append("\r\n")
        closesAfterResponse = closes || clientFraming == .untilClose
        record.status = worker.responseHead.status
        hasUnsentHead = true
    }

    /// What the client's protocol asks for, and what holds for every protocol.
    private func responseTerms(closes: Bool) -> ClientTerms {
        var terms = terms(closes: closes)
        terms.isSecure = rules.isSecure
        terms.origin = record.origin
        return terms
    }

    /// Passes on what one read of the upstream brought of the body, at once, and the head before it.
    func relayBody(
        _ data: UnsafeRawBufferPointer, isLast: Bool, trailers: UnsafeRawBufferPointer
    ) {
        let hasHead = hasUnsentHead
        hasUnsentHead = false
        record.bytesRelayed &+= data.count
        var trailers = trailers
        if !trailers.isEmpty, let plan = record.plan {
            worker.trailers.removeAll()
            plan.writeResponseTrailers(trailers, into: &worker.trailers)
            trailers = worker.trailers.bytes
        }
        if !sendResponse(data, hasHead: hasHead, isLast: isLast, trailers: trailers) { abandon() }
    }

    /// The response is whole and the upstream connection is no longer ours.
    func responseDone() {
        upstream = nil
        finish(closes: closesAfterResponse || !isRequestWhole)
    }

    /// The upstream connection broke; it is closed already.
    func upstreamLost(
        nothingSent: Bool, isUnanswered: Bool, wasRefused: Bool = false,
        _ failure: Exchange.Failure
    ) {
        upstream = nil
        disarm()
        if hasUnsentHead {
            // The head came with what broke: nothing has gone out, so the truth can still be told.
            return fail(failure)
        }
        perform(
            exchange.connectionLost(
                nothingSent: nothingSent, isUnanswered: isUnanswered, wasRefused: wasRefused,
                isBodyHeld: held.isWhole, failure: failure))
    }

    // MARK: Our own responses

    /// The head in the worker's table is an allowed origin's preflight.
    func answerPreflight(_ bytes: UnsafeRawBufferPointer) {
        let closes = endsConnection
        worker.output.removeAll()
        PageAccess.writePreflightAnswer(
            worker.requestHead, bytes, closes: closes, into: &worker.output)
        sendEmpty("preflight", closes: closes)
    }

    /// OPTIONS that was to come no further than here (RFC 9110 section 7.6.2).
    func answerOptions() {
        let closes = endsConnection
        worker.output.removeAll()
        HeadWriter.appendStatusLine(204, into: &worker.output)
        worker.output.append("Allow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n")
        if closes { HeadWriter.appendField("Connection", "close", into: &worker.output) }
        worker.output.append("\r\n")
        sendEmpty("max_forwards", closes: closes)
    }

    private func sendEmpty(_ code: StaticString, closes: Bool) {
        record.status = 204
        record.ownCode = code
        guard sendOwnResponse() else { return abandon() }
        finish(closes: closes)
    }

    func fail(_ failure: Exchange.Failure) {
        switch failure {
        case .credentialsUnusable: answer(.credentialTimeout)
        case .refusedTLS(let alert): answer(.upstreamRefusedTLS(alert: alert))
        case .connectionLost: answer(.upstreamClosed)
        case .responseMalformed: answer(.upstreamMalformed)
        case .responseUnwanted: answer(.upstreamRefused)
        case .requestNotTaken: answer(.upstreamRequestTimeout)
        case .responseTimedOut: answer(.upstreamResponseTimeout)
        }
    }

    /// Answers the request under way ourselves. Nothing of a response may have gone out yet.
    func answer(_ reply: LocalReply, closes: Bool = false) {
        leaveQueues()
        upstream?.abandon()
        upstream = nil
        let closes = closes || endsConnection
        worker.output.removeAll()
        let text = reply.text
        text.write(
            closes: closes, omitsBody: record.method == .head, isPage: record.isForPage,
            origin: record.origin, into: &worker.output)
        record.status = text.status
        record.ownCode = text.code
        guard sendOwnResponse() else { return abandon() }
        finish(closes: closes)
    }
}
