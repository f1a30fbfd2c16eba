import HTTPWire
import Testing
import Vocabulary

@testable import DataPlane

private let first = Generation(1)
private let second = Generation(2)

/// An exchange that has been sent with the first credential.
private func sent(
    _ method: HTTPWire.Method = .get, isReused: Bool = true
) -> Exchange {
    var exchange = Exchange()
    #expect(exchange.begin(method, .usable(first)) == .connect(mayReuse: true))
    #expect(exchange.connected(isReused: isReused, .usable(first)) == .send)
    return exchange
}

@Suite struct `An exchange` {
    @Test func `with a usable credential goes straight through`() {
        var exchange = sent()
        #expect(exchange.isSent)
        #expect(exchange.headArrived(.final, isBodyHeld: true) == .relay)
        #expect(exchange.isRelaying)
        exchange.finish()
        #expect(!exchange.isActive)
    }

    @Test func `without a credential waits and sends nothing`() {
        var exchange = Exchange()
        #expect(
            exchange.begin(.get, .missing(.none)) == .awaitCredential(newerThan: .none))
        #expect(!exchange.isSent)
        #expect(exchange.awaitedGeneration == Generation.none)
        #expect(exchange.credentialArrived(.usable(first)) == .connect(mayReuse: true))
    }

    @Test func `whose credential expired while it dialled does not send it`() {
        var exchange = Exchange()
        _ = exchange.begin(.get, .usable(first))
        #expect(
            exchange.connected(isReused: false, .missing(first))
                == .awaitCredential(newerThan: first))
        #expect(!exchange.isSent)
    }

    @Test func `gives up on credentials that are stale when they come`() {
        var exchange = Exchange()
        #expect(exchange.begin(.get, .missing(.none)) == .awaitCredential(newerThan: .none))
        #expect(exchange.credentialArrived(.missing(first)) == .awaitCredential(newerThan: first))
        #expect(exchange.credentialArrived(.missing(second)) == .awaitCredential(newerThan: second))
        #expect(exchange.credentialArrived(.missing(Generation(3))) == .fail(.credentialsUnusable))
    }

    @Test func `that needs none is never asked for one`() {
        var exchange = Exchange()
        #expect(exchange.begin(.get, .noneNeeded) == .connect(mayReuse: true))
        #expect(exchange.connected(isReused: true, .noneNeeded) == .send)
        #expect(exchange.headArrived(.rejected, isBodyHeld: true) == .relay)
    }
}

@Suite struct `A 401` {
    @Test func `is replayed once, with whatever method`() {
        for method in HTTPWire.Method.allCases {
            var exchange = sent(method)
            #expect(
                exchange.headArrived(.rejected, isBodyHeld: true)
                    == .discardAndAwait(newerThan: first))
            #expect(exchange.credentialArrived(.usable(second)) == .connect(mayReuse: true))
            #expect(exchange.connected(isReused: true, .usable(second)) == .send)
            #expect(exchange.headArrived(.rejected, isBodyHeld: true) == .relay)
        }
    }

    @Test func `that wants another proof is answered once, beside the replay for the credential`() {
        var exchange = sent()
        #expect(
            exchange.headArrived(.wantsOtherProof, isBodyHeld: true)
                == .discardAndResend(mayReuse: true))
        #expect(!exchange.isSent)
        #expect(exchange.connected(isReused: true, .usable(first)) == .send)
        #expect(
            exchange.headArrived(.rejected, isBodyHeld: true)
                == .discardAndAwait(newerThan: first))
        #expect(exchange.credentialArrived(.usable(second)) == .connect(mayReuse: true))
        #expect(exchange.connected(isReused: true, .usable(second)) == .send)
        #expect(exchange.headArrived(.wantsOtherProof, isBodyHeld: true) == .relay)
    }

    @Test func `that wants another proof is passed on when the body is gone`() {
        var exchange = sent(.post)
        #expect(exchange.headArrived(.wantsOtherProof, isBodyHeld: false) == .relayUnreplayed)
    }

    @Test func `is passed on and reported when the body is gone`() {
        var exchange = sent(.post)
        #expect(
            exchange.headArrived(.rejected, isBodyHeld: false)
                == .relayAndReport(first))
    }
}

@Suite struct `A lost connection` {
    /// Method, reused, nothing sent, unanswered, body held: whether it is tried again.
    @Test(arguments: [
        (HTTPWire.Method.get, true, false, true, true, true),
        (.put, true, false, true, true, true),
        (.delete, true, false, true, true, true),
        // What was never read cannot have been done.
        (.post, true, true, true, true, true),
        (.patch, true, true, true, true, true),
        // What may have been done is never done twice.
        (.post, true, false, true, true, false),
        (.patch, true, false, true, true, false),
        (.other, true, false, true, true, false),
        // A byte of an answer came: it was processed.
        (.get, true, false, false, true, false),
        // A new connection that fails says something about the upstream.
        (.get, false, false, true, true, false),
        (.get, true, false, true, false, false),
    ])
    func `is replaced only where that is safe`(
        method: HTTPWire.Method, isReused: Bool, nothingSent: Bool, isUnanswered: Bool,
        isBodyHeld: Bool, isRetried: Bool
    ) {
        var exchange = sent(method, isReused: isReused)
        let action = exchange.connectionLost(
            nothingSent: nothingSent, isUnanswered: isUnanswered, isBodyHeld: isBodyHeld,
            failure: .connectionLost)
        #expect(action == (isRetried ? .connect(mayReuse: false) : .fail(.connectionLost)))
    }

    @Test func `is replaced only once`() {
        var exchange = sent()
        let lose: (inout Exchange) -> Exchange.Action = {
            $0.connectionLost(
                nothingSent: false, isUnanswered: true, isBodyHeld: true, failure: .connectionLost)
        }
        #expect(lose(&exchange) == .connect(mayReuse: false))
        #expect(exchange.connected(isReused: true, .usable(first)) == .send)
        #expect(lose(&exchange) == .fail(.connectionLost))
    }

    @Test func `after the head has gone out cuts the client off`() {
        var exchange = sent()
        _ = exchange.headArrived(.final, isBodyHeld: true)
        #expect(
            exchange.connectionLost(
                nothingSent: false, isUnanswered: false, isBodyHeld: true, failure: .connectionLost)
                == .cutOff)
    }

    @Test(arguments: [Exchange.Failure.responseMalformed, .responseTimedOut])
    func `for another reason than an old connection is not repeated`(failure: Exchange.Failure) {
        var exchange = sent()
        #expect(
            exchange.connectionLost(
                nothingSent: false, isUnanswered: true, isBodyHeld: true, failure: failure)
                == .fail(failure))
    }
}
