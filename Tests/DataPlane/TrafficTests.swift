// What a worker counts, against what a client saw.

import Crossing
import DataPlane
import Diagnostics
import HTTP2Wire
import Routing
import Support
import Testing
import Vocabulary

@Suite struct `A worker's report` {
    private func upstream(
        _ respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse
    ) throws -> FakeUpstream { try FakeUpstream { try $0.serve(respond) } }

    @Test func `counts every request once, by who answered what`() throws {
        let upstream = try upstream { request in
            switch request.target {
            case "/404": FakeResponse(404, body: "none")
            case "/503": FakeResponse(503)
            default: .ok(request.body)
            }
        }
        let plane = try TestPlane(upstream: upstream.url, path: "/api")
        let client = try plane.client()
        for _ in 0..<5 {
            #expect(try client.exchange("POST", "/api/x", body: "12345").status == 200)
        }
        #expect(try client.exchange("GET", "/api/404").status == 404)
        #expect(try client.exchange("GET", "/api/503").status == 503)
        #expect(try client.exchange("GET", "/other").status == 404)
        #expect(
            try client.exchange("GET", "/api/x", fields: [("Host", "evil.example")]).status == 421)
        try client.send("NONSENSE\r\n\r\n")
        #expect(try client.stream.readResponse(to: "GET").status == 400)

