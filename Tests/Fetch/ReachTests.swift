// Requests that may leave for the public Internet only.

import Bytes
import Fetch
import Support
import Testing
import Vocabulary

@Suite(.serialized) struct `A request for the public only` {
    private func request(_ url: String) -> OutboundRequest {
        var request = OutboundRequest.get(url)
        request.reach = .publicOnly
        return request
    }

    @Test(arguments: ["127.0.0.1", "localhost", "127.1", "0x7f000001", "2130706433"])
    func `is not connected to this machine, however it is written`(host: String) async throws {
        let server = try FakeUpstream(answering: { _ in .ok() })
        let fetcher = CurlFetcher()
        let failure = await fetcher.failure(of: request("http://\(host):\(server.port)/"))
        guard case .notPublic = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.mayHaveArrived == false)
        #expect(server.connectionCount == 0)
        // The same request without the rule gets through: it was the rule that kept it.
        if host == "127.0.0.1" || host == "localhost" {
            let answer = try await fetcher.fetch(.get("http://\(host):\(server.port)/"))
            #expect(answer.status == 200)
        }
    }

    @Test func `is not connected to this machine by IPv6`() async throws {
        let server = try FakeUpstream(host: "::1", answering: { _ in .ok() })
        let failure = await CurlFetcher().failure(of: request("http://[::1]:\(server.port)/"))
        #expect(failure == .notPublic(host: "::1"))
        #expect(server.connectionCount == 0)
    }

    @Test func `goes where a forward proxy takes it`() async throws {
        let server = try FakeUpstream(answering: { _ in .ok("by proxy") })
        let fetcher = CurlFetcher(proxy: try .everything(through: server.url))
        let answer = try await fetcher.fetch(request("http://id.example.com/"))
        #expect(answer.body.octets == "by proxy")
    }
}
