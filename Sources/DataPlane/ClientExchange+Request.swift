// The client's side of a request: who may, where to, with what, and the body on its way. The rules are
// asked in one order: access, route, the route's own rules, and only then a credential or a connection.

import Bytes
import Crossing
import HTTP2Wire
import HTTPWire
import Reactor
import Routing
import Vocabulary

extension ClientExchange {
    // MARK: Beginning

    /// The head in `bytes` was parsed into the worker's table.
    func begin(_ bytes: UnsafeRawBufferPointer) {
        record.begin(
            worker.requestHead, bytes, id: worker.tally.begin(), now: loop.now)
        isRequestWhole = true
        held.reset()
        isContinued = false
        isRequestSent = false
        let framing: BodyFraming
        let target: RequestTarget
        do throws(WireError) {
            target = try worker.requestHead.requestTarget(in: bytes)
            framing = try worker.requestHead.requestFraming(in: bytes)
        } catch {
            return answer(.badRequest(error), closes: true)
        }
        startBody(framing)

        let terms = rules.terms
        if let refusal = terms.access.judge(worker.requestHead, target, bytes) {
            return refuse(.access(refusal), target, bytes)
        }
        if PageAccess.isPreflight(worker.requestHead) {
            record.noteRefused(worker.requestHead, target, bytes)
            return answerPreflight(bytes)
        }
        if worker.requestHead.forwardsLeft(in: bytes) == 0 {
            record.noteRefused(worker.requestHead, target, bytes)
            return answerOptions()
        }
        let installed = terms.installed
        guard
            let index = installed.table.match(
                worker.requestHead, target, bytes, listener: terms.number)
        else {
            return refuse(.routeNotFound, target, bytes)
        }
        record.row = installed.rows[index]
        let route = installed.table.routes[index]
        let plan = route.plan
        var slot = route.credential
        switch plan.judge(worker.requestHead, target, bytes) {
        case .refuse(let refusal): return refuse(.access(refusal), target, bytes)
        case .forward(let withCredential): if !withCredential { slot = nil }
        }
        var upgrade: ByteRange?
        switch plan.upgrade(worker.requestHead, bytes) {
        case .none where needsUpgrade:
            return refuse(.access(.upgradeNotAllowed), target, bytes)
        case .none: break
        // A body before the switch would have to be sent before the upstream could agree.
        case .pass(let name) where isRequestWhole: upgrade = name
        case .pass, .refuse: return refuse(.access(.upgradeNotAllowed), target, bytes)
        }
        record.write(
            worker.requestHead, target, bytes, framing: framing, installed: installed,
            upstream: route.upstream, plan: plan, credential: slot, upgrade: upgrade,
            caller: plan.tellsCaller
                ? Caller(address: clientAddress, isSecure: rules.isSecure) : nil,
            block: worker.blocks.take())
        perform(exchange.begin(record.method, worker.offer(slot)))
    }

    /// Answers a request that goes nowhere, while its head is still there for the log.
    private func refuse(
        _ reply: LocalReply, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) {
        record.noteRefused(worker.requestHead, target, bytes)
        answer(reply)
    }

    func perform(_ action: Exchange.Action) {
        switch action {
        case .awaitCredential(let generation): park(newerThan: generation)
        case .connect(let mayReuse): connect(mayReuse: mayReuse)
        case .send: sendRequest()
        case .fail(let failure): fail(failure)
        case .cutOff:
            record.cut = .byUpstream
            cutOff()
        case .relay, .relayUnreplayed, .relayAndReport, .discardAndAwait, .discardAndResend:
            preconditionFailure("only a response's head leads to this")
        }
    }

    // MARK: Waiting for a credential

    private func park(newerThan generation: Generation) {
        guard let slot = record.credential else {
            preconditionFailure("only an exchange with a credential waits for one")
        }
        parkedAt = loop.now
        worker.tally.parked(record.row)
        guard worker.park(self, slot, newerThan: generation) else {
            return answer(.tooManyWaiting)
        }
        if exchange.awaitedGeneration != nil { arm(.credentialWait) }
    }

    /// How long a client that has closed its sending side may have waited and still be believed to
    /// listen: a half-closed client and one that has given up look the same.
    private static let halfClosedPatience: UInt64 = 5000

    /// A newer credential was installed.
    func credentialArrived() {
        disarm()
        let waited = loop.now &- parkedAt
        endParking()
        if hasClientEnded && waited > Self.halfClosedPatience { return abandon() }
        perform(exchange.credentialArrived(worker.offer(record.credential)))
    }

    /// It waits for no credential any longer.
    func endParking() {
        guard parkedAt > 0 else { return }
        record.parkedMilliseconds &+= loop.now &- parkedAt
        parkedAt = 0
    }