        let report = try plane.traffic()
        #expect(report.routes.map(\.name) == ["", "/api"])
        #expect(
            report.routes[1].answers == [
                .init(by: .upstream, statusClass: 2): 5, .init(by: .upstream, statusClass: 4): 1,
                .init(by: .upstream, statusClass: 5): 1,
            ])
        #expect(
            report.routes[0].answers == [
                .init(by: .proxy(code: "route_not_found"), statusClass: 4): 1,
                .init(by: .proxy(code: "host_not_allowed"), statusClass: 4): 1,
                .init(by: .proxy(code: "bad_request"), statusClass: 4): 1,
            ])
        #expect(report.routes[1].requestBytes == 25 && report.routes[1].responseBytes == 29)
        #expect(report.routes[1].duration.count == 7 && report.routes[1].upstreamHead.count == 7)
        #expect(report.underWay == 0 && report.parked == 0 && report.workers == 1)
        #expect(report.clients.total == 1)
        #expect(report.upstreams.total == 1 && report.upstreams.open == 1)
        #expect(report.idleUpstreams == 1)
    }

    @Test func `remembers the newest requests, without queries`() throws {
        let upstream = try upstream { _ in .ok("fine") }
        let plane = try TestPlane(upstream: upstream.url, path: "/api")
        let client = try plane.client()
        let long = "/api/" + String(repeating: "x", count: 600)
        _ = try client.exchange("GET", "/api/a?token=canary-query")
        _ = try client.exchange("DELETE", long)
        _ = try client.exchange("GET", "/nowhere?token=canary-query")
        for number in 0..<TrafficReport.recentMax {
            _ = try client.exchange("GET", "/api/\(number)")
        }
        let recent = try plane.traffic().recent
        #expect(recent.count == TrafficReport.recentMax)
        #expect(recent.first?.path == "/api/\(TrafficReport.recentMax - 1)")
        #expect(Set(recent.map(\.id)).count == recent.count)
        #expect(recent.allSatisfy { $0.route == "/api" && $0.method == "GET" && $0.status == 200 })

        let other = try TestPlane(upstream: upstream.url, path: "/api")
        let second = try other.client()
        _ = try second.exchange("GET", "/api/a?token=canary-query")
        _ = try second.exchange("DELETE", long)
        _ = try second.exchange("GET", "/nowhere?token=canary-query")
        let few = try other.traffic().recent
        #expect(few.map(\.path)[0] == "/nowhere" && few.map(\.path)[2] == "/api/a")
        #expect(long.hasPrefix(few[1].path) && few[1].path.utf8.count > 100)
        #expect(few.map(\.method) == ["GET", "DELETE", "GET"])
        #expect(few.map(\.answeredBy) == [.proxy(code: "route_not_found"), .upstream, .upstream])
        let now = SystemTime().wallMilliseconds()
        #expect(few.allSatisfy { abs($0.endedAt - now) < 60_000 })
    }

    @Test func `counts replays and waits`() throws {
        let upstream = try upstream { request in
            request.value("Authorization") == "Bearer token-2" ? .ok() : FakeResponse(401)
        }
        let plane = try TestPlane(upstream: upstream.url)
        #expect(try plane.client().exchange().status == 200)
        let route = try plane.traffic().routes[1]
        #expect(route.name == "/" && route.replays == 1 && route.parked == 1)
        // The refused attempt is nobody's answer.
        #expect(route.answers == [.init(by: .upstream, statusClass: 2): 1])
    }

    @Test func `tells what waits`() throws {
        let upstream = try upstream { _ in .ok() }
        let plane = try TestPlane(upstream: upstream.url, token: nil) { _, _ in }
        let client = try plane.client()
        try client.send(client.request())
        try waited(for: "the question", within: .seconds(10)) {
            plane.needs.count == 1 ? () : nil
        }
        let waiting = try plane.traffic()
        #expect(waiting.parked == 1 && waiting.underWay == 1 && waiting.routes[1].requests == 0)
        plane.give("token-1", 1)
        #expect(try client.stream.readResponse(to: "GET").status == 200)
        let after = try plane.traffic()
        #expect(after.parked == 0 && after.underWay == 0 && after.routes[1].requests == 1)
    }

    @Test func `counts a client that went away before it was answered`() throws {
        let upstream = try upstream { _ in .ok() }
        let plane = try TestPlane(upstream: upstream.url, token: nil) { _, _ in }
        do {
            let client = try plane.client()
            try client.send(client.request("POST", "/x", body: "12"))
            // Cut off in the middle of a further request's body.
            try waited(for: "the question", within: .seconds(10)) {
                plane.needs.count == 1 ? () : nil
            }
            client.stream.reset()
        }
        let report = try waited(for: "the end", within: .seconds(10)) {
            let report = try plane.traffic()
            return report.underWay == 0 && report.clients.open == 0 ? report : nil
        }
        #expect(report.routes[1].answers == [.init(by: .nobody, statusClass: 0): 1])
        #expect(report.parked == 0)
    }

    @Test func `counts streams of HTTP 2 like any request, those that are reset too`() throws {
        let gate = Gate()
        let upstream = try upstream { request in
            if request.target == "/slow" { try gate.pass() }
            return .ok("fine")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try HTTP2Peer.client(to: plane.port)
        let authority = "127.0.0.1:\(plane.port)"
        for _ in 0..<3 {
            #expect(try client.exchange("GET", "/x?q=1", authority: authority).status == 200)
        }
        let slow = client.request("GET", "/slow", authority: authority)
        try client.flush()
        try gate.waitForArrivals(1)
        client.recorder.session.reset(slow, .cancel)
        try client.flush()
        let report = try waited(for: "the end", within: .seconds(10)) {
            let report = try plane.traffic()
            return report.underWay == 0 ? report : nil
        }
        gate.open()
        #expect(
            report.routes[1].answers == [
                .init(by: .upstream, statusClass: 2): 3, .init(by: .nobody, statusClass: 0): 1,
            ])
        #expect(report.routes[1].responseBytes == 12)
        #expect(report.recent.map(\.path) == ["/slow", "/x", "/x", "/x"])
    }

    @Test func `tells whose side cut an answer`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        _ = try client.stream.readToEnd()
        let report = try waited(for: "the end", within: .seconds(10)) {
            let report = try plane.traffic()
            return report.underWay == 0 ? report : nil
        }
        #expect(report.routes[1].cutByUpstream == 1 && report.routes[1].cutByClient == 0)
        #expect(report.routes[1].answers == [.init(by: .upstream, statusClass: 2): 1])
        #expect(report.routes[1].responseBytes == 5)
        #expect(report.recent.first?.isCut == true)
    }

    @Test func `goes on with a route's numbers when the table is replaced`() throws {
        let upstream = try upstream { _ in .ok() }
        let plane = try TestPlane(upstream: upstream.url, path: "/a")
        let client = try plane.client()
        _ = try client.exchange("GET", "/a/1")
        var second = RouteSpec(path: "/b", upstream: try UpstreamURL(upstream.url))
        second.credential = RouteCredential(slot: CredentialSlot(0))
        var first = second
        first.path = "/a"
        try plane.reconfigure([second, first])
        _ = try client.exchange("GET", "/a/2")
        _ = try client.exchange("GET", "/b/1")
        try plane.reconfigure([second])
        _ = try client.exchange("GET", "/b/2")
        let routes = try plane.traffic().routes
        #expect(routes.map(\.name) == ["", "/a", "/b"])
        #expect(routes.map(\.requests) == [0, 2, 2])
    }
}
