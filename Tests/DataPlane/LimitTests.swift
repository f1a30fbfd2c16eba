import Crossing
import DataPlane
import HTTP2Wire
import Routing
import Support
import Testing
import Vocabulary

@Suite struct `Limits` {
    @Test func `a head that does not come in time ends the connection`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.clientHead = 200
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.send("GET / HTTP/1.1\r\nHost: loc")
        #expect(try client.stream.waitForEnd(within: .seconds(5)) == .closed)
        #expect(upstream.connectionCount == 0)
    }

    @Test func `an idle connection ends after its time`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.clientIdle = 200
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        #expect(try client.exchange().status == 200)
        #expect(try client.stream.waitForEnd(within: .seconds(5)) == .closed)
    }

    /// With the connection's age a name is looked up again, which nothing else would cause.
    @Test func `a busy connection is replaced when it is old (C128)`() throws {
        let upstream = try FakeUpstream { _ in .ok("x") }
        var settings = WorkerSettings()
        settings.upstreamAge = 200
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        let end = ContinuousClock.now + .milliseconds(1000)
        var served = 0
        while ContinuousClock.now < end || plane.dialCount < 3 {
            #expect(try client.exchange().body == "x")
            served += 1
        }
        #expect(upstream.connectionCount >= 3)
        #expect(plane.dialCount < served)
    }

    /// The loop's clock stands still while the machine sleeps, the connection's other end has long gone.
    @Test(arguments: [HTTP2Use.off, .on], ["GET", "POST"])
    func `no connection is used again when the machine has slept (C128)`(
        _ protocol: HTTP2Use, method: String
    ) throws {
        let upstream = try FakeUpstream { connection in
            if `protocol` == .on {
                let peer = HTTP2Peer(connection.stream, ServerSession(SessionLimits()))
                var answered = 0
                try? peer.run(within: .seconds(300)) {
                    // The first connection is dead from its second request on.
                    for id in peer.recorder.order.dropFirst(answered)
                    where connection.number > 0 || answered == 0 {
                        guard let stream = peer.recorder.streams[id] else { continue }
                        peer.respond("HTTP/1.1 200 OK\r\n\r\n", "x", on: stream)
                        answered += 1
                    }
                    return false
                }
                return
            }
            while let request = try connection.readRequest(within: .seconds(300)) {
                try connection.respond(.ok("x"), to: request)
                guard connection.number == 0 else { continue }
                _ = try connection.stream.waitForEnd()
                return
            }
        }
        let clock = ManualClock()
        var settings = WorkerSettings()
        settings.bootTime = { clock.bootTime() }
        let plane = try TestPlane(upstream: upstream.url, http2: `protocol`, settings: settings)
        let client = try plane.client()
        #expect(try client.exchange(method, "/", body: "").body == "x")
        clock.advance(seconds: 8 * 3600)
        // The worker reads the clock no more than once at one time of its loop.
        pause(.milliseconds(20))
        #expect(try client.exchange(method, "/", body: "").body == "x")
        #expect(try client.exchange(method, "/", body: "").body == "x")
        #expect(upstream.connectionCount == 2)
    }

    @Test func `an upstream that does not answer in time is a 504`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(10))
        }
        var settings = WorkerSettings()
        settings.response = 200
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let answer = try plane.client().exchange()
        #expect(answer.status == 504)
        #expect(answer.body.text.contains("upstream_timeout"))
    }

    /// The time is the upstream's alone: an upload may take as long as the client needs.
    @Test(arguments: ["Content-Length: 10", "Transfer-Encoding: chunked"])
    func `a client may take longer over its request than the answer may (C018)`(
        _ framing: String
    ) throws {
        let upstream = try FakeUpstream { try $0.serve { .ok($0.body) } }
        var settings = WorkerSettings()
        settings.response = 200
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        let pieces: [Octets] =
            framing.hasPrefix("C")
            ? ["hello", "world"] : [.chunk("hello"), .chunk("world") + "0\r\n\r\n"]
        let parts = framing.split(separator: ": ").map { String($0) }
        try client.send(client.request("POST", "/", fields: [(parts[0], parts[1])]))
        for piece in pieces {
            pause(.milliseconds(600))
            try client.send(piece)
        }
        #expect(try client.stream.readResponse(to: "POST").body == "helloworld")
    }

    @Test func `an upstream that stops reading a request is a 504`() throws {
        let end = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try end.pass()
        }
        var settings = WorkerSettings()
        settings.response = 300
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        let body = Octets(repeating: 7, count: 32 << 20)
        // What comes after the answer is read and dropped.
        try? client.send(client.request("POST", "/", body: body))
        let answer = try client.stream.readResponse(to: "POST")
        end.open()
        #expect(answer.status == 504)
        #expect(answer.body.text.contains("stopped reading"))
    }

    @Test func `an upstream that reads slowly has all the time that it needs`() throws {
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            for _ in 0..<16 {
                pause(.milliseconds(150))
                try connection.stream.skip(1 << 20)
            }
            try connection.respond(.ok("whole"), to: head)
        }
        var settings = WorkerSettings()
        settings.response = 1000
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        let body = Octets(repeating: 7, count: 16 << 20)
        #expect(try client.exchange("POST", "/", body: body).body == "whole")
    }

    @Test func `a credential that does not come in time is a 503`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.credentialWait = 200
        let plane = try TestPlane(upstream: upstream.url, token: nil, settings: settings) { _, _ in
        }
        let answer = try plane.client().exchange()
        #expect(answer.status == 503)
        #expect(answer.has("Retry-After"))
        #expect(upstream.connectionCount == 0)
    }

    @Test func `more waiting requests than the limit are turned away at once`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.parkedMax = 2
        let plane = try TestPlane(upstream: upstream.url, token: nil, settings: settings) { _, _ in
        }
        let waiting = [try plane.client(), try plane.client()]
        for client in waiting { try client.send(client.request()) }
        let third = try plane.client()
        #expect(try third.exchange().body.text.contains("too_many_waiting"))
        plane.give("token-2", 2)
        for client in waiting { #expect(try client.stream.readResponse(to: "GET").status == 200) }
        // A question about a generation is asked once, however many wait.
        #expect(plane.needs.count == 1)
    }

    @Test(arguments: [
        ("GET /\(String(repeating: "a", count: 70_000)) HTTP/1.1\r\n", 431),
        ("GET / HTTP/1.1\r\n" + String(repeating: "A: b\r\n", count: 200), 431),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421),
        ("GET / HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", 400),
        ("GET / HTTP/2.0\r\n\r\n", 505),
        ("CONNECT evil.example:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n", 405),
    ])
    func `a head that breaks a rule is answered and never forwarded`(
        head: String, status: Int
    ) throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        // The proxy may have answered and closed before all of it is sent.
        try? client.send((head + (head.hasSuffix("\r\n\r\n") ? "" : "\r\n")).octets)
        #expect(try client.stream.readResponse(to: "GET").status == status)
        #expect(upstream.connectionCount == 0)
        #expect(plane.needs.isEmpty)
    }

    @Test func `long tokens, long cookies and many cookies pass`() throws {
        let cookies = (0..<60).map { number in
            ("Set-Cookie", "c\(number)=" + String(repeating: "x", count: 4000))
        }
        let upstream = try FakeUpstream { try $0.serve { _ in FakeResponse(fields: cookies) } }
        let token = String(repeating: "t", count: 14_000)
        let plane = try TestPlane(upstream: upstream.url, token: token)
        let cookie = String(repeating: "y", count: 7000)
        let answer = try plane.client().exchange("GET", "/", fields: [("Cookie", cookie)])
        #expect(answer.values("Set-Cookie") == cookies.map(\.1))
        let request = upstream.requests[0]
        #expect(request.value("Authorization") == "Bearer \(token)")
        #expect(request.value("Cookie") == cookie)
    }

    @Test func `kept bodies share one budget; beyond it bodies only stream`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                request.value("Authorization") == "Bearer token-2" ? .ok() : .invalidToken
            }
        }
        var settings = WorkerSettings()
        settings.replayBytesMax = 1000
        settings.replayTotalBytesMax = 1500
        let plane = try TestPlane(upstream: upstream.url, settings: settings) {
            generation, shared in
            pause(.milliseconds(300))
            shared.give("token-2", generation.count + 1)
        }
        let clients = [try plane.client(), try plane.client()]
        let body = Octets(repeating: 7, count: 1000)
        for client in clients { try client.send(client.request("POST", "/", body: body)) }
        let statuses = try clients.map { try $0.stream.readResponse(to: "POST").status }
        // Whichever was held first is replayed; for the other there was no room.
        #expect(statuses.sorted() == [200, 401])
        #expect(try clients[0].exchange("POST", "/", body: body).status == 200)
    }
}

