// The life of one request and its response, as decisions. It is told what happened and answers what to
// do; it holds no bytes, no connection and no clock. ClientExchange performs what it says.
//
// The rules that it keeps: a request is replayed at most once for a rejected credential, at most once with
// another proof, and re-sent at most once for a dead connection; a request that may have been processed is
// never sent twice unless
// its method is idempotent (RFC 9110 section 9.2.2); nothing is re-sent once a byte of a response has
// gone to the client; a credential that is known to have expired is never sent.

import HTTPWire
import Vocabulary

/// One request's state. Small and copied freely; a connection reuses it.
struct Exchange {
    /// What a route has to offer when a request is to be sent.
    enum Offer: Equatable {
        /// The route has no credential, or the client's own is kept.
        case noneNeeded
        case usable(Generation)
        /// There is none, or it has expired; the generation is that of the last one seen.
        case missing(Generation)
    }

    /// What a response says of the credential that its request carried.
    enum Verdict: Equatable {
        /// Nothing that sending the request again could change.
        case final
        /// The same credential with another proof may do (RFC 9449 section 9).
        case wantsOtherProof
        /// A newer credential may do.
        case rejected
        /// Not for the client to see.
        case unwanted
    }

    enum Action: Equatable {
        /// Wait for a credential newer than that; ask the control plane unless it was asked already.
        case awaitCredential(newerThan: Generation)
        /// Get a connection; one that was used before only where allowed.
        case connect(mayReuse: Bool)
        /// Send the head, the credential and what there is of the body.
        case send
        /// Pass the response on.
        case relay
        /// Pass the response on although sending the request again might have done: its body is gone.
        case relayUnreplayed
        /// The same, and have a newer credential made for the requests to come.
        case relayAndReport(Generation)
        /// Throw the response away and wait for a credential newer than that.
        case discardAndAwait(newerThan: Generation)
        /// Throw the response away and send the request again with what there is now.
        case discardAndResend(mayReuse: Bool)
        /// Answer the client ourselves.
        case fail(Failure)
        /// The response has begun and cannot be finished: cut the connection, so that the client
        /// sees that it is incomplete.
        case cutOff
    }

    /// What goes wrong with credentials, or on the way to or from an upstream.
    enum Failure: Equatable {
        /// Every credential that came had expired when it came.
        case credentialsUnusable
        case connectionLost
        /// The upstream ended TLS with this alert before it had answered anything on the connection. In TLS 1.3 it
        /// says so when the handshake is over here (RFC 8446 section 4.4.2.4).
        case refusedTLS(alert: UInt8)
        case responseMalformed
        /// The route's configuration wants no more to be said of the response.
        case responseUnwanted
        /// The upstream takes no more of a request that is not out yet.
        case requestNotTaken
        case responseTimedOut
    }

    /// How often an upstream may refuse a request without having looked at it.
    static let refusalsMax = 5

    /// How many credentials in a row may turn out to have expired before the exchange gives up.
    static let waitsMax = 3

    private enum State {
        case idle
        case awaitingCredential(rejected: Generation)
        case connecting
        /// Sent; the response's head has not come.
        case awaitingHead(Attempt)
        case relaying
    }

    private struct Attempt {
        let generation: Generation?
        let isReused: Bool
    }

    private var state = State.idle
    private var isIdempotent = false
    /// Whether the request was sent again after its credential had been rejected.
    private(set) var hasReplayed = false
    private var hasProvenAgain = false
    private var hasReconnected = false
    private var refusals = 0
    private var waits = 0

    /// Whether a request is under way.
    var isActive: Bool {
        if case .idle = state { false } else { true }
    }

    /// Whether the response's head has gone to the client.
    var isRelaying: Bool {
        if case .relaying = state { true } else { false }
    }

    /// Whether a connection holds this request and its body may go there.
    var isSent: Bool {
        switch state {
        case .awaitingHead, .relaying: true
        case .idle, .awaitingCredential, .connecting: false
        }
    }

    /// The generation that the request was sent with, until its response's head has come.
    var sentGeneration: Generation? {
        if case .awaitingHead(let attempt) = state { attempt.generation } else { nil }
    }

    /// The generation that must be exceeded, while it waits for a credential.
    var awaitedGeneration: Generation? {
        if case .awaitingCredential(let rejected) = state { rejected } else { nil }
    }

