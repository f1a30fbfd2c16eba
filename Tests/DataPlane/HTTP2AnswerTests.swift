// Answers of upstreams that speak HTTP/2, frame by frame: odd, large, broken, or the last words of a connection.

import DataPlane
import HTTP2Wire
import Routing
import Support
import Synchronization
import Testing

/// Answers each request that came to its end with frames, until the client goes.
private func answer(
    _ connection: FakeConnection, _ frames: (Recorder.Message, UInt32) throws -> Octets
) throws {
    let peer = HTTP2Peer(connection.stream, ServerSession())
    var answered: Set<Int32> = []
    while true {
        do {
            try peer.run(within: .seconds(300)) {
                peer.recorder.order.contains { peer[$0].isWhole && !answered.contains($0) }
            }
        } catch Failure.ended {
            return
        } catch Failure.reset {
            return
        }
        for id in peer.recorder.order where peer[id].isWhole && !answered.contains(id) {
            answered.insert(id)
            try connection.write(try frames(peer[id], UInt32(id)))
        }
    }
}

/// A head of a response, not the last frame of its stream.
private func head(_ stream: UInt32, _ fields: [(String, String)], status: String = "200") -> Octets
{
    HTTP2Frame.headers(stream, [(":status", status)] + fields, endsStream: false)
}

@Suite struct `Answers in HTTP 2` {
    private func plane(_ upstream: FakeUpstream) throws -> TestPlane {
        try TestPlane(upstream: upstream.url, http2: .on)
    }

    @Test func `C069: may have large heads, in many frames`() throws {
        let values = (0..<50).map { "c\($0)=" + String(repeating: "v", count: 4000) }
        let upstream = try FakeUpstream { connection in
            try answer(connection) { _, stream in
                let block = HTTP2Frame.block(
                    [(":status", "200")] + values.map { ("set-cookie", $0) })
                var frames = Octets("")
                var rest = block.bytes[...]
                while !rest.isEmpty {
                    let piece = Octets(Array(rest.prefix(16_000)))
                    rest = rest.dropFirst(16_000)
                    frames += HTTP2Frame.frame(
                        frames.isEmpty ? .headers : .continuation,
                        flags: rest.isEmpty ? HTTP2Frame.endHeaders : 0, stream: stream, piece)
                }
                return frames + HTTP2Frame.data(stream, "ok", endsStream: true)
            }
        }
        let plane = try plane(upstream)
        let response = try plane.client().exchange()
        #expect(response.status == 200)
        #expect(response.values("Set-Cookie") == values)
        #expect(response.body == "ok")
    }

    @Test func `may have blanks around their values, which go no further`() throws {
        let upstream = try FakeUpstream { connection in
            try answer(connection) { _, stream in
                head(stream, [("x-a", "b \t"), ("x-c", " d"), ("x-e", " ")])
                    + HTTP2Frame.data(stream, "ok")
                    + HTTP2Frame.headers(stream, [("x-sum", " 9 ")])
            }
        }
        let plane = try plane(upstream)
        let response = try HTTP2Peer.client(to: plane.port).exchange(
            authority: "127.0.0.1:\(plane.port)")
        #expect(response.values("x-a") == ["b"])
        #expect(response.values("x-c") == ["d"])
        #expect(response.values("x-e") == [""])
        #expect(response.trailers == "x-sum: 9\r\n")
    }

    @Test(arguments: [(asks: true, announces: true), (true, false), (false, true)])
    func `may have trailers beside a length, for clients of HTTP 1 that ask for what is announced`(
        asks: Bool, announces: Bool
    ) throws {
        let upstream = try FakeUpstream { connection in
            try answer(connection) { request, stream in
                let fields =
                    [(":status", "200"), ("content-length", "2")]
                    + (announces ? [("trailer", "x-sum")] : [])
                if request.head.hasPrefix("HEAD") { return HTTP2Frame.headers(stream, fields) }
                return HTTP2Frame.headers(stream, fields, endsStream: false)
                    + HTTP2Frame.data(stream, "ok")
                    + HTTP2Frame.headers(stream, [("x-sum", "9")])
            }
        }
        let plane = try plane(upstream)
        let client = try plane.client()
        let fields = asks ? [("TE", "trailers"), ("Connection", "TE")] : []
        for _ in 0..<2 {
            try client.send(client.request("GET", "/", fields: fields))
            let answer = try client.stream.readResponse(to: "GET")
            #expect(answer.body == "ok")
            let isChunked = asks && announces
            #expect(answer.values("Content-Length") == (isChunked ? [] : ["2"]))
            #expect(answer.values("Trailer") == (isChunked ? ["x-sum"] : []))
            #expect(answer.trailers.map(\.name) == (isChunked ? ["x-sum"] : []))
        }
        // The length of what is asked for by HEAD stays.
        try client.send(client.request("HEAD", "/", fields: fields))
        #expect(try client.stream.readResponse(to: "HEAD").values("Content-Length") == ["2"])
        let other = try HTTP2Peer.client(to: plane.port).exchange(
            authority: plane.authority, fields: [("TE", "trailers")])
        #expect(other.values("content-length") == ["2"] && other.trailers == "x-sum: 9\r\n")
    }