@Suite struct `Streams` {
    @Test func `the head and each event pass at once`() throws {
        let next = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
                    .octets)
            try next.pass()
            try connection.write(.chunk("data: 1\n\n"))
            _ = try connection.stream.waitForEnd(within: .seconds(20))
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        #expect(try client.stream.readHead(within: .seconds(5))?.status == 200)
        next.open()
        #expect(try client.stream.readChunk(within: .seconds(5)) == "data: 1\n\n")
    }

    @Test func `a slow reader holds the upstream back and loses nothing`() throws {
        let count = 24 << 20
        let sent = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(count)\r\n\r\n".octets)
            let piece = Octets.pattern(count: 1 << 20)
            for _ in 0..<24 { try connection.stream.write(piece, within: .seconds(60)) }
            sent.open()
            _ = try connection.stream.waitForEnd(within: .seconds(60))
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try RawClient(to: plane.port, receiveBufferBytes: 128 * 1024)
        try client.send(client.request())
        #expect(try client.stream.readHead()?.status == 200)
        pause(.milliseconds(500))
        #expect(!sent.isOpen)
        let piece = Octets.pattern(count: 1 << 20)
        #expect(try client.stream.read(1 << 20, within: .seconds(60)) == piece)
        try client.stream.skip(22 << 20, within: .seconds(60))
        #expect(try client.stream.read(1 << 20, within: .seconds(60)) == piece)
        try sent.pass()
    }
}

