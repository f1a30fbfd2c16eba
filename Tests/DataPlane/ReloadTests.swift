// What a change of the route table may do to requests that are under way: nothing.

import Crossing
import DataPlane
import HTTP2Wire
import Routing
import Support
import Testing
import Vocabulary

@Suite struct `A new table` {
    @Test func `leaves a waiting request with the upstream of its own route`() throws {
        let first = try FakeUpstream { try $0.serve { _ in .ok("first") } }
        let second = try FakeUpstream { try $0.serve { _ in .ok("second") } }
        let plane = try TestPlane(upstream: first.url, token: nil) { _, _ in }
        let client = try plane.client()
        try client.send(client.request())
        try waited(for: "the question", within: .seconds(10)) {
            plane.needs.count == 1 ? () : nil
        }
        var spec = RouteSpec(upstream: try UpstreamURL(second.url))
        spec.credential = RouteCredential(slot: CredentialSlot(0))
        try plane.reconfigure([spec])
        plane.give("token-2", 2)
        #expect(try client.stream.readResponse(to: "GET").body == "first")
        #expect(second.connectionCount == 0)
        // The next request is routed anew.
        #expect(try client.exchange().body == "second")
    }

    private func route(to upstream: FakeUpstream) throws -> RouteSpec {
        var spec = RouteSpec(upstream: try UpstreamURL(upstream.url))
        spec.credential = RouteCredential(slot: CredentialSlot(0))
        return spec
    }

    @Test func `goes on with pooled connections to upstreams that are the same`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.exchange()
        var spec = try route(to: upstream)
        spec.setFields = [("X-New", "1")]
        try plane.reconfigure([spec])
        #expect(try client.exchange().status == 200)
        #expect(upstream.connectionCount == 1)
        #expect(upstream.requests[1].values("X-New") == ["1"])
    }

    @Test func `comes with rules that open connections meet with their next request`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        #expect(try client.exchange().status == 200)
        try plane.reconfigure(
            [try route(to: upstream)], requiring: RequiredField(name: "X-Local", value: "1"))
        #expect(try client.exchange().status == 403)
        #expect(try client.exchange("GET", "/", fields: [("X-Local", "1")]).status == 200)
    }

    @Test func `without a listener lets its connections end with what they are at`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                if request.path == "/slow" { try gate.pass() }
                return .ok("done")
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let (busy, idle) = (try plane.client(), try plane.client())
        let multiplexed = try HTTP2Peer.client(to: plane.port)
        try idle.exchange()
        try busy.send(busy.request("GET", "/slow"))
        let stream = multiplexed.request(
            "GET", "/slow", authority: "127.0.0.1:\(plane.port)")
        try multiplexed.flush()
        try gate.waitForArrivals(2)
        try plane.reconfigure([try route(to: upstream)], listeners: [])
        #expect(throws: (any Error).self) { try plane.client().exchange() }
        #expect(try idle.stream.waitForEnd(within: .seconds(5)) == .closed)
        gate.open()
        let answer = try busy.stream.readResponse(to: "GET")
        #expect(answer.body == "done")
        #expect(answer.value("Connection") == "close")
        try multiplexed.run { multiplexed[stream.id].isWhole }
        #expect(multiplexed[stream.id].body == "done")
        #expect(try multiplexed.stream.waitForEnd() == .closed)
    }
}