    @Test(arguments: ["connection", "two lengths", "no status", "data first"])
    func `that are malformed are answers all the same: none is asked for again`(_ fault: String)
        throws
    {
        let asked = Mutex(0)
        let upstream = try FakeUpstream { connection in
            try answer(connection) { _, stream in
                asked.withLock { $0 += 1 }
                let data = HTTP2Frame.data(stream, "12345", endsStream: true)
                switch fault {
                case "connection": return head(stream, [("connection", "keep-alive")]) + data
                case "two lengths":
                    return head(stream, [("content-length", "5"), ("content-length", "5")]) + data
                case "no status":
                    return HTTP2Frame.headers(stream, [("x", "y")], endsStream: false) + data
                default: return data
                }
            }
        }
        let plane = try plane(upstream)
        let response = try plane.client().exchange()
        #expect(response.status == 502)
        #expect(response.body.text.contains("upstream_malformed"))
        #expect(asked.withLock { $0 } == 1)
    }

    /// Most of it waits for the end of the turn.
    @Test func `that come by the byte arrive whole`() throws {
        let upstream = try FakeUpstream { connection in
            try answer(connection) { _, stream in
                (0..<5000).reduce(into: head(stream, [])) { frames, _ in
                    frames += HTTP2Frame.data(stream, "x")
                } + HTTP2Frame.data(stream, "", endsStream: true)
            }
        }
        let plane = try plane(upstream)
        let client = try plane.client()
        try client.send(client.request())
        _ = try client.stream.read(through: "\r\n\r\n")
        let body = try client.stream.read(through: "0\r\n\r\n")
        let lines = body.text.split(separator: "\r\n")
        #expect(lines.filter { $0.allSatisfy { $0 == "x" } }.joined().count == 5000)
    }

    /// It closes with bytes unread, which resets the connection.
    @Test func `C064: are read although nothing more of the request can be sent`() throws {
        let upstream = try FakeUpstream { connection in
            var limits = SessionLimits()
            limits.streamWindow = 1 << 24
            limits.connectionWindow = 1 << 24
            let peer = HTTP2Peer(connection.stream, ServerSession(limits))
            try peer.run(within: .seconds(60)) { peer[1].body.count > 65_536 }
            try connection.write(
                head(1, [("content-length", "9")], status: "413")
                    + HTTP2Frame.data(1, "too large", endsStream: true)
                    + HTTP2Frame.goAway(last: 1))
        }
        let plane = try plane(upstream)
        for _ in 0..<5 {
            let client = try HTTP2Peer.client(to: plane.port)
            let response = try client.exchange(
                "POST", "/up", authority: "127.0.0.1:\(plane.port)",
                body: Octets.pattern(count: 8_000_000))
            #expect(response.status == 413)
            #expect(response.body == "too large")
        }
    }

    @Test(arguments: ["token-2", "token-9"])
    func `of gRPC that refuse the credential are cured by a newer one, once`(_ good: String)
        throws
    {
        let upstream = try FakeUpstream { connection in
            try answer(connection) { request, stream in
                let isGood = request.values("authorization") == ["Bearer \(good)"]
                return HTTP2Frame.headers(
                    stream,
                    [
                        (":status", "200"), ("content-type", "application/grpc"),
                        ("grpc-status", isGood ? "5" : "16"),
                    ])
            }
        }
        let plane = try plane(upstream)
        let response = try HTTP2Peer.client(to: plane.port).exchange(
            "POST", "/service/Method", authority: "127.0.0.1:\(plane.port)",
            fields: [("Content-Type", "application/grpc"), ("TE", "trailers")], body: "question")
        #expect(response.values("grpc-status") == [good == "token-2" ? "5" : "16"])
        #expect(plane.needs.count == 1)
    }
}