@Suite struct `Draining` {
    @Test func `cuts what has not ended when its time is over`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf".octets)
            _ = try connection.stream.waitForEnd(within: .seconds(20))
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        #expect(try client.stream.readHead()?.status == 200)
        plane.post(.drain(until: SystemTime.bootTime().advanced(byMilliseconds: 300)))
        plane.group.join()
        #expect(try client.stream.readToEnd() == "half")
    }

    @Test func `ends idle connections, lets running requests end and then stops`() throws {
        let finish = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.serve { _ in
                try finish.pass()
                return .ok("done")
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let idle = try plane.client()
        let busy = try plane.client()
        try busy.send(busy.request())
        _ = try waited(for: "the request", within: .seconds(10)) {
            upstream.connectionCount == 1 ? () : nil
        }
        plane.post(.drain(until: BootTime(milliseconds: .max)))
        #expect(try idle.stream.waitForEnd(within: .seconds(5)) == .closed)
        finish.open()
        let answer = try busy.stream.readResponse(to: "GET")
        #expect(answer.body == "done")
        #expect(answer.value("Connection") == "close")
        plane.group.join()
        #expect(throws: (any Error).self) { try plane.client().exchange() }
    }

    @Test func `serves a connection that had no request yet, where such are taken`() throws {
        let finish = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                if request.path == "/slow" { try finish.pass() }
                return .ok("done")
            }
        }
        var settings = WorkerSettings()
        settings.acceptsWhileDraining = true
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let (fresh, used, busy) = (try plane.client(), try plane.client(), try plane.client())
        #expect(try used.exchange().body == "done")
        try busy.send(busy.request("GET", "/slow"))
        try finish.waitForArrivals(1)
        plane.post(.drain(until: BootTime(milliseconds: .max)))
        #expect(try used.stream.waitForEnd(within: .seconds(5)) == .closed)
        let answer = try fresh.exchange()
        #expect(answer.body == "done")
        #expect(answer.value("Connection") == "close")
        finish.open()
        #expect(try busy.stream.readResponse(to: "GET").body == "done")
    }
}