    /// A request's head was accepted.
    mutating func begin(_ method: Method, _ offer: Offer) -> Action {
        isIdempotent = method.isIdempotent
        hasReplayed = false
        hasProvenAgain = false
        hasReconnected = false
        refusals = 0
        waits = 0
        return proceed(with: offer)
    }

    /// A credential newer than the awaited one was installed.
    mutating func credentialArrived(_ offer: Offer) -> Action {
        guard case .awaitingCredential = state else {
            preconditionFailure("only a waiting exchange is told of a credential")
        }
        return proceed(with: offer)
    }

    private mutating func proceed(with offer: Offer) -> Action {
        switch offer {
        case .noneNeeded, .usable:
            state = .connecting
            // A second attempt because of a dead connection must not meet another one.
            return .connect(mayReuse: !hasReconnected)
        case .missing(let generation):
            waits += 1
            guard waits <= Self.waitsMax else { return .fail(.credentialsUnusable) }
            state = .awaitingCredential(rejected: generation)
            return .awaitCredential(newerThan: generation)
        }
    }

    /// A connection is there. The offer is looked at again, since dialling takes time; on any answer but
    /// `send` the connection is not needed now.
    mutating func connected(isReused: Bool, _ offer: Offer) -> Action {
        guard case .connecting = state else {
            preconditionFailure("only a connecting exchange is given a connection")
        }
        switch offer {
        case .noneNeeded:
            state = .awaitingHead(Attempt(generation: nil, isReused: isReused))
            return .send
        case .usable(let generation):
            state = .awaitingHead(Attempt(generation: generation, isReused: isReused))
            return .send
        case .missing:
            return proceed(with: offer)
        }
    }

    /// The final response's head has come.
    ///
    /// - Parameter isBodyHeld: every byte of the request's body so far is still there to be sent again.
    mutating func headArrived(_ verdict: Verdict, isBodyHeld: Bool) -> Action {
        guard case .awaitingHead(let attempt) = state else {
            preconditionFailure("a response belongs to a request that was sent")
        }
        guard verdict != .final, let generation = attempt.generation else {
            state = .relaying
            return .relay
        }
        switch verdict {
        case .unwanted: return .fail(.responseUnwanted)
        case .wantsOtherProof where hasProvenAgain, .rejected where hasReplayed:
            // The second refusal of a kind is the client's to see: what made it is neither the proof's
            // nonce nor the credential's age.
            state = .relaying
            return .relay
        case .wantsOtherProof:
            guard isBodyHeld else {
                state = .relaying
                return .relayUnreplayed
            }
            hasProvenAgain = true
            state = .connecting
            return .discardAndResend(mayReuse: !hasReconnected)
        case .rejected, .final:
            guard isBodyHeld else {
                state = .relaying
                return .relayAndReport(generation)
            }
            hasReplayed = true
            state = .awaitingCredential(rejected: generation)
            return .discardAndAwait(newerThan: generation)
        }
    }

    /// The connection broke, or the response cannot be read.
    ///
    /// - Parameters:
    ///   - nothingSent: no byte of the request can have reached the upstream.
    ///   - isUnanswered: no byte of a response has come.
    ///   - wasRefused: the upstream says that it has done nothing for the request and will do so on
    ///     another connection, or later on this one (RFC 9113 section 8.7).
    mutating func connectionLost(
        nothingSent: Bool, isUnanswered: Bool, wasRefused: Bool = false, isBodyHeld: Bool,
        failure: Failure
    ) -> Action {
        switch state {
        case .awaitingHead(let attempt):
            if wasRefused, failure == .connectionLost, isBodyHeld, refusals < Self.refusalsMax {
                refusals += 1
                state = .connecting
                return .connect(mayReuse: true)
            }
            let isSafe = nothingSent || (isIdempotent && isUnanswered)
            guard failure == .connectionLost, attempt.isReused, isSafe, isBodyHeld, !hasReconnected
            else { return .fail(failure) }
            hasReconnected = true
            state = .connecting
            return .connect(mayReuse: false)
        case .relaying: return .cutOff
        case .idle, .awaitingCredential, .connecting:
            preconditionFailure("only an exchange that holds a connection can lose it")
        }
    }

    /// Request and response are done, or the exchange was answered by ourselves.
    mutating func finish() { state = .idle }
}
