// The meaning of libcurl's codes, also of those that no script provokes. They are numbers here, as
// libcurl-errors(3) lists them.

import CCurl
import Testing
import Vocabulary

@testable import Fetch

@Suite(.serialized) struct `Failure table` {
    private func failure(
        _ code: UInt32, hasBegun: Bool = false, proxy: String? = nil, connectStatus: Int = 0,
        systemError: Int32 = 0
    ) -> TransferFailure {
        TransferFailure(
            code: CURLcode(rawValue: code), hasBegun: hasBegun, host: "h", proxy: proxy,
            connectStatus: connectStatus, systemError: systemError, reason: "why")
    }

    @Test func `of descriptors that have run out blames nobody else`() {
        var failure = failure(7, proxy: "http://proxy:3128")
        failure.lacksDescriptor = true
        #expect(
            failure.dialFailure
                == .other("this proxy has no free file descriptor (ulimit -n)"))
        guard case .other(_, let reason) = failure.fetchError else {
            Issue.record("\(failure.fetchError)")
            return
        }
        #expect(reason.contains("ulimit -n"))
    }

    /// Whatever goes wrong before the request begins cannot have been acted on.
    @Test(
        arguments: [
            (6, .nameNotResolved(host: "h")), (7, .connectionRefused(host: "h")),
            (28, .timedOut(mayHaveArrived: false)), (35, .tlsFailed(host: "h", reason: "why")),
            (52, .brokenOff(mayHaveArrived: false)), (55, .brokenOff(mayHaveArrived: false)),
            (56, .brokenOff(mayHaveArrived: false)), (58, .tlsFailed(host: "h", reason: "why")),
            (60, .tlsFailed(host: "h", reason: "why")), (77, .tlsFailed(host: "h", reason: "why")),
            (1, .invalidURL), (3, .invalidURL),
        ] as [(UInt32, FetchError)])
    func `before the request`(code: UInt32, expected: FetchError) {
        let error = failure(code).fetchError
        #expect(error == expected)
        #expect(!error.mayHaveArrived)
    }

    /// And nothing that goes wrong afterwards can be known not to have arrived.
    @Test(
        arguments: [
            (1, .notHTTP), (8, .notHTTP), (18, .brokenOff(mayHaveArrived: true)),
            (28, .timedOut(mayHaveArrived: true)), (35, .brokenOff(mayHaveArrived: true)),
            (52, .brokenOff(mayHaveArrived: true)), (55, .brokenOff(mayHaveArrived: true)),
            (56, .brokenOff(mayHaveArrived: true)), (27, .other(code: 27, reason: "why")),
            (92, .other(code: 92, reason: "why")),
        ] as [(UInt32, FetchError)])
    func `after it began`(code: UInt32, expected: FetchError) {
        for proxy in [nil, "http://p:1"] {
            let error = failure(code, hasBegun: true, proxy: proxy).fetchError
            #expect(error == expected)
            #expect(error.mayHaveArrived)
        }
    }

    @Test(
        arguments: [
            (5, 0, "the name of http://p:1 cannot be resolved"),
            (7, 0, "cannot connect to http://p:1"), (97, 0, "http://p:1: why"),
            (56, 407, "http://p:1 wants another user and password"),
            (56, 503, "http://p:1 answered CONNECT with 503"), (56, 200, "http://p:1 broke off"),
            (52, 0, "http://p:1 broke off"), (55, 0, "http://p:1 broke off"),
        ] as [(UInt32, Int, String)])
    func `the proxy's own`(code: UInt32, status: Int, reason: String) {
        let failure = failure(code, proxy: "http://p:1", connectStatus: status)
        #expect(failure.fetchError == .forwardProxyFailed(reason: reason))
        #expect(failure.dialFailure == .forwardProxy(reason))
        #expect(!failure.fetchError.mayHaveArrived)
    }

    @Test func `behind the proxy the fault is another's`() {
        let behind = failure(60, proxy: "http://p:1", connectStatus: 200)
        #expect(behind.fetchError == .tlsFailed(host: "h", reason: "why"))
        // A SOCKS proxy that leaves names to us.
        #expect(failure(6, proxy: "socks5://p:1").dialFailure == .nameNotResolved)
    }

    @Test(
        arguments: [
            (6, 0, .nameNotResolved), (7, 111, .refused), (28, 0, .timedOut),
            (7, 113, .other("No route to host")), (7, 0, .other("why")), (27, 0, .other("why")),
        ] as [(UInt32, Int32, DialFailure)])
    func `of a dial`(code: UInt32, systemError: Int32, expected: DialFailure) {
        #expect(failure(code, systemError: systemError).dialFailure == expected)
    }
}
