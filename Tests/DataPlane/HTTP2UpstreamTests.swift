// Upstreams that speak HTTP/2, with clients of either protocol before them.

import Bytes
import Crossing
import Crypto
import DataPlane
import Glibc
import HTTP2Wire
import Routing
import Support
import Synchronization
import Testing
import Vocabulary

/// Answers every request of a connection in HTTP/2 until the client goes.
private func serve(
    _ connection: FakeConnection, limits: SessionLimits = SessionLimits(),
    _ respond: @escaping (HTTP2Peer, SessionStream) -> Void
) throws {
    let peer = HTTP2Peer(connection.stream, ServerSession(limits))
    var answered: Set<Int32> = []
    do {
        try peer.run(within: .seconds(300)) {
            for id in peer.recorder.order where peer[id].isWhole && !answered.contains(id) {
                answered.insert(id)
                if let stream = peer.recorder.streams[id] { respond(peer, stream) }
            }
            return false
        }
    } catch Failure.ended {
        return
    } catch Failure.reset {
        return
    }
}

private func ok(_ body: Octets) -> Octets {
    "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n"
}

extension TestPlane {
    var authority: String { "127.0.0.1:\(port)" }
}

@Suite struct `Upstreams of HTTP 2` {
    private func plane(
        _ upstream: FakeUpstream, settings: WorkerSettings = WorkerSettings(),
        caFile: String? = nil
    ) throws -> TestPlane {
        try TestPlane(
            upstream: upstream.url, caFile: caFile, http2: caFile == nil ? .on : .auto,
            settings: settings)
    }