    /// There will be none.
    func credentialRefused(_ refusal: Refusal) {
        disarm()
        answer(.credential(refusal))
    }

    // MARK: Getting a connection

    private func connect(mayReuse: Bool) {
        guard let table = record.installed else {
            preconditionFailure("only a routed request is connected")
        }
        if connectAt == 0 { connectAt = loop.now }
        worker.noteSleep()
        if let connection = takeBound(mayReuse, of: table) {
            return connected(.connection(connection), isReused: true)
        }
        switch worker.way(to: record.upstream, of: table, for: self, mayReuse: mayReuse) {
        case .stream(let shared): return connected(.stream(shared.makeStream()), isReused: true)
        case .wait, .dial:
            isQueued = true
            arm(.streamWait)
            return
        case .full: return answer(.tooManyWaiting)
        case .none: break
        }
        if mayReuse,
            let connection = worker.lease(record.upstream, of: table, record.method.isIdempotent)
        {
            return connected(.connection(connection), isReused: true)
        }
        guard worker.dial(record.upstream, of: table, for: self) else {
            return answer(.tooManyWaiting)
        }
    }

    /// The connection that was kept for this client, if it leads where the request goes.
    private func takeBound(_ mayReuse: Bool, of table: InstalledTable) -> UpstreamConnection? {
        guard let connection = dropConnection() else { return nil }
        guard mayReuse, connection.upstream == record.upstream, connection.epoch == table.epoch,
            connection.openedAt >= worker.sleep.noticedAt, !worker.isTooOld(connection),
            record.method.isIdempotent || !connection.hasUnreadInput
        else {
            connection.close()
            return nil
        }
        if record.method.isIdempotent { connection.noteLeasedUnseen() }
        return connection
    }

    /// The connection that was waited for will not be shared: it must be got alone.
    func connectAlone() {
        isQueued = false
        disarm()
        connect(mayReuse: false)
    }

    /// It waits for no connection any longer.
    func endConnecting() {
        guard connectAt > 0 else { return }
        record.connectMilliseconds &+= loop.now &- connectAt
        connectAt = 0
    }

    func connected(_ link: UpstreamLink, isReused: Bool) {
        endConnecting()
        dialSlot = nil
        if isQueued {
            isQueued = false
            disarm()
        }
        let action = exchange.connected(
            isReused: isReused, worker.offer(record.credential))
        guard action == .send else {
            if case .connection(let connection) = link { worker.giveBack(connection) }
            return perform(action)
        }
        upstream = link
        perform(action)
        // What had nowhere to go has now.
        resumeInput()
    }

    func connectFailed(_ reply: LocalReply) {
        dialSlot = nil
        isQueued = false
        answer(reply)
    }

    // MARK: Sending

    /// Small bodies are copied behind the head, which is cheaper than a write with many pieces.
    private static let copiedBytesMax = 4096

    private func sendRequest() {
        guard let upstream else { preconditionFailure("sending needs a connection") }
        held.rewind()
        isRequestSent = false
        record.sentAt = loop.now
        upstream.begin(for: self)
        worker.output.removeAll()
        if let slot = record.credential, let plan = record.plan, plan.injectsIntoTarget {
            appendHead(plan, withParameter: slot)
        } else {
            worker.output.append(record.head)
            worker.writeCredential(for: &record)
        }
        worker.output.append("\r\n")
        if record.expectsContinue && !isContinued && !isRequestWhole && held.count == 0 {
            arm(.expectContinue)
        } else {
            timeBody()
        }
        sendBody(behindHead: true, UnsafeRawBufferPointer(start: nil, count: 0))
    }

    /// The head with the credential in its target.
    private func appendHead(_ plan: HeaderPlan, withParameter slot: CredentialSlot) {
        guard let parts = plan.split(record.head) else { return worker.output.append(record.head) }
        worker.output.append(parts.before)
        if let separator = parts.separator { worker.output.append(separator) }
        worker.credentials.withLine(slot) { worker.output.append($0) }
        worker.output.append(parts.behind)
    }

