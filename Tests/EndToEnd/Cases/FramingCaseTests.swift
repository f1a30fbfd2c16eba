// Which messages have bodies, and where the next one begins (RFC 9112 sections 6.3, 7.1.2, 9.3).

import Support
import Testing

@Suite(.ownThread) struct `Cases: framing` {
    @Test func `pipelined requests are answered in order (C056)`() throws {
        let upstream = try FakeUpstream { request in
            // The first is the slowest.
            if request.path == "/1" { pause(.milliseconds(150)) }
            return .ok(Octets(request.path) + request.body)
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(
            client.request("GET", "/1") + client.request("POST", "/2", body: "body")
                + client.request("GET", "/3") + client.request("HEAD", "/4")
                + client.request("GET", "/5"))
        for (method, body) in [
            ("GET", "/1"), ("POST", "/2body"), ("GET", "/3"), ("HEAD", ""), ("GET", "/5"),
        ] as [(String, Octets)] {
            #expect(try client.stream.readResponse(to: method).body == body)
        }
        #expect(upstream.requests.map(\.path) == ["/1", "/2", "/3", "/4", "/5"])
    }

    @Test func `the body of a refused request is never read as a request (C056)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let hidden = client.request("GET", "/hidden")
        try client.send(
            client.request(
                "POST", "/refused", fields: [("Origin", "https://evil.example")], body: hidden)
                + client.request("GET", "/next"))
        #expect(try client.stream.readResponse(to: "POST").status == 403)
        // Either the body is drained and the next one is answered, or the connection is closed.
        let rest = try client.stream.readSome()
        #expect(rest == nil || rest!.hasPrefix("HTTP/1.1 200 "))
        #expect(!upstream.requests.map(\.path).contains("/hidden"))
    }

    @Test func `HEAD keeps the length and has no body (C024)`() throws {
        let upstream = try FakeUpstream { request in
            request.path == "/chunked"
                ? FakeResponse(framing: .chunked(["abc"], trailers: []))
                : FakeResponse(
                    fields: [("ETag", "\"x\"")], body: Octets(repeating: 0x61, count: 9757))
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for _ in 0..<3 {
            let response = try client.exchange("HEAD", "/blob", within: .seconds(3))
            #expect(response.values("Content-Length") == ["9757"])
            #expect(response.value("ETag") == "\"x\"")
        }
        #expect(try client.exchange("HEAD", "/chunked", within: .seconds(3)).status == 200)
        #expect(try client.exchange("GET", "/blob").body.count == 9757)
        #expect(upstream.connectionCount == 1)
    }

    @Test func `204 and 304 end with their head (C068)`() throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                switch request.path {
                case "/304":
                    try connection.write(
                        "HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\nContent-Length: 5120\r\n\r\n")
                case "/204":
                    try connection.write("HTTP/1.1 204 No Content\r\n\r\n")
                case "/204-chunked":
                    try connection.write(
                        "HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked\r\n\r\n")
                case "/204-stray":
                    try connection.write("HTTP/1.1 204 No Content\r\n\r\noops")
                default: try connection.respond(.ok(), to: request)
                }
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for path in ["/304", "/204", "/204-chunked", "/204-stray", "/next"] {
            let response = try client.exchange("GET", path, within: .seconds(3))
            let status = path == "/next" ? 200 : Int(path.dropFirst().prefix(3))
            #expect(response.status == status, "\(path)")
            if path.hasPrefix("/204") {
                #expect(!response.has("Content-Length"), "\(path)")
                #expect(!response.has("Transfer-Encoding"), "\(path)")
            }
            if path == "/304" { #expect(response.value("ETag") == "\"a\"") }
        }
        // The connection with stray bytes was not used again.
        #expect(upstream.connectionCount >= 2)
    }

    @Test func `a head without its body is delivered short, not as nothing (C063)`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 123\r\n\r\n")
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        let head = try #require(try client.stream.readHead())
        #expect([500, 502].contains(head.status))
        if head.status == 500 {
            let rest = (try? client.stream.readToEnd()) ?? ""
            #expect(rest.isEmpty)
        }
    }

    @Test func `interim answers and trailers stay what they are (C031, C123)`() throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                try connection.write(
                    "HTTP/1.1 100 Continue\r\n\r\n"
                        + "HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n"
                        + "HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n")
                if request.path == "/body" { try connection.write(.chunk("abc")) }
                try connection.write(
                    "0\r\nX-Sum: 9\r\nContent-Length: 5\r\nAuthorization: Basic x\r\n"
                        + "Transfer-Encoding: chunked\r\n\r\n")
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for path in ["/body", "/empty"] {
            try client.send(client.request("GET", path, fields: [("TE", "trailers")]))
            var response = try client.stream.readResponse(skippingInterim: false)
            var interim: [Int] = []
            while response.status < 200 {
                interim.append(response.status)
                #expect(!response.has("X-Sum"))
                response = try client.stream.readResponse(skippingInterim: false)
            }
            #expect(interim == [103] || interim == [] || interim == [100, 103])
            #expect(response.status == 200)
            #expect(!response.has("X-Sum"))
            #expect(response.trailers == [.init(name: "X-Sum", value: "9")])
            #expect(response.body == (path == "/body" ? "abc" : ""))
        }
        #expect(upstream.requests.allSatisfyNow { $0.values("TE") == ["trailers"] })
        #expect(
            try upstream.requests.item(0).values("Connection").joined().lowercased().contains("te"))
    }

    @Test func `HTTP/1.0 clients get neither chunks nor trailers (C123)`() throws {
        let upstream = try FakeUpstream { _ in
            FakeResponse(framing: .chunked(["abc", "def"], trailers: [("X-Sum", "9")]))
        }
        let setup = try DirectSetup(to: upstream)
        let answer = try setup.proxy.answer(toRaw: "GET / HTTP/1.0\r\n\r\n")
        let response = try HTTPMessage(reading: answer)
        #expect(response.body == "abcdef")
        #expect(!response.has("Transfer-Encoding"))
        #expect(try upstream.requests.item(0).has("Host"))
    }

    @Test func `HTTP/1.0 keep-alive is honoured`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        for _ in 0..<3 {
            try client.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            #expect(try client.stream.readResponse().body == "ok")
        }
    }

    @Test func `an upgrade to h2c is ignored, and never becomes a tunnel (C051, C052)`() throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                if request.path == "/honest" {
                    try connection.respond(.ok(), to: request)
                } else {
                    try connection.write(
                        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n"
                            + "Upgrade: h2c\r\n\r\nPRI")
                }
            }
        }
        let setup = try DirectSetup(to: upstream)
        let upgrade = [
            ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"),
            ("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
        ]
        #expect(try setup.proxy.exchange("GET", "/honest", fields: upgrade).status == 200)
        #expect(try !upstream.requests.item(0).has("Upgrade"))
        #expect(try !upstream.requests.item(0).has("HTTP2-Settings"))
        let response = try setup.proxy.exchange("GET", "/rude", fields: upgrade)
        #expect(response.status == 502)
        #expect(!response.body.contains("PRI"))
    }

    @Test(arguments: [1, 7, 100])
    func `a message split anywhere is the same message`(piece: Int) throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                let answer = FakeResponse(
                    framing: .chunked([request.body, "tail"], trailers: [("X-Sum", "1")])
                ).octets(to: request.method)
                var rest = answer.bytes[...]
                while !rest.isEmpty {
                    try connection.write(Octets(rest.prefix(piece)))
                    rest = rest.dropFirst(piece)
                }
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let request = client.request(
            "POST", "/split", fields: [("Transfer-Encoding", "chunked"), ("X-A", "1")])
        var rest = (request + .chunk("hello") + .chunk("world") + "0\r\n\r\n").bytes[...]
        while !rest.isEmpty {
            try client.send(Octets(rest.prefix(piece)))
            rest = rest.dropFirst(piece)
        }
        let response = try client.stream.readResponse(to: "POST")
        #expect(response.body == "helloworldtail")
        #expect(response.trailers.count == 1)
    }
}
