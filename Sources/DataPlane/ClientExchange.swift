// One request of a client's and its response, whatever protocol the client speaks: access, route, credential,
// upstream, replay. It performs what Exchange decides and leaves to a subclass how bytes reach the client and
// come from it.
//
// What it holds is bounded: a head and a body kept for a replay, by their limits.

import Bytes
import HTTP2Wire
import HTTPWire
import Reactor
import Routing
import Vocabulary

/// The client's side of an exchange. A subclass knows the client's protocol; it may use one object for
/// request after request.
class ClientExchange: Timed {
    let worker: Worker
    /// The rules of the listener that the client came through.
    let rules: ListenerRules
    /// Its dial slot while it waits for a connection.
    var dialSlot: Int?

    var exchange = Exchange()
    var record = RequestRecord()
    var held = HeldBody()
    /// What HeldBody holds, as counted against the worker's budget.
    var reserved = 0
    /// Since when it waits for a credential; 0 while it does not.
    var parkedAt: UInt64 = 0
    /// Since when it waits for a connection; 0 while it does not.
    var connectAt: UInt64 = 0

    /// Whether the client has sent its request to the end.
    var isRequestWhole = true
    var isContinued = false
    /// Whether all of the request has been given to the upstream connection.
    var isRequestSent = false
    /// How the response's body goes to the client.
    var clientFraming = BodyFraming.none
    var closesAfterResponse = false
    /// Whether the worker's output buffer holds this response's head.
    var hasUnsentHead = false

    /// Whether the upstream has agreed to another protocol.
    var isTunnel = false

    /// Whether it waits for a stream of a connection that others use as well.
    var isQueued = false

    /// What has the request; it detaches itself before it ends.
    var upstream: UpstreamLink?

    init(_ worker: Worker, _ rules: ListenerRules) {
        self.worker = worker
        self.rules = rules
        super.init(on: worker.loop)
    }

    var method: Method { record.method }

    override func deadlinePassed(_ kind: DeadlineKind) {
        switch kind {
        case .credentialWait: answer(.credentialTimeout)
        case .expectContinue: sendContinue()
        case .tunnelIdle, .tunnelHalfClosed: breakTunnel()
        case .streamWait: answer(.tooManyWaiting)
        case .clientBody: bodyIsLate()
        default: preconditionFailure("an exchange arms no other deadline")
        }
    }

    /// Whether the request can only be sent in HTTP/1: it asks for another protocol, the upstream wants it so, or
    /// what it authenticates by holds for a whole connection, which others share in HTTP/2.
    var needsHTTP1: Bool {
        !record.upgrade.isEmpty || record.requiresHTTP1 || record.bindsConnection
    }

    // MARK: What the client's protocol answers

    /// The trailer section of the request, as lines; good once the request is whole.
    var requestTrailers: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: nil, count: 0) }

    /// Fields of the request that no compression table may keep.
    var neverIndexed: NeverIndexed { NeverIndexed() }

    /// Whether the client may stop in the middle of its body for as long as it likes, as in calls that stream both
    /// ways.
    var mayPause: Bool { false }

    /// A body of this framing follows; `isRequestWhole` is true behind it where there is none.
    func startBody(_ framing: BodyFraming) { preconditionFailure("a subclass knows the protocol") }

    /// Goes on with what the client sent and could not be taken before.
    func resumeInput() { preconditionFailure("a subclass knows the protocol") }

    /// Whether the client has taken all that it was sent.
    var isClientFlushed: Bool { preconditionFailure("a subclass knows the protocol") }

    /// Whether the client has closed its sending side.
    var hasClientEnded: Bool { preconditionFailure("a subclass knows the protocol") }

    /// Whether the request is for another protocol and means nothing without it.
    var needsUpgrade: Bool { false }

    /// Whether the client's connection must end with the response.
    var endsConnection: Bool { preconditionFailure("a subclass knows the protocol") }

    /// The client's address without brackets; "unknown" where it has none.
    var clientAddress: String { preconditionFailure("a subclass knows the protocol") }

    /// What the protocol asks of a response's head.
    func terms(closes: Bool) -> ClientTerms { preconditionFailure("a subclass knows the protocol") }

    /// Sends the interim response that is in the worker's output buffer.
    func sendInterim() { preconditionFailure("a subclass knows the protocol") }

    /// Sends a piece of the response, and the head that is in the output buffer before it. False when the
    /// client has gone.
    func sendResponse(
        _ data: UnsafeRawBufferPointer, hasHead: Bool, isLast: Bool,
        trailers: UnsafeRawBufferPointer
    ) -> Bool { preconditionFailure("a subclass knows the protocol") }

    /// Sends the whole response of ours that is in the output buffer. False when the client has gone.
    func sendOwnResponse() -> Bool { preconditionFailure("a subclass knows the protocol") }

    /// The response has begun and will not be finished; the client must notice.
    func cutOff() { preconditionFailure("a subclass knows the protocol") }

    /// The exchange is over.
    func finished(closes: Bool) { preconditionFailure("a subclass knows the protocol") }

    /// The client is to be let go, since it has gone by itself.
    func clientGone() { preconditionFailure("a subclass knows the protocol") }

    /// Keeps a connection that is good for this client only; false where that cannot be.
    func holdConnection(_ connection: UpstreamConnection) -> Bool { false }

    /// The connection kept so, no longer kept.
    @discardableResult
    func dropConnection() -> UpstreamConnection? { nil }

    // In a tunnel.

    /// Sends bytes as they are, and the head that is in the output buffer before them. False when the
    /// client has gone.
    func sendToTunnel(_ bytes: UnsafeRawBufferPointer, hasHead: Bool) -> Bool {
        preconditionFailure("a subclass knows the protocol")
    }

    /// Hands what the client sent behind its head to `takeForTunnel`, and reads on.
    func takeEarlyBytes() { preconditionFailure("a subclass knows the protocol") }

    /// Reads from the client, or does not for a while.
    func readClient(_ reads: Bool) { preconditionFailure("a subclass knows the protocol") }

    /// Ends what is sent to the client, once it has all.
    func endClient() { preconditionFailure("a subclass knows the protocol") }

    /// Lets the client go in a way that it cannot take for an orderly end.
    func resetClient() { preconditionFailure("a subclass knows the protocol") }

    // MARK: Ends

    /// The client has gone: nothing is done for it any longer. A refresh that it caused goes on.
    func abandon() {
        leaveQueues()
        disarm()
        if record.status > 0 { record.cut = .byClient }
        worker.requestEnded(&record)
        isTunnel = false
        upstream?.abandon()
        upstream = nil
        giveBackReserved()
        clientGone()
    }

    /// Nobody is to call back for the exchange under way.
    func leaveQueues() {
        endParking()
        endConnecting()
        if exchange.awaitedGeneration != nil { worker.unpark(self) }
        if let slot = dialSlot { worker.forgetDial(slot) }
        dialSlot = nil
        if isQueued { worker.multiplexed.forget(self, record.upstream) }
        isQueued = false
    }

    func finishExchange() {
        leaveQueues()
        disarm()
        exchange.finish()
        worker.requestEnded(&record)
        held.reset()
        giveBackReserved()
        record.release(to: &worker.blocks)
        hasUnsentHead = false
    }

    func finish(closes: Bool) {
        finishExchange()
        finished(closes: closes)
    }
}
