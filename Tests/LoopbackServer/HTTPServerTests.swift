import LoopbackServer
import Support
import Synchronization
import Testing

@Suite struct `Loopback server` {
    @Test func `listens on both loopback addresses with one port`() async throws {
        let server = try HTTPServer(handler: echo)
        #expect(server.addresses == ["127.0.0.1", "::1"])
        try await blocking {
            for host in ["127.0.0.1", "::1"] {
                let answer = try RawClient(to: server.port, host: host).exchange("GET", "/x?y=1")
                #expect(answer.status == 200)
                #expect(answer.body.text.hasPrefix("GET /x ? y=1\n"))
            }
        }
    }

    /// C076.
    @Test(arguments: [LoopbackFamilies.both, .ipv4, .ipv6])
    func `a port that was asked for and is taken is an error`(
        families: LoopbackFamilies
    ) throws {
        let first = try HTTPServer(families: families, handler: echo)
        #expect(throws: ServerError.portInUse(first.port)) {
            try HTTPServer(port: first.port, handler: echo)
        }
    }

    @Test func `its port is free as soon as it has stopped`() async throws {
        let first = try HTTPServer(handler: echo)
        try await blocking {
            try RawClient(to: first.port).exchange()
            first.stop()
            first.stop()
            let second = try HTTPServer(port: first.port, handler: echo)
            #expect(try RawClient(to: second.port).exchange().status == 200)
        }
    }

    @Test func `answers thousands of requests on one connection`() async throws {
        let server = try HTTPServer(handler: echo)
        try await blocking {
            let client = try RawClient(to: server.port)
            for round in 0..<2000 {
                let answer = try client.exchange("GET", "/\(round)")
                try #require(answer.body.text.hasPrefix("GET /\(round) ?"))
            }
        }
    }

    /// C056.
    @Test func `answers requests that came together in their order`() async throws {
        let server = try HTTPServer(handler: echo)
        try await blocking {
            let client = try RawClient(to: server.port)
            var together: Octets = ""
            for round in 0..<50 {
                together = together + client.request("POST", "/\(round)", body: "body")
            }
            try client.send(together)
            for round in 0..<50 {
                let answer = try client.stream.readResponse(to: "POST")
                #expect(answer.body.text.hasPrefix("POST /\(round) ?"))
                #expect(answer.body.text.hasSuffix("body"))
            }
        }
    }

    @Test func `tells its handler all that came`() async throws {
        let seen = Mutex<ServerRequest?>(nil)
        let server = try HTTPServer { request in
            seen.withLock { $0 = request }
            return ServerResponse(status: 204)
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            let answer = try client.exchange(
                "PUT", "/a%2Fb?code=x%20y&state=?z",
                fields: [("X-Name", "Andr\u{E9}"), ("x-name", "2")], body: "h\u{E9}llo")
            #expect(answer.status == 204)
            #expect(!answer.has("Content-Length"))
        }
        let request = try #require(seen.withLock { $0 })
        #expect(request.method == "PUT")
        #expect(request.target == "/a%2Fb?code=x%20y&state=?z")
        #expect(request.path == "/a%2Fb")
        #expect(request.query == "code=x%20y&state=?z")
        #expect(request.field("X-NAME") == "Andr\u{E9}")
        #expect(request.fields.filter { $0.name.lowercased() == "x-name" }.count == 2)
        #expect(request.body == [0x68, 0xE9, 0x6C, 0x6C, 0x6F])
        #expect(request.peerPort != 0 && request.peerPort != server.port)
    }

    @Test(arguments: [
        ("GET", "/", "/", nil), ("GET", "/?", "/", ""), ("GET", "/a??b", "/a", "?b"),
        ("GET", "http://localhost/a?b", "/a", "b"), ("GET", "http://localhost", "/", nil),
        ("GET", "http://localhost?b", "/", "b"), ("OPTIONS", "*", "*", nil),
    ])
    func `cuts the target into path and query`(
        method: String, target: String, path: String, query: String?
    ) async throws {
        let seen = Mutex<ServerRequest?>(nil)
        let server = try HTTPServer(hosts: .any) { request in
            seen.withLock { $0 = request }
            return ServerResponse(status: 204)
        }
        try await blocking { try RawClient(to: server.port).exchange(method, target) }
        let request = try #require(seen.withLock { $0 })
        #expect(request.target == target)
        #expect(request.path == path)
        #expect(request.query == query)
        #expect(request.fields.filter { $0.name == "Host" }.count == 1)
        #expect((request.field("Host") == "localhost") == target.hasPrefix("http:"))
    }

    @Test func `reads chunked bodies, byte by byte if need be`() async throws {
        let server = try HTTPServer(handler: echo)
        try await blocking {
            let client = try RawClient(to: server.port)
            let head = client.request("POST", "/", fields: [("Transfer-Encoding", "chunked")])
            let body: Octets = "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX: y\r\n\r\n"
            try client.stream.writeByteByByte(head + body)
            #expect(try client.stream.readResponse(to: "POST").body.text.hasSuffix("\nabcdefg"))
            #expect(try client.exchange("GET", "/next").body.text.hasPrefix("GET /next"))
        }
    }

    /// C024, C068.
    @Test func `sends no body where there may be none`() async throws {
        let server = try HTTPServer { request in
            ServerResponse(
                status: request.path == "/304" ? 304 : request.path == "/204" ? 204 : 200,
                fields: [ServerField("ETag", "\"x\"")], body: Array("hello".utf8))
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            #expect(try client.exchange("HEAD", "/").value("Content-Length") == "5")
            #expect(try client.exchange("GET", "/204").value("Content-Length") == nil)
            #expect(try client.exchange("GET", "/304").value("ETag") == "\"x\"")
            #expect(try client.exchange("GET", "/").body == "hello")
        }
    }

    @Test func `says 100 before it waits for a body`() async throws {
        let server = try HTTPServer(handler: echo)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send(
                client.request(
                    "POST", "/", fields: [("Expect", "100-continue"), ("Content-Length", "3")]))
            let interim = try client.stream.readResponse(to: "POST", skippingInterim: false)
            #expect(interim.status == 100)
            try client.send("abc")
            #expect(try client.stream.readResponse(to: "POST").body.text.hasSuffix("\nabc"))
        }
    }

    @Test func `keeps connections of HTTP 1·0 only on request`() async throws {
        let server = try HTTPServer(handler: echo)
        try await blocking {
            let client = try RawClient(to: server.port)
            try client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try client.stream.readResponse().value("Connection") == "keep-alive")
            try client.send("GET / HTTP/1.0\r\n\r\n")
            #expect(try client.stream.readResponse().value("Connection") == "close")
            #expect(try client.stream.waitForEnd() == .closed)
        }
    }

    @Test func `closes when the handler says so`() async throws {
        let server = try HTTPServer { _ in
            ServerResponse(status: 200, body: [0x61], closesConnection: true)
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            #expect(try client.exchange().value("Connection") == "close")
            #expect(try client.stream.waitForEnd() == .closed)
        }
    }

    @Test func `a handler cannot break the message`() async throws {
        let server = try HTTPServer { request in
            var response = ServerResponse(status: 200, body: Array("ab".utf8))
            switch request.path {
            case "/split": response.fields = [ServerField("X", "a\r\nSet-Cookie: b=c")]
            case "/name": response.fields = [ServerField("X: y", "z")]
            case "/status": response.status = 99
            default:
                response.fields = [
                    ServerField("content-length", "7"), ServerField("Transfer-Encoding", "x"),
                    ServerField("Connection", "close"), ServerField("X-Kept", "\u{E9}"),
                ]
            }
            return response
        }
        try await blocking {
            let client = try RawClient(to: server.port)
            for path in ["/split", "/name", "/status"] {
                let answer = try client.exchange("GET", path)
                #expect(answer.status == 500)
                #expect(!answer.has("Set-Cookie") && !answer.has("X"))
            }
            let answer = try client.exchange("GET", "/own")
            #expect(answer.values("Content-Length") == ["2"])
            #expect(!answer.has("Transfer-Encoding") && !answer.has("Connection"))
            #expect(answer.has("X-Kept"))
            #expect(answer.body == "ab")
        }
    }
}