    @Test func `C118: serve HTTP 1 clients over one connection, lengths kept`() throws {
        let heads = Mutex<[Octets]>([])
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                heads.withLock { $0.append(peer[stream.id].head) }
                peer.respond(ok("hello"), "hello", on: stream)
            }
        }
        let plane = try plane(upstream)
        let clients = try (0..<20).map { _ in try plane.client() }
        for _ in 0..<5 {
            for client in clients { try client.send(client.request("GET", "/v1/me?x=1")) }
            for client in clients {
                let answer = try client.stream.readResponse(to: "GET")
                #expect(answer.status == 200)
                #expect(answer.body == "hello")
                #expect(answer.values("Content-Length") == ["5"])
                #expect(!answer.has("Transfer-Encoding"))
            }
        }
        #expect(upstream.connectionCount == 1)
        #expect(plane.dialCount == 1)
        let head = heads.withLock { $0[0].text }
        #expect(head.hasPrefix("GET /v1/me?x=1 HTTP/1.1\r\n"))
        #expect(head.contains("authorization: Bearer token-1\r\n"))
        #expect(head.contains("host: 127.0.0.1:\(upstream.port)\r\n"))
    }

    @Test(arguments: ["Authorization: Bearer ", "X-Api-Key: ", "Cookie: session="])
    func `never get a credential that a table of theirs could keep, whatever its name`(
        _ line: String
    ) throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in peer.respond(ok(""), on: stream) }
        }
        let plane = try plane(upstream)
        let text = "abcdefghijklmnopqrstuvwxyz0123456789"
        plane.post(
            .credential(
                CredentialUpdate(
                    slot: CredentialSlot(0), generation: Generation(2),
                    line: SecretBytes("\(line)\(text)\r\n"), usableUntil: nil)))
        let client = try HTTP2Peer.client(to: plane.port)
        for _ in 0..<2 {
            let answer = try client.exchange(
                authority: plane.authority, fields: [("X-Other", "kept-" + text)])
            #expect(answer.status == 200)
        }
        let frames = HTTP2Frame.split(Octets(upstream.received[0].bytes.dropFirst(24)))
        let blocks = frames.filter { $0.kind == HTTP2Frame.Kind.headers.rawValue }
        try #require(blocks.count == 2)
        // Huffman's shortest code has five bits. The other field is one byte by now.
        let least = text.utf8.count * 5 / 8
        #expect(blocks[1].payload.count >= least)
        #expect(blocks[1].payload.count < 2 * least)
    }

    @Test func `wait for a client that is slow to send its request (C018)`() throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                peer.respond("HTTP/1.1 200 OK\r\n\r\n", peer[stream.id].body, on: stream)
            }
        }
        var settings = WorkerSettings()
        settings.response = 200
        let plane = try plane(upstream, settings: settings)
        let client = try plane.client()
        try client.send(client.request("POST", "/", fields: [("Content-Length", "10")]))
        for piece: Octets in ["hello", "world"] {
            pause(.milliseconds(600))
            try client.send(piece)
        }
        #expect(try client.stream.readResponse(to: "POST").body == "helloworld")
    }

    @Test func `that open no window for a request are a 504`() throws {
        let upstream = try FakeUpstream { connection in
            let peer = HTTP2Peer(connection.stream, ServerSession(SessionLimits()))
            peer.recorder.consumes = false
            try? peer.run(within: .seconds(60)) { false }
        }
        var settings = WorkerSettings()
        settings.response = 300
        let plane = try plane(upstream, settings: settings)
        let client = try plane.client()
        let body = Octets(repeating: 7, count: 4 << 20)
        try? client.send(client.request("POST", "/", body: body))
        let answer = try client.stream.readResponse(to: "POST")
        #expect(answer.status == 504)
        #expect(answer.body.text.contains("stopped reading"))
    }

    @Test func `are found by ALPN, and get requests of HTTP 2 clients`() throws {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let tls = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile,
            alpn: ["h2", "http/1.1"])
        let upstream = try FakeUpstream(tls: tls) { connection in
            try serve(connection) { peer, stream in
                peer.respond("HTTP/1.1 200 OK\r\n\r\n", peer[stream.id].body, on: stream)
            }
        }
        let plane = try plane(upstream, caFile: authority.caFile)
        let client = try HTTP2Peer.client(to: plane.port)
        let body = Octets.pattern(count: 300_000)
        let streams = (0..<50).map { _ in
            client.request("POST", "/echo", authority: plane.authority, body: body)
        }
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        for stream in streams { #expect(client[stream.id].body == body) }
        #expect(upstream.connectionCount == 1)
    }

    @Test func `that choose HTTP 1 by ALPN are given what waited, on connections of their own`()
        throws
    {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let tls = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        let upstream = try FakeUpstream(tls: tls) { try $0.serve { .ok(Octets($0.target)) } }
        let plane = try plane(upstream, caFile: authority.caFile)
        let client = try HTTP2Peer.client(to: plane.port)
        let streams = (0..<20).map { client.request("GET", "/\($0)", authority: plane.authority) }
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        for (number, stream) in streams.enumerated() {
            #expect(client[stream.id].body == Octets("/\(number)"))
        }
    }

    @Test func `C123: trailers pass to clients of both protocols, a head alone too`() throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                if peer[stream.id].head.hasPrefix("GET /alone") {
                    peer.respond("HTTP/1.1 200 OK\r\nGrpc-Status: 5\r\n\r\n", on: stream)
                } else {
                    peer.respond(
                        "HTTP/1.1 200 OK\r\n\r\n", "abc", trailers: "grpc-status: 0\r\n", on: stream
                    )
                }
            }
        }
        let plane = try plane(upstream)
        let client = try HTTP2Peer.client(to: plane.port)
        let answer = try client.exchange(authority: plane.authority)
        #expect(answer.body == "abc")
        #expect(answer.trailers == "grpc-status: 0\r\n")
        let alone = try client.exchange("GET", "/alone", authority: plane.authority)
        #expect(alone.head == "HTTP/1.1 200 \r\ngrpc-status: 5\r\n\r\n")
        #expect(alone.isWhole && alone.trailers == nil)
        let old = try plane.client()
        try old.send(old.request())
        let text = try old.stream.read(through: "\r\n\r\n")
        #expect(text.contains("Transfer-Encoding: chunked"))
        #expect(
            try old.stream.read(through: "0\r\ngrpc-status: 0\r\n\r\n")
                == "3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n")
        #expect(try old.exchange("GET", "/alone").values("Content-Length") == ["0"])
    }

    @Test func `answer a 401 that is cured by a newer credential, once`() throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                let request = peer[stream.id]
                if request.values("authorization") == ["Bearer token-2"] {
                    peer.respond("HTTP/1.1 200 OK\r\n\r\n", request.body, on: stream)
                } else {
                    peer.respond(
                        "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer error=\"invalid_token\"\r\n\r\n",
                        "who?", on: stream)
                }
            }
        }
        let plane = try plane(upstream)
        let body = Octets.pattern(count: 100_000)
        #expect(try plane.client().exchange("POST", "/", body: body).body == body)
        #expect(plane.needs.count == 1)
    }

    @Test func `C126: that go away after every request lose none, whatever the method`() throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                peer.respond(ok("done"), "done", on: stream)
                (peer.recorder.session as? ServerSession)?.goAway()
            }
        }
        let plane = try plane(upstream)
        let client = try HTTP2Peer.client(to: plane.port)
        for round in 0..<100 {
            let first = client.request("GET", "/\(round)", authority: plane.authority)
            let second = client.request("POST", "/\(round)", authority: plane.authority, body: "x")
            try client.run { client[first.id].isWhole && client[second.id].isWhole }
            #expect(client[first.id].body == "done")
            #expect(client[second.id].body == "done")
        }
        #expect(upstream.connectionCount >= 100)
    }

    @Test func `that refuse a stream get it again; that reset it do not, if it may have been done`()
        throws
    {
        let refusals = Mutex(2)
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                if peer[stream.id].head.hasPrefix("POST /reset") {
                    return peer.recorder.session.reset(stream, .internalError)
                }
                let refuses = refusals.withLock { left in
                    left -= 1
                    return left >= 0
                }
                if refuses {
                    peer.recorder.session.reset(stream, .refusedStream)
                } else {
                    peer.respond(ok("done"), "done", on: stream)
                }
            }
        }
        let plane = try plane(upstream)
        #expect(try plane.client().exchange("POST", "/", body: "x").body == "done")
        #expect(refusals.withLock { $0 } == -1)
        let reset = try plane.client().exchange("POST", "/reset", body: "x")
        #expect(reset.status == 502)
        #expect(reset.body.text.contains("upstream_closed"))
    }

    @Test func `are kept to their limit of streams, and what does not fit waits`() throws {
        var limits = SessionLimits()
        limits.streamsMax = 3
        let gate = Gate()
        let upstream = try FakeUpstream { [limits] connection in
            try serve(connection, limits: limits) { peer, stream in
                try? gate.pass()
                peer.respond(ok("done"), "done", on: stream)
            }
        }
        var settings = WorkerSettings()
        settings.sharedPerUpstreamMax = 2
        let plane = try plane(upstream, settings: settings)
        let client = try HTTP2Peer.client(to: plane.port)
        let streams = (0..<30).map { _ in client.request(authority: plane.authority) }
        try client.flush()
        try gate.waitForArrivals(1)
        gate.open()
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        #expect(streams.allSatisfy { client[$0.id].body == "done" })
        #expect(upstream.connectionCount <= 2)
    }

    @Test func `C127: are not read for a client that does not read, and serve the others`() throws {
        let big = Octets.pattern(count: 20_000_000)
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                let isBig = peer[stream.id].head.hasPrefix("GET /big")
                peer.respond("HTTP/1.1 200 OK\r\n\r\n", isBig ? big : "small", on: stream)
            }
        }
        let plane = try plane(upstream)
        let slow = try RawClient(to: plane.port, receiveBufferBytes: 4096)
        try slow.send(slow.request("GET", "/big"))
        _ = try slow.stream.read(through: "\r\n\r\n")
        let client = try HTTP2Peer.client(to: plane.port)
        let gone = client.request("GET", "/big", authority: plane.authority)
        for _ in 0..<20 {
            #expect(try client.exchange(authority: plane.authority).body == "small")
        }
        client.recorder.session.reset(gone, .cancel)
        let other = try client.exchange("GET", "/big", authority: plane.authority)
        #expect(other.body == big)
        #expect(try slow.stream.read(through: "0\r\n\r\n").count > big.count)
        #expect(upstream.connectionCount == 1)
    }

    @Test func `C130: see the stream of a client that has gone reset, and no other`() throws {
        let codes = Mutex<[ErrorCode]>([])
        let haveCome = Mutex(false)
        let upstream = try FakeUpstream { connection in
            let peer = HTTP2Peer(connection.stream, ServerSession())
            try peer.run(within: .seconds(60)) { peer[1].isWhole && peer[3].isWhole }
            haveCome.withLock { $0 = true }
            try peer.run(within: .seconds(60)) { peer[1].closed != nil || peer[3].closed != nil }
            let left: Int32 = peer[1].closed != nil ? 3 : 1
            codes.withLock { $0 = [peer[4 - left].closed ?? .none] }
            if let stream = peer.recorder.streams[left] {
                peer.respond(ok("still"), "still", on: stream)
            }
            try peer.run(within: .seconds(60)) { peer[left].closed != nil }
            _ = try connection.stream.waitForEnd(within: .seconds(60))
        }
        let plane = try plane(upstream)
        let staying = try plane.client()
        try staying.send(staying.request())
        let leaving = try plane.client()
        try leaving.send(leaving.request())
        _ = try waited(for: "both requests") { haveCome.withLock { $0 } ? true : nil }
        leaving.stream.reset()
        #expect(try staying.stream.readResponse(to: "GET").body == "still")
        #expect(codes.withLock { $0 } == [.cancel])
    }

    @Test func `that cannot be reached fail all who wait, at once`() throws {
        let plane = try TestPlane(upstream: "http://127.0.0.1:1", http2: .on)
        let client = try HTTP2Peer.client(to: plane.port)
        let streams = (0..<10).map { _ in client.request(authority: plane.authority) }
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        #expect(streams.allSatisfy { client[$0.id].status == 502 })
    }

    @Test func `C121: that speak something else are an answer of ours`() throws {
        for greeting: Octets in ["HTTP/1.1 400 Bad Request\r\n\r\n", "SSH-2.0-OpenSSH_9\r\n", ""] {
            let upstream = try FakeUpstream { connection in
                try connection.write(greeting)
                _ = try connection.stream.readSome()
            }
            let plane = try plane(upstream)
            #expect(try plane.client().exchange("POST", "/", body: "x").status == 502)
        }
    }

    @Test func `that do not answer are not asked again on that connection`() throws {
        let upstream = try FakeUpstream { connection in
            try serve(connection) { peer, stream in
                if connection.number > 0 { peer.respond(ok("here"), "here", on: stream) }
            }
        }
        var settings = WorkerSettings()
        settings.response = 300
        let plane = try plane(upstream, settings: settings)
        #expect(try plane.client().exchange().status == 504)
        #expect(try plane.client().exchange().body == "here")
        #expect(upstream.connectionCount == 2)
    }

    @Test func `are told when an idle connection ends`() throws {
        let hasGoneAway = Mutex(false)
        let upstream = try FakeUpstream { connection in
            let peer = HTTP2Peer(connection.stream, ServerSession())
            peer.recorder.onHead = { peer.respond(ok("x"), "x", on: $0) }
            try peer.run(within: .seconds(60)) { peer.recorder.hasGoneAway }
            hasGoneAway.withLock { $0 = true }
        }
        var settings = WorkerSettings()
        settings.upstreamIdle = 300
        let plane = try plane(upstream, settings: settings)
        #expect(try plane.client().exchange().body == "x")
        _ = try waited(for: "GOAWAY") { hasGoneAway.withLock { $0 } ? true : nil }
    }

    @Test func `answer early, and the rest of the upload is dropped`() throws {
        let upstream = try FakeUpstream { connection in
            let peer = HTTP2Peer(connection.stream, ServerSession())
            peer.recorder.consumes = false
            peer.recorder.onHead = {
                peer.respond("HTTP/1.1 413 Too Large\r\n\r\n", "too large", on: $0)
            }
            try peer.run(within: .seconds(60)) { peer.recorder.hasGoneAway }
        }
        let plane = try plane(upstream)
        let client = try HTTP2Peer.client(to: plane.port)
        let answer = try client.exchange(
            "POST", "/up", authority: plane.authority, body: Octets.pattern(count: 5_000_000))
        #expect(answer.status == 413)
        #expect(answer.body == "too large")
    }

    /// The upstream agrees to HTTP/2 and then says that it wants HTTP/1.1 (RFC 9113 section 7), on the stream or
    /// for the whole connection.
    @Test(arguments: [false, true])
    func `that want HTTP 1 after all get the request again in it`(_ endsConnection: Bool) throws {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let tls = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile,
            alpn: ["h2", "http/1.1"])
        let multiplexed = Mutex(0)
        let upstream = try FakeUpstream(tls: tls) { connection in
            guard try connection.stream.peek(3) == "PRI" else {
                return try connection.serve { .ok($0.body + Octets($0.target)) }
            }
            multiplexed.withLock { $0 += 1 }
            try serve(connection) { peer, stream in
                if peer[stream.id].head.hasPrefix("GET /new") {
                    peer.respond(ok("new"), "new", on: stream)
                } else if endsConnection {
                    peer.recorder.session.terminate(.http11Required)
                } else {
                    peer.recorder.session.reset(stream, .http11Required)
                }
            }
        }
        let plane = try plane(upstream, caFile: authority.caFile)
        let client = try HTTP2Peer.client(to: plane.port)
        for round in 0..<3 {
            let answer = try client.exchange(
                "POST", "/\(round)", authority: plane.authority, body: "abc")
            #expect(answer.body == Octets("abc/\(round)"))
        }
        if endsConnection {
            #expect(multiplexed.withLock { $0 } == 1)
        } else {
            // Other requests go on in HTTP/2.
            let answer = try client.exchange("GET", "/new", authority: plane.authority)
            #expect(answer.body == "new")
        }
    }
}