    /// Sends the head that is in `output`, what is held and not sent, and `data` behind it, with the
    /// framing of the record.
    private func sendBody(behindHead: Bool = false, _ data: UnsafeRawBufferPointer) {
        guard let upstream else { return }
        let isLast = isRequestWhole && !isRequestSent
        let outcome: SendOutcome
        switch upstream {
        case .connection(let connection):
            outcome = send(data, on: connection, behindHead: behindHead, isLast: isLast)
        case .stream(let stream):
            outcome = stream.send(
                head: behindHead ? worker.output.mutableBytes : nil,
                secretsFrom: record.head.count, neverIndexedUpstream, held.unsent, data,
                isLast: isLast, trailers: keptTrailers())
        }
        held.markSent()
        if isLast { isRequestSent = true }
        upstream.requestSent(isWhole: isRequestSent && record.isBodyWhole)
        switch outcome {
        case .sent, .waiting: break
        case .failed(let nothingSent):
            // An answer may have come before the connection broke; it is read first, unless not even
            // the head has left. Then it can only be the refusal of a handshake.
            if behindHead && nothingSent && !upstream.mayHaveBeenRefused {
                upstream.abandon()
                upstreamLost(nothingSent: true, isUnanswered: true, .connectionLost)
            }
        }
    }

    /// What the client has marked so, and a target that has the credential in it.
    private var neverIndexedUpstream: NeverIndexed {
        var fields = neverIndexed
        if record.credential != nil, let plan = record.plan, plan.injectsIntoTarget {
            fields.path = true
        }
        return fields
    }

    /// The same in HTTP/1.
    private func send(
        _ data: UnsafeRawBufferPointer, on connection: UpstreamConnection, behindHead: Bool,
        isLast: Bool
    ) -> SendOutcome {
        let unsent = held.unsent
        let count = unsent.count + data.count
        let isChunked = record.framing == .chunked
        if !behindHead { worker.output.removeAll() }
        worker.tail.removeAll()
        if isChunked && count > 0 {
            HeadWriter.appendChunkHead(size: count, into: &worker.output)
            worker.tail.append("\r\n")
        }
        if isChunked && isLast {
            HeadWriter.appendLastChunk(trailers: keptTrailers(), into: &worker.tail)
        }
        if count + worker.tail.count <= Self.copiedBytesMax {
            worker.output.append(unsent)
            worker.output.append(data)
            worker.output.append(worker.tail.bytes)
            connection.gather(worker.output.bytes)
        } else {
            connection.gather(worker.output.bytes)
            connection.gather(unsent)
            connection.gather(data)
            connection.gather(worker.tail.bytes)
        }
        return connection.send()
    }

    /// What the route lets through of the request's trailers.
    private func keptTrailers() -> UnsafeRawBufferPointer {
        let lines = requestTrailers
        guard !lines.isEmpty, let plan = record.plan else { return lines }
        worker.trailers.removeAll()
        plan.writeRequestTrailers(lines, into: &worker.trailers)
        return worker.trailers.bytes
    }

    // MARK: The body

    /// Whether that much of the body has somewhere to go.
    func canTakeBody(_ count: Int) -> Bool {
        if held.isWhole && worker.budget.fits(count, holding: held.count) { return true }
        guard exchange.isSent, let upstream else { return false }
        // A connection that takes no more will answer or fail; the body is dropped meanwhile.
        return upstream.isFlushed || upstream.hasFailedWriting
    }

    /// Passes a piece of the body on, its last one when the request is whole.
    func forward(_ data: UnsafeRawBufferPointer) {
        record.bytesTaken &+= data.count
        timeBody()
        if held.isWhole && worker.budget.reserve(data.count, holding: held.count) {
            reserved += data.count
            held.append(data)
            if exchange.isSent, let upstream, upstream.isFlushed {
                sendBody(UnsafeRawBufferPointer(start: nil, count: 0))
            }
            return
        }
        sendBody(data)
        if held.isWhole {
            held.release()
            giveBackReserved()
        }
    }

    /// The connection has taken what it was given.
    func upstreamFlushed() {
        if isTunnel { return tunnelFlushed() }
        if held.hasUnsent || (isRequestWhole && !isRequestSent) {
            sendBody(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        resumeInput()
    }

    /// Until the answer begins, the client is expected to go on with its body, or with the next piece of it.
    func timeBody() {
        guard exchange.isSent, !exchange.isRelaying, !mayPause else { return }
        if isRequestWhole { disarm() } else { arm(.clientBody) }
    }

    /// The client has sent nothing for too long, or was not read.
    func bodyIsLate() {
        guard exchange.isSent, !exchange.isRelaying, !isRequestWhole else { return }
        // The upstream, or what it waits for, is the one who holds it up.
        guard canTakeBody(1) else { return arm(.clientBody) }
        record.cut = .byClient
        answer(.requestTimeout, closes: true)
    }

    func giveBackReserved() {
        worker.budget.give(back: reserved)
        reserved = 0
    }

    /// What the client sends is no body: the upstream must not take what it has for a whole one.
    func bodyUnreadable(_ error: WireError) {
        upstream?.abandon()
        upstream = nil
        if exchange.isRelaying {
            record.cut = .byClient
            cutOff()
        } else {
            answer(.badRequest(error), closes: true)
        }
    }
}
