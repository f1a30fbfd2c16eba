import Crypto
import DataPlane
import HTTP2Wire
import Routing
import Support
import Synchronization
import Testing
import Vocabulary

@Suite struct `Client connections` {
    @Test func `of HTTP 1.0 are answered and closed unless they ask to stay`() throws {
        let upstream = try FakeUpstream {
            try $0.serve { _ in FakeResponse(body: "abc", framing: .chunked(["abc"], trailers: []))
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send("GET / HTTP/1.0\r\nHost: localhost:\(plane.port)\r\n\r\n".octets)
        let answer = try client.stream.readToEnd()
        #expect(answer.text.hasPrefix("HTTP/1.1 200 "))
        #expect(!answer.text.lowercased().contains("chunked"))
        #expect(answer.hasSuffix("\r\n\r\nabc"))
    }

    @Test func `that close their sending side still get their answer`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("late") } }
        let plane = try TestPlane(upstream: upstream.url, token: nil) { generation, shared in
            pause(.milliseconds(200))
            shared.give("token-2", generation.count + 1)
        }
        let client = try plane.client()
        try client.send(client.request())
        try client.stream.halfClose()
        let answer = try client.stream.readToEnd()
        #expect(answer.hasSuffix("\r\n\r\nlate"))
    }

    @Test func `that reset cancel their upstream request`() throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(5))
            ended.open()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request("GET", "/slow"))
        _ = try upstream.waitForRequests(1)
        client.stream.reset()
        try ended.pass(within: .seconds(2))
    }

    /// Nothing is read from such a client any more, since nothing that it sends has anywhere to go.
    @Test(arguments: [false, true])
    func `that reset an upload which stands still cancel it (C130)`(isTunnel: Bool) throws {
        let (ready, told) = (Gate(), Gate())
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            if isTunnel {
                try connection.write(
                    "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
                )
            }
            try ready.pass()
            try connection.stream.waitForReset()
            told.open()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        if isTunnel {
            let fields = [("Connection", "Upgrade"), ("Upgrade", "websocket")]
            try client.send(client.request("GET", "/", fields: fields))
            #expect(try client.stream.readResponse().status == 101)
        } else {
            let fields = [("Content-Length", "1000000000")]
            try client.send(client.request("POST", "/", fields: fields))
        }
        let piece = Octets(repeating: 7, count: 1 << 20)
        #expect(throws: Failure.self) {
            while true { try client.stream.write(piece, within: .milliseconds(500)) }
        }
        ready.open()
        client.stream.reset()
        try told.pass(within: .seconds(2))
    }

    @Test func `that reset after they have closed their sending side are noticed (C130)`() throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd()
            ended.open()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        try client.stream.halfClose()
        _ = try upstream.waitForRequests(1)
        // The end is seen before the reset.
        pause(.milliseconds(100))
        client.stream.reset()
        try ended.pass(within: .seconds(2))
    }

    @Test func `waiting for a 100 get the upstream's, or ours after a while`() throws {
        for isSilent in [false, true] {
            let upstream = try FakeUpstream { connection in
                var request = try connection.expectHead()
                #expect(request.value("Expect") == "100-continue")
                if !isSilent { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
                try connection.stream.readBody(of: &request)
                try connection.respond(.ok(request.body), to: request)
            }
            var settings = WorkerSettings()
            settings.expectContinue = 200
            let plane = try TestPlane(upstream: upstream.url, settings: settings)
            let client = try plane.client()
            let fields = [("Expect", "100-continue"), ("Content-Length", "3")]
            try client.send(client.request("PUT", "/x", fields: fields))
            #expect(try client.stream.readHead()?.status == 100)
            try client.send("abc")
            let answer = try client.stream.readResponse(to: "PUT")
            #expect(answer.status == 200)
            #expect(answer.body == "abc")
        }
    }

    @Test func `waiting for a 100 are replayed after a 401 without having sent a body`() throws {
        let upstream = try FakeUpstream { connection in
            while var request = try connection.stream.readHead() {
                guard request.value("Authorization") == "Bearer token-2" else {
                    try connection.respond(.invalidToken, to: request)
                    continue
                }
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                try connection.stream.readBody(of: &request)
                try connection.respond(.ok(request.body), to: request)
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let fields = [("Expect", "100-continue"), ("Content-Length", "3")]
        try client.send(client.request("PUT", "/x", fields: fields))
        #expect(try client.stream.readHead()?.status == 100)
        try client.send("abc")
        #expect(try client.stream.readResponse(to: "PUT").body == "abc")
    }

    @Test func `see interim answers and trailers`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            #expect(request.value("TE") == "trailers")
            try connection.write(
                """
                HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n\
                HTTP/1.1 200 OK\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n\
                3\r\nabc\r\n0\r\nX-Sum: 9\r\nContent-Length: 7\r\n\r\n
                """.octets)
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request("GET", "/", fields: [("TE", "trailers")]))
        #expect(try client.stream.readHead()?.status == 103)
        let answer = try client.stream.readResponse(to: "GET")
        #expect(answer.body == "abc")
        #expect(answer.trailers.map(\.name) == ["X-Sum"])
        #expect(!answer.has("X-Sum"))
    }
}

