// What a change of the route table may do to requests that are under way: nothing.

import Crossing
import DataPlane
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
        plane.post(.install(try RouteTable([spec])))
        plane.give("token-2", 2)
        #expect(try client.stream.readResponse(to: "GET").body == "first")
        #expect(second.connectionCount == 0)
        // The next request is routed anew.
        #expect(try client.exchange().body == "second")
    }
}
