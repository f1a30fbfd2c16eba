import Crossing
import Crypto
import DataPlane
import Support
import Testing
import Vocabulary

private let handshake = [
    ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
]

private let agreement: Octets = """
    HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\nConnection: Upgrade\r\n\
    Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n
    """

extension FakeConnection {
    /// Reads a handshake and agrees.
    @discardableResult
    fileprivate func agree(sending first: Octets = "") throws -> HTTPMessage {
        let request = try expectRequest()
        try write(agreement + first)
        return request
    }

    /// Sends everything back until the client ends its side.
    fileprivate func echo() throws {
        while let bytes = try stream.readSome() { try write(bytes) }
    }
}

extension RawClient {
    /// Asks for a WebSocket and reads the answer's head.
    @discardableResult
    fileprivate func shakeHands(early: Octets = "") throws -> HTTPMessage {
        try send(request("GET", "/ws", fields: handshake) + early)
        return try stream.readResponse()
    }
}

@Suite struct `Upgraded connections` {
    @Test func `carry the credential at the handshake and then any bytes (C057, C058)`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.agree(sending: "first")
            try connection.echo()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let answer = try client.shakeHands(early: "early")
        #expect(answer.status == 101)
        #expect(answer.value("Upgrade") == "websocket")
        #expect(answer.value("Connection") == "Upgrade")
        #expect(answer.value("Sec-WebSocket-Accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
        #expect(try client.stream.read(10) == "firstearly")
        let big = Octets.pattern(count: 3_000_000)
        let stream = client.stream
        for start in stride(from: 0, to: big.count, by: 100_000) {
            let piece = Octets(Array(big.bytes[start..<(start + 100_000)]))
            try stream.write(piece)
            #expect(try stream.read(piece.count) == piece)
        }
        let request = try #require(upstream.requests.first)
        #expect(request.value("Authorization") == "Bearer token-1")
        #expect(request.value("Upgrade") == "websocket")
        #expect(request.value("Connection") == "Upgrade")
        #expect(request.value("Sec-WebSocket-Key") == "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test func `are asked for in HTTP 1, although the upstream would rather speak HTTP 2 (C058)`()
        throws
    {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let tls = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile,
            alpn: ["h2", "http/1.1"])
        let upstream = try FakeUpstream(tls: tls) { connection in
            try connection.agree(sending: "first")
            try connection.echo()
        }
        let plane = try TestPlane(upstream: upstream.url, caFile: authority.caFile)
        let client = try plane.client()
        #expect(try client.shakeHands(early: "early").status == 101)
        #expect(try client.stream.read(10) == "firstearly")
        let request = try #require(upstream.requests.first)
        #expect(request.value("Sec-WebSocket-Key") == "dGhlIHNhbXBsZSBub25jZQ==")
    }

    @Test func `are asked for again with a new token after a 401`() throws {
        let upstream = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                guard request.value("Authorization") == "Bearer token-2" else {
                    try connection.respond(.invalidToken, to: request)
                    continue
                }
                try connection.write(agreement)
                return try connection.echo()
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        #expect(try client.shakeHands().status == 101)
        try client.send("hello")
        #expect(try client.stream.read(5) == "hello")
        #expect(plane.needs == [Need(newerThan: Generation(1))])
        #expect(upstream.requests.map { $0.value("Upgrade") } == ["websocket", "websocket"])
    }

    @Test func `that the upstream refuses stay ordinary connections`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in FakeResponse(426, body: "no") } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        #expect(try client.shakeHands().status == 426)
        #expect(try client.exchange().status == 426)
        #expect(upstream.requests.last?.has("Upgrade") == false)
        #expect(upstream.connectionCount == 1)
    }

    @Test func `end in one direction at a time`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            let sent = try connection.stream.readToEnd()
            try connection.write(sent + ", and good bye")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.shakeHands()
        try client.send("last words")
        try client.stream.halfClose()
        #expect(try client.stream.readToEnd() == "last words, and good bye")
    }

    @Test func `let the upstream end first`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            try connection.stream.halfClose()
            _ = try connection.stream.readToEnd()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.shakeHands()
        #expect(try client.stream.readToEnd().isEmpty)
        try client.send("still heard")
        try client.stream.halfClose()
        try waited(for: "the bytes") {
            upstream.received.first?.hasSuffix("still heard") == true ? () : nil
        }
    }

    @Test func `that break on one side break on the other`() throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            if connection.number == 0 {
                _ = try connection.stream.read(1)
                return connection.stream.reset()
            }
            _ = try connection.stream.waitForEnd()
            ended.open()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let first = try plane.client()
        try first.shakeHands()
        try first.send("x")
        #expect(try first.stream.waitForEnd() == .reset)
        let second = try plane.client()
        try second.shakeHands()
        second.stream.reset()
        try ended.pass(within: .seconds(2))
    }

    @Test func `hold a fast sender back`() throws {
        let released = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            try released.pass()
            while try connection.stream.readSome() != nil {}
            try connection.write("all of it")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.shakeHands()
        let piece = Octets.pattern(count: 1 << 20)
        var sent = 0
        do {
            while sent < 64 {
                try client.stream.write(piece, within: .milliseconds(500))
                sent += 1
            }
        } catch Failure.deadline {}
        #expect(sent < 32, "what is under way fits into socket buffers")
        released.open()
        for _ in sent..<64 { try client.stream.write(piece) }
        try client.stream.halfClose()
        #expect(try client.stream.readToEnd() == "all of it")
    }

    @Test func `are closed after an idle time where one is set`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            _ = try connection.stream.waitForEnd()
        }
        var settings = WorkerSettings()
        settings.tunnelIdle = 300
        settings.clientIdle = 100
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.shakeHands()
        #expect(try client.stream.isQuiet(for: .milliseconds(150)))
        #expect(try client.stream.waitForEnd(within: .seconds(5)) == .reset)

        let patient = try TestPlane(upstream: upstream.url)
        let other = try patient.client()
        try other.shakeHands()
        #expect(try other.stream.isQuiet(for: .milliseconds(600)))
    }

    @Test func `run on while the worker drains, until its grace is over`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.agree()
            try connection.echo()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.shakeHands()
        plane.post(.drain(until: SystemTime.bootTime().advanced(byMilliseconds: 1500)))
        try client.send("more")
        #expect(try client.stream.read(4) == "more")
        _ = try client.stream.waitForEnd(within: .seconds(5))
    }

    @Test(arguments: [
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", true),
        ("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\n\r\n", true),
        ("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", true),
        ("HTTP/1.0 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", true),
        (
            "HTTP/1.1 101 X\r\nUpgrade: websocket\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
            true
        ),
        ("HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", false),
    ])
    func `need the agreement that was asked for (C052)`(answer: String, asks: Bool) throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(answer.octets)
            _ = try connection.stream.waitForEnd()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        let answer = asks ? try client.shakeHands() : try client.exchange("GET", "/ws")
        #expect(answer.status == 502)
        #expect(answer.body.text.contains("upstream_malformed"))
    }

    @Test func `to h2c are not asked for (C051)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try plane.client().exchange(
            "GET", "/",
            fields: [
                ("Connection", "Upgrade, HTTP2-Settings"), ("Upgrade", "h2c"),
                ("HTTP2-Settings", "AAMAAABkAAQCAAAAAAIAAAAA"),
            ])
        #expect(answer.status == 200)
        let request = try #require(upstream.requests.first)
        #expect(!request.has("Upgrade") && !request.has("HTTP2-Settings"))
        #expect(!request.has("Connection"))
    }

    @Test func `to anything else, or with a body, are refused at once`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let plane = try TestPlane(upstream: upstream.url)
        for (fields, body) in [
            ([("Connection", "Upgrade"), ("Upgrade", "tcp")], nil), (handshake, "body"),
        ] as [([(String, String)], Octets?)] {
            let answer = try plane.client().exchange("POST", "/", fields: fields, body: body)
            #expect(answer.status == 403)
            #expect(answer.body.text.contains("upgrade_not_allowed"))
        }
        #expect(upstream.connectionCount == 0)
    }
}

@Suite struct `A tunnel whose upstream has said its last` {
    @Test func `ends in good order though nobody reads what the client still sends`() throws {
        let gone = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.agree(sending: "bye")
            try connection.stream.halfClose()
            // Closed for good: what comes now is answered with a reset.
            connection.stream.close()
            gone.open()
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.shakeHands()
        #expect(try client.stream.readToEnd() == "bye")
        try gone.pass()
        let piece = Octets(repeating: 1, count: 64 * 1024)
        for _ in 0..<50 { try client.send(piece) }
        try client.stream.halfClose()
        #expect(try client.stream.waitForEnd() == .closed)
    }
}
