import DataPlane
import Support
import Testing
import Vocabulary

@Suite struct `Forwarding` {
    @Test func `a request goes out with the credential that the client never had`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("hello") } }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try plane.client().exchange("GET", "/v1/me?x=1")
        #expect(answer.status == 200)
        #expect(answer.body == "hello")
        let request = try upstream.waitForRequests(1)[0]
        #expect(request.startLine == "GET /v1/me?x=1 HTTP/1.1")
        #expect(request.values("Authorization") == ["Bearer token-1"])
        #expect(request.value("Host") == "127.0.0.1:\(upstream.port)")
    }

    @Test func `one client connection and one upstream connection serve many requests`() throws {
        let upstream = try FakeUpstream { try $0.serve { .ok(Octets($0.target)) } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        for number in 0..<50 {
            #expect(try client.exchange("GET", "/\(number)").body == Octets("/\(number)"))
        }
        #expect(upstream.connectionCount == 1)
        #expect(plane.dialCount == 1)
    }

    @Test func `pipelined requests are answered in order`() throws {
        let upstream = try FakeUpstream { try $0.serve { .ok(Octets($0.target)) } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        var all = Octets("")
        for number in 0..<40 { all += client.request("GET", "/\(number)") }
        all += client.request("POST", "/post", body: "body") + client.request("GET", "/last")
        try client.send(all)
        for number in 0..<40 {
            #expect(try client.stream.readResponse(to: "GET").body == Octets("/\(number)"))
        }
        #expect(try client.stream.readResponse(to: "POST").body == "/post")
        #expect(try client.stream.readResponse(to: "GET").body == "/last")
    }

    @Test func `bodies pass in both framings and both directions`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                FakeResponse(
                    body: request.body,
                    framing: request.isChunked ? .chunked([request.body], trailers: []) : .length)
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        for size in [0, 1, 1000, 4096, 70_000, 600_000] {
            let body = Octets.pattern(count: size)
            #expect(try client.exchange("POST", "/echo", body: body).body == body)
            let head = client.request("POST", "/echo", fields: [("Transfer-Encoding", "chunked")])
            try client.send(head)
            var rest = body.bytes[...]
            while !rest.isEmpty {
                try client.send(Octets.chunk(Octets(rest.prefix(17_777))))
                rest = rest.dropFirst(17_777)
            }
            try client.send("0\r\n\r\n")
            #expect(try client.stream.readResponse(to: "POST").body == body)
        }
        #expect(upstream.failures.isEmpty)
    }

    @Test func `OPTIONS that may be forwarded no more is answered here (RFC 9110 section 7.6.2)`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("") } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let answer = try client.exchange("OPTIONS", "*", fields: [("Max-Forwards", "0")])
        #expect(answer.status == 204 && answer.value("Allow")?.contains("GET") == true)
        #expect(try client.exchange("OPTIONS", "/x", fields: [("Max-Forwards", "1")]).status == 200)
        #expect(upstream.requests.map { $0.value("Max-Forwards") } == ["0"])
    }

    @Test func `an upstream that cannot be reached is named as such`() throws {
        let plane = try TestPlane(upstream: "http://127.0.0.1:1")
        let answer = try plane.client().exchange()
        #expect(answer.status == 502)
        #expect(answer.value("Content-Type") == "application/problem+json")
        #expect(answer.body.text.contains("\"code\":\"upstream_unreachable\""))
        #expect(answer.value("Proxy-Status")?.contains("connection_refused") == true)
    }
}

@Suite struct `A rejected credential` {
    @Test func `is replaced and the request sent once more`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                request.value("Authorization") == "Bearer token-2" ? .ok("fresh") : .invalidToken
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try plane.client().exchange("POST", "/x", body: "the body")
        #expect(answer.status == 200)
        #expect(answer.body == "fresh")
        let requests = try upstream.waitForRequests(2)
        #expect(requests.map { $0.value("Authorization") } == ["Bearer token-1", "Bearer token-2"])
        #expect(requests.map(\.body) == ["the body", "the body"])
        #expect(plane.needs.count == 1)
    }

    @Test func `is replaced only once, then the answer is the client's`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .invalidToken } }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try plane.client().exchange()
        #expect(answer.status == 401)
        #expect(answer.has("WWW-Authenticate"))
        #expect(upstream.requests.count == 2)
        #expect(plane.needs.count == 1)
    }

    @Test func `makes a hundred requests ask once`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                request.value("Authorization") == "Bearer token-2" ? .ok("fresh") : .invalidToken
            }
        }
        let plane = try TestPlane(upstream: upstream.url) { generation, shared in
            // All hundred must be parked before the answer comes.
            pause(.milliseconds(300))
            shared.give("token-2", generation.count + 1)
        }
        let clients = try (0..<100).map { _ in try plane.client() }
        for client in clients { try client.send(client.request()) }
        for client in clients { #expect(try client.stream.readResponse(to: "GET").status == 200) }
        #expect(plane.needs == [Need(newerThan: .init(1))])
    }

    @Test func `with too large a body is passed on and replaced for the next`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                request.value("Authorization") == "Bearer token-2" ? .ok("fresh") : .invalidToken
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let body = Octets.pattern(count: (1 << 20) + 1)
        let refused = try client.exchange("POST", "/up", body: body)
        #expect(refused.status == 401)
        #expect(refused.value("Proxy-Status") == "credential-proxy; details=\"not_replayed\"")
        #expect(try client.exchange("POST", "/up", body: body).status == 200)
        #expect(upstream.requests.map(\.body.count) == [body.count, body.count])
    }
}
