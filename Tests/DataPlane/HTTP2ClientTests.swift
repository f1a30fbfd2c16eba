// Clients that speak HTTP/2 before an upstream that speaks HTTP/1: the same rules as for any other client.

import Crossing
import DataPlane
import Glibc
import HTTP2Wire
import Routing
import Support
import Testing
import Vocabulary

@Suite struct `Clients of HTTP 2` {
    private func client(_ plane: TestPlane) throws -> HTTP2Peer { try .client(to: plane.port) }
    private func authority(_ plane: TestPlane) -> String { "127.0.0.1:\(plane.port)" }

    @Test func `with prior knowledge share the port, and get the credential that they never had`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("hello") } }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try client(plane).exchange(
            "GET", "/v1/me?x=1", authority: authority(plane), fields: [("Cookie", "a=1")])
        #expect(answer.status == 200)
        #expect(answer.body == "hello")
        #expect(answer.values("content-length") == ["5"])
        #expect(answer.values("connection") == [] && answer.values("transfer-encoding") == [])
        let request = try upstream.waitForRequests(1)[0]
        #expect(request.startLine == "GET /v1/me?x=1 HTTP/1.1")
        #expect(request.values("Authorization") == ["Bearer token-1"])
        #expect(request.values("Host") == ["127.0.0.1:\(upstream.port)"])
        #expect(request.values("Cookie") == ["a=1"])
        #expect(request.values("Transfer-Encoding") == [])
        #expect(try plane.client().exchange().body == "hello")
    }

    @Test func `have a hundred requests under way on one connection`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                try gate.pass()
                return .ok(Octets(request.target))
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let streams = (0..<100).map {
            client.request("GET", "/\($0)", authority: authority(plane))
        }
        try client.flush()
        _ = try waited(for: "a hundred connections") {
            upstream.connectionCount == 100 ? true : nil
        }
        gate.open()
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        for (number, stream) in streams.enumerated() {
            #expect(client[stream.id].body == Octets("/\(number)"))
        }
    }

    @Test func `send bodies in every size, with and without a length`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                FakeResponse(
                    body: request.body,
                    framing: request.isChunked ? .chunked([request.body], trailers: []) : .length)
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        for size in [0, 1, 1000, 16_384, 70_000, 3_000_000] {
            let body = Octets.pattern(count: size)
            let counted = try client.exchange(
                "POST", "/echo", authority: authority(plane),
                fields: [("Content-Length", "\(size)")], body: body)
            #expect(counted.body == body && counted.status == 200)
            let open = try client.exchange("PUT", "/echo", authority: authority(plane), body: body)
            #expect(open.body == body && open.status == 200)
        }
        #expect(upstream.failures.isEmpty)
    }

    @Test func `C123: get trailers, and send them`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectHead()
            #expect(request.values("TE") == ["trailers"])
            let body = try connection.stream.read(through: "0\r\nx-end: 1\r\n\r\n")
            #expect(body.hasPrefix("3\r\nabc\r\n"))
            try connection.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: grpc-status\r\n\r\n"
                    + "3\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let stream = client.request(
            "POST", authority: authority(plane), fields: [("TE", "trailers")], body: "abc",
            trailers: "x-end: 1\r\n")
        try client.run { client[stream.id].isWhole }
        #expect(client[stream.id].body == "abc")
        #expect(client[stream.id].trailers == "grpc-status: 0\r\n")
        #expect(client[stream.id].values("trailer") == ["grpc-status"])
        #expect(upstream.failures.isEmpty)
    }

    @Test func `trailers of either protocol pass the route's rules for names (C012)`() throws {
        let upstream = try FakeUpstream { connection in
            for _ in 0..<2 {
                _ = try connection.expectHead()
                _ = try connection.stream.read(through: "3\r\nabc\r\n0\r\nx-end: 1\r\n\r\n")
                try connection.write(
                    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + "3\r\nabc\r\n0\r\nX_Frame_Options: a\r\ngrpc-status: 0\r\n\r\n")
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        var spec = RouteSpec(upstream: try UpstreamURL(upstream.url))
        spec.setFields = [("X-Team", "blue")]
        spec.setResponseFields = [("X-Frame-Options", "DENY")]
        try plane.reconfigure([spec])
        let trailers = "x_team: red\r\nx-end: 1\r\nX-Team: red\r\n"
        let client = try client(plane)
        let stream = client.request(
            "POST", authority: authority(plane), body: "abc",
            trailers: Octets(trailers.lowercased()))
        try client.run { client[stream.id].isWhole }
        #expect(client[stream.id].trailers == "grpc-status: 0\r\n")
        let plain = try plane.client()
        try plain.send(
            plain.request("POST", "/", fields: [("Transfer-Encoding", "chunked")])
                + "3\r\nabc\r\n0\r\n" + Octets(trailers.replacing("X-Team", with: "X-TEAM"))
                + "\r\n")
        let answer = try plain.stream.readResponse(to: "POST")
        #expect(answer.trailers.map(\.name) == ["grpc-status"])
        #expect(upstream.failures.isEmpty)
    }

    @Test func `C017: get the head before the first byte of the body, and each piece as it comes`()
        throws
    {
        let gate = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n")
            try gate.pass()
            try connection.write("9\r\ndata: 1\n\n\r\n")
            try connection.stream.skip(1, within: .seconds(300))
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let stream = client.request(authority: authority(plane))
        try client.run { client[stream.id].status == 200 }
        #expect(client[stream.id].body == "")
        gate.open()
        try client.run { client[stream.id].body == "data: 1\n\n" }
    }

    @Test func `C031: get interim responses`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try client(plane).exchange(authority: authority(plane))
        #expect(answer.interims.count == 1)
        #expect(answer.status == 204)
    }

    @Test func `C024: get the length of what a HEAD asked for, and no body`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { _ in .ok(Octets.pattern(count: 9757)) }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try client(plane).exchange("HEAD", "/blob", authority: authority(plane))
        #expect(answer.values("content-length") == ["9757"])
        #expect(answer.isWhole && answer.body == "")
    }

    @Test func `have their requests sent again after a 401, body included`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                request.value("Authorization") == "Bearer token-2"
                    ? .ok(request.body) : .invalidToken
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let body = Octets.pattern(count: 200_000)
        let streams = (0..<10).map { _ in
            client.request("POST", "/", authority: authority(plane), body: body)
        }
        try client.run { streams.allSatisfy { client[$0.id].isWhole } }
        for stream in streams { #expect(client[stream.id].body == body) }
        #expect(plane.needs.count == 1)
    }

    @Test func `C008: may not use another name, in whichever field, and nothing is asked upstream`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        #expect(try client.exchange(authority: "evil.example:\(plane.port)").status == 421)
        #expect(try client.exchange(authority: "localhost:1").status == 421)
        let crossSite = try client.exchange(
            authority: authority(plane), fields: [("Origin", "https://evil.example")])
        #expect(crossSite.status == 403)
        #expect(crossSite.values("content-type") == ["application/problem+json"])
        #expect(crossSite.body.text.contains("origin_not_allowed"))
        #expect(try client.exchange("TRACE", authority: authority(plane)).status == 405)
        #expect(try client.exchange(authority: authority(plane)).status == 200)
        #expect(upstream.requests.count == 1)
    }

    @Test func `that name two servers are refused, as is a head too large`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let peer = try client(plane)
        try peer.flush()
        let fields = [
            (":method", "GET"), (":scheme", "http"), (":path", "/"),
            (":authority", authority(plane)),
        ]
        peer.request(authority: authority(plane))
        try peer.stream.write(HTTP2Frame.headers(1, fields + [("host", "evil.example")]))
        try peer.stream.write(
            HTTP2Frame.headers(3, fields + (0..<200).map { ("x-\($0)", "y") }))
        // The answers are to streams that this session believes to be its own.
        peer.request(authority: authority(plane))
        _ = peer.recorder.produce()
        try peer.run { peer[1].isWhole && peer[3].isWhole }
        #expect(peer[1].status == 400)
        #expect(peer[3].status == 431)
        #expect(upstream.requests.isEmpty)
    }

    @Test func `C130: that reset a stream have its upstream request ended, and no other`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            if connection.number == 0 {
                #expect(try connection.stream.waitForEnd() == .closed)
            } else {
                try connection.respond(.ok("second"), to: request)
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let first = client.request("GET", "/1", authority: authority(plane))
        try client.flush()
        try upstream.waitForRequests(1)
        client.recorder.session.reset(first, .cancel)
        let second = client.request("GET", "/2", authority: authority(plane))
        try client.run { client[second.id].isWhole }
        #expect(client[second.id].body == "second")
        #expect(upstream.failures.isEmpty)
    }

    @Test func `C127: that stop reading one stream delay no other, and are not read for`() throws {
        let upstream = try FakeUpstream { connection in
            try connection.serve { request in
                .ok(request.target == "/big" ? Octets.pattern(count: 30_000_000) : "small")
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        client.recorder.consumes = false
        let big = client.request("GET", "/big", authority: authority(plane))
        try client.run { client[big.id].body.count == SessionLimits().streamWindow }
        for _ in 0..<20 {
            #expect(try client.exchange(authority: authority(plane)).body == "small")
        }
        #expect(client[big.id].body.count == SessionLimits().streamWindow)
        client.recorder.consumes = true
        client.recorder.session.consume(SessionLimits().streamWindow, of: big)
        try client.run { client[big.id].isWhole }
        #expect(client[big.id].body == Octets.pattern(count: 30_000_000))
    }

    @Test func `C064: get an answer that comes before the end of their body`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            try connection.write(
                "HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 9\r\n\r\n"
                    + "too large")
            try connection.stream.skip(2_000_000)
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let stream = client.request(
            "POST", "/up", authority: authority(plane), body: Octets.pattern(count: 5_000_000))
        try client.run { client[stream.id].closed != nil }
        #expect(client[stream.id].status == 413)
        #expect(client[stream.id].body == "too large")
        #expect(client[stream.id].closed == ErrorCode.none)
    }

    @Test func `see a response that breaks off as a reset stream`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        }
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try client(plane).exchange(authority: authority(plane))
        #expect(answer.status == 200)
        #expect(!answer.isWhole)
        #expect(answer.closed == .internalError)
    }

    @Test func `are told to go elsewhere when the worker drains, and finish what runs`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { connection in
            try connection.serve { _ in
                try gate.pass()
                return .ok("done")
            }
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        let stream = client.request(authority: authority(plane))
        try client.flush()
        try upstream.waitForRequests(1)
        plane.post(.drain(until: SystemTime.bootTime().advanced(byMilliseconds: 20_000)))
        try client.run { client.recorder.hasGoneAway }
        gate.open()
        try client.run { client[stream.id].isWhole }
        #expect(client[stream.id].body == "done")
        #expect(try client.stream.waitForEnd() == .closed)
    }

    @Test func `hear of the end before the end: a request that crossed the word is answered`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        #expect(try client.exchange(authority: authority(plane)).status == 200)
        plane.post(.drain(until: SystemTime.bootTime().advanced(byMilliseconds: 20_000)))
        try waited(for: "the drain", within: .seconds(10)) {
            (try? plane.client()) == nil ? () : nil
        }
        // It has not read the word yet.
        #expect(try client.exchange(authority: authority(plane)).status == 200)
        #expect(client.recorder.hasGoneAway)
        #expect(try client.stream.waitForEnd(within: .seconds(10)) == .closed)
    }

    @Test func `that come while a worker drains beside its application are served`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.acceptsWhileDraining = true
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        plane.post(.drain(until: BootTime(milliseconds: .max)))
        for _ in 0..<2 {
            #expect(try client(plane).exchange(authority: authority(plane)).status == 200)
        }
    }

    @Test func `that are idle are closed with a word`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.clientIdle = 300
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try client(plane)
        #expect(try client.exchange(authority: authority(plane)).status == 200)
        try client.run { client.recorder.hasGoneAway }
        #expect(try client.stream.waitForEnd() == .closed)
    }

    @Test func `that never end a head are closed`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        var settings = WorkerSettings()
        settings.clientHead = 300
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        for bytes: Octets in [
            "PRI",
            HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.frame(.headers, stream: 1, HTTP2Frame.block([(":method", "GET")])),
        ] {
            let stream = try SocketStream.connect(to: plane.port)
            try stream.write(bytes)
            #expect(try stream.waitForEnd() == .closed)
        }
    }

    @Test func `that reset ten thousand streams a second are sent away, and others are served`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let attacker = try SocketStream.connect(to: plane.port)
        let other = try client(plane)
        try attacker.write(HTTP2Frame.preface + HTTP2Frame.settings())
        let fields = [
            (":method", "GET"), (":scheme", "http"), (":path", "/"),
            (":authority", authority(plane)),
        ]
        var isSentAway = false
        for round in 0..<100 where !isSentAway {
            var burst = Octets("")
            for index in 0..<100 {
                let id = UInt32((round * 100 + index) * 2 + 1)
                burst += HTTP2Frame.headers(id, fields) + HTTP2Frame.reset(id)
            }
            do { try attacker.write(burst) } catch { isSentAway = true }
            #expect(try other.exchange(authority: authority(plane)).status == 200)
        }
        if !isSentAway { _ = try attacker.waitForEnd(within: .seconds(5)) }
        // What was reset in the read that brought it has cost the upstream nothing.
        #expect(upstream.connectionCount < 50)
    }

    @Test func `may open a hundred thousand streams on one connection, one after the other`() throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try client(plane)
        // Refused at once by the name, so that the test is of streams alone.
        for _ in 0..<1000 {
            let streams = (0..<100).map { _ in client.request(authority: "no") }
            try client.run { streams.allSatisfy { client[$0.id].isWhole } }
            #expect(streams.allSatisfy { client[$0.id].status == 421 })
        }
        #expect(try client.exchange(authority: authority(plane)).status == 200)
    }

    /// The upstream would be written to for each frame, which costs more than all else.
    @Test func `that send a body by the byte have it passed on in larger pieces`() throws {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectHead()
            #expect(request.values("Transfer-Encoding") == ["chunked"])
            let body = try connection.stream.read(through: "0\r\n\r\n", within: .seconds(60))
            try connection.write(
                Octets("HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\n\r\n") + body)
        }
        let plane = try TestPlane(upstream: upstream.url)
        let stream = try SocketStream.connect(to: plane.port)
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/"),
            (":authority", authority(plane)),
        ]
        var sent =
            HTTP2Frame.preface + HTTP2Frame.settings()
            + HTTP2Frame.headers(1, fields, endsStream: false)
        for _ in 0..<5000 { sent += HTTP2Frame.data(1, "x") }
        try stream.write(sent + HTTP2Frame.data(1, "", endsStream: true))
        var all = Octets("")
        var body = Octets("")
        while !body.hasSuffix("0\r\n\r\n") {
            guard let more = try stream.readSome() else { throw Failure.ended("before the end") }
            all += more
            body = HTTP2Frame.split(all).filter { $0.kind == 0 }.reduce(into: Octets("")) {
                $0 += $1.payload
            }
        }
        let chunks = body.text.split(separator: "\r\n")
        #expect(chunks.filter { $0.allSatisfy { $0 == "x" } }.joined().count == 5000)
        #expect(chunks.count < 200)
    }
}