@Suite struct `Upstream connections` {
    @Test func `that died in the pool are replaced for idempotent requests`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            try connection.respond(.ok(), to: request)
            // Closes without a word, as servers do whose keep-alive time is over.
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        for _ in 0..<50 { #expect(try client.exchange("PUT", "/", body: "x").status == 200) }
        #expect(upstream.failures.isEmpty)
    }

    @Test func `that break after a POST do not see it again`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.respond(.ok(), to: try connection.expectRequest())
            _ = try connection.expectRequest()
            connection.stream.reset()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        #expect(try client.exchange().status == 200)
        let answer = try client.exchange("POST", "/orders/7/cancel", body: "")
        #expect(answer.status == 502)
        #expect(answer.body.text.contains("upstream_closed"))
        #expect(upstream.requests.count == 2)
    }

    @Test func `with an early answer have it passed on while the upload runs`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            _ = try connection.stream.read(64 * 1024)
            try connection.write(
                "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntoo large")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(
            client.request("POST", "/up", fields: [("Content-Length", "104857600")]))
        try? client.send(Octets(repeating: 7, count: 256 * 1024))
        let answer = try client.stream.readResponse(to: "POST")
        #expect(answer.status == 413)
        #expect(answer.body == "too large")
    }

    /// HAProxy, IIS and Apache send a 408 to a connection that was idle for too long.
    @Test(arguments: [
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npoison", "oops",
    ])
    func `that speak before they are asked are not believed (C060, C068)`(stray: String) throws {
        for method in ["GET", "PUT", "POST"] {
            let (speak, hasSpoken) = (Gate(), Gate())
            let upstream = try FakeUpstream { connection in
                let request = try connection.expectRequest()
                try connection.respond(.ok("\(connection.number)"), to: request)
                guard connection.number == 0 else { return try connection.serve { _ in .ok("1") } }
                try speak.pass()
                try connection.write(stray.octets)
                hasSpoken.open()
                _ = try connection.stream.waitForEnd()
            }
            let plane = try TestPlane(upstream: upstream.url)
            let client = try plane.client()
            #expect(try client.exchange(method, "/1", body: "").body == "0")
            try plane.whileBusy {
                // The loop sees the request first.
                try client.send(client.request(method, "/2", body: ""))
                pause(.milliseconds(100))
                speak.open()
                try hasSpoken.pass()
            }
            let answer = try client.stream.readResponse(to: method)
            #expect(answer.status == 200)
            #expect(answer.body == "1", "\(method)")
            #expect(upstream.connectionCount == 2)
        }
    }

    @Test func `are read no faster than the client takes interim answers`() throws {
        let count = 4000
        let hint = Octets(
            "HTTP/1.1 103 Early Hints\r\nLink: \(String(repeating: "x", count: 8000))\r\n\r\n")
        let sent = Gate()
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            for _ in 0..<count { try connection.stream.write(hint, within: .seconds(60)) }
            sent.open()
            try connection.respond(.ok("at last"), to: request)
        }
        var settings = WorkerSettings()
        settings.responseHeadBytesMax = 1 << 30
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try RawClient(to: plane.port, receiveBufferBytes: 128 * 1024)
        try client.send(client.request())
        #expect(try client.stream.readHead()?.status == 103)
        pause(.milliseconds(500))
        #expect(!sent.isOpen)
        for _ in 1..<count { #expect(try client.stream.readHead()?.status == 103) }
        #expect(try client.stream.readResponse(to: "GET").body == "at last")
    }

    @Test(arguments: [false, true])
    func `that send interim answers without end become a 502`(isHTTP2: Bool) throws {
        let upstream = try FakeUpstream { connection in
            guard isHTTP2 else {
                _ = try connection.expectRequest()
                while true { try connection.write("HTTP/1.1 102 Processing\r\nA: b\r\n\r\n") }
            }
            let peer = HTTP2Peer(connection.stream, ServerSession(SessionLimits()))
            try peer.run { !peer.recorder.order.isEmpty }
            guard let session = peer.recorder.session as? ServerSession,
                let stream = peer.recorder.streams[1]
            else { return }
            while peer[1].closed == nil {
                var head = Octets("HTTP/1.1 102 Processing\r\nA: b\r\n\r\n").bytes
                head.withUnsafeMutableBytes { session.sendInterim($0, on: stream) }
                try peer.flush()
                if try !connection.stream.isQuiet(for: .zero) {
                    peer.recorder.receive(connection.stream.take(connection.stream.heldCount))
                }
            }
        }
        var settings = WorkerSettings()
        settings.responseHeadBytesMax = 4096
        let plane = try TestPlane(
            upstream: upstream.url, http2: isHTTP2 ? .on : .off, settings: settings)
        let client = try plane.client()
        try client.send(client.request())
        var interims = 0
        while let head = try client.stream.readHead(), head.status != 502 {
            #expect(head.status == 102)
            interims += 1
        }
        // Each counts 256 bytes at the least.
        #expect(interims == 16)
    }

    /// A client may write all that it has before it reads.
    @Test func `that refuse an upload are heard when it is written (C064)`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try connection.write(
                "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 9\r\n\r\ntoo large")
        }
        var settings = WorkerSettings()
        settings.linger = 1000
        settings.lingerTotal = 5000
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.send(client.request("POST", "/up", fields: [("Content-Length", "104857600")]))
        let piece = Octets(repeating: 7, count: 64 * 1024)
        for _ in 0..<25 {
            try client.send(piece)
            pause(.milliseconds(100))
        }
        #expect(try client.stream.readResponse(to: "POST").status == 413)
        // Not for ever.
        #expect(throws: Failure.self) {
            for _ in 0..<200 {
                try client.send(piece)
                pause(.milliseconds(100))
            }
        }
    }

    /// It closes with bytes unread, which resets the connection: our waiting write fails, and the end of what it has
    /// sent is told by reading.
    @Test(arguments: ["", "HTTP/1.1 413 Too Large\r\nContent-Length: 10\r\n\r\n12345"])
    func `that break off an upload are missed, whatever they have said`(_ text: Octets) throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try connection.write(text)
            // Until more is written than goes without its being read.
            pause(.milliseconds(500))
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let body = Octets.pattern(count: 30_000_000)
        try client.send(
            client.request("POST", "/up", fields: [("Content-Length", "\(body.count)")]))
        do { try client.stream.write(body, within: .seconds(60)) } catch {}
        let answer = try client.stream.readToEnd(within: .seconds(60))
        #expect(
            text.isEmpty
                ? answer.hasPrefix("HTTP/1.1 502 ") && answer.contains("upstream_closed")
                : answer.hasPrefix("HTTP/1.1 413 ") && answer.hasSuffix("12345"))
    }

    /// haproxy#581, traefik#13902.
    @Test(arguments: ["NTLM", "negotiate"])
    func `that know who a client is serve no other`(scheme: String) throws {
        let upstream = try FakeUpstream { connection in
            var name = ""
            try connection.serve { request in
                if let shown = request.values("Authorization").first { name = shown }
                return name.isEmpty
                    ? FakeResponse(401) : .ok(Octets("\(connection.number) \(name)"))
            }
        }
        let plane = try TestPlane(upstream: upstream.url, credential: false)
        let (alice, bob, other) = (try plane.client(), try plane.client(), try plane.client())
        #expect(try bob.exchange().status == 401)
        func show(_ client: RawClient, _ name: String) throws -> Octets {
            try client.exchange("GET", "/", fields: [("Authorization", "\(scheme) \(name)")]).body
        }
        // It may be any connection, and is hers alone from then on.
        #expect(try show(alice, "alice") == "0 \(scheme) alice".octets)
        #expect(try show(bob, "bob") == "1 \(scheme) bob".octets)
        #expect(try other.exchange().status == 401)
        for _ in 0..<2 {
            #expect(try alice.exchange().body == "0 \(scheme) alice".octets)
            #expect(try bob.exchange("POST", body: "x").body == "1 \(scheme) bob".octets)
            #expect(try other.exchange().status == 401)
        }
        #expect(upstream.connectionCount == 3)
        // With the client its connection goes.
        alice.stream.close()
        let late = try plane.client()
        #expect(try late.exchange().status == 401)
    }

    /// In HTTP/2 others would share the connection.
    @Test func `are spoken to in HTTP 1 by a client that authenticates a connection`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("mine") } }
        let plane = try TestPlane(upstream: upstream.url, http2: .on, credential: false)
        let answer = try plane.client().exchange(
            "GET", "/", fields: [("Authorization", "NTLM alice")])
        #expect(answer.body == "mine")
    }

    /// C128
    @Test func `are not kept for one client beyond their age`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.upstreamAge = 300
        let plane = try TestPlane(upstream: upstream.url, credential: false, settings: settings)
        let client = try plane.client()
        _ = try client.exchange("GET", "/", fields: [("Authorization", "NTLM alice")])
        _ = try client.exchange()
        #expect(upstream.connectionCount == 1)
        _ = try waited(for: "another connection") {
            _ = try client.exchange()
            return upstream.connectionCount > 1 ? true : nil
        }
    }

    @Test func `that end within a body cut the client off`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 500 Oh\r\nContent-Length: 123\r\n\r\n")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        #expect(try client.stream.readHead()?.status == 500)
        #expect(try client.stream.readToEnd().isEmpty)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9\r\n", "pong", "HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 1000 X\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\u{0}c\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n",
    ])
    func `that speak no HTTP become a 502`(garbage: String) throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(garbage.octets)
        }
        let plane = try TestPlane(upstream: upstream.url)
        #expect(try plane.client().exchange().status == 502)
    }

    @Test func `speak TLS and are verified`() throws {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let context = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        let upstream = try FakeUpstream(tls: context) {
            try $0.serve { .ok(Octets($0.target)) }
        }
        let plane = try TestPlane(
            upstream: upstream.url, caFile: authority.caFile)
        let client = try plane.client()
        for number in 0..<20 {
            #expect(try client.exchange("GET", "/\(number)").body == Octets("/\(number)"))
        }
        let big = Octets.pattern(count: 300_000)
        #expect(try client.exchange("POST", "/big", body: big).body == "/big")
        #expect(upstream.requests.last?.body == big)
        #expect(upstream.connectionCount == 1)

        let stranger = try TestPlane(upstream: upstream.url)
        let answer = try stranger.client().exchange()
        #expect(answer.status == 502)
        #expect(answer.body.text.contains("upstream_tls_failed"))
    }
}

extension String {
    var octets: Octets { Octets(self) }
}
