// Other protocols on a stream of HTTP/2 (RFC 8441), which the upstream is asked for in HTTP/1.

import DataPlane
import HTTP2Wire
import Routing
import Support
import Testing

@Suite struct `Clients of extended CONNECT` {
    /// Reads frames until something is true of all that came.
    private func frames(
        _ stream: SocketStream,
        until isEnough: ([(kind: UInt8, flags: UInt8, stream: UInt32, payload: Octets)]) -> Bool
    ) throws -> [(kind: UInt8, flags: UInt8, stream: UInt32, payload: Octets)] {
        var all = Octets("")
        while !isEnough(HTTP2Frame.split(all)) {
            guard let more = try stream.readSome() else { throw Failure.ended("before the frames") }
            all += more
        }
        return HTTP2Frame.split(all)
    }

    private func connect(_ plane: TestPlane, to name: String = "websocket") -> [(String, String)] {
        [
            (":method", "CONNECT"), (":protocol", name), (":scheme", "http"),
            (":path", "/ws"), (":authority", "127.0.0.1:\(plane.port)"),
            ("sec-websocket-version", "13"),
        ]
    }

    @Test func `get WebSocket on a stream (RFC 8441), with the credential at the handshake`() throws
    {
        let upstream = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            #expect(request.startLine == "GET /ws HTTP/1.1")
            #expect(request.value("Upgrade")?.lowercased() == "websocket")
            #expect(request.value("Sec-WebSocket-Key")?.count == 24)
            #expect(request.value("Authorization") == "Bearer token-1")
            try connection.write(
                "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                    + "Sec-WebSocket-Accept: x\r\n\r\nfirst")
            let early = try connection.stream.read(10)
            try connection.write(early + " back")
            #expect(try connection.stream.waitForEnd() == .closed)
        }
        let plane = try TestPlane(upstream: upstream.url)
        let stream = try SocketStream.connect(to: plane.port)
        try stream.write(
            HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.headers(1, connect(plane), endsStream: false)
                + HTTP2Frame.data(1, "early"))
        let data = HTTP2Frame.Kind.data.rawValue
        var got = try frames(stream) { $0.contains { $0.kind == data } }
        let head = got.first { $0.kind == HTTP2Frame.Kind.headers.rawValue }
        // `:status: 200` of the static table.
        #expect(head?.payload.bytes.first == 0x88)
        #expect(got.first { $0.kind == data }?.payload == "first")
        try stream.write(HTTP2Frame.data(1, " more"))
        got = try frames(stream) { $0.contains { $0.kind == data } }
        #expect(got.first { $0.kind == data }?.payload == "early more back")
        try stream.write(HTTP2Frame.data(1, "", endsStream: true))
        got = try frames(stream) {
            $0.contains { $0.flags & HTTP2Frame.endStream != 0 && $0.kind == data }
        }
        #expect(upstream.failures.isEmpty)
    }

    @Test func `C052: that ask for another protocol than may pass are refused on their stream`()
        throws
    {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url)
        let stream = try SocketStream.connect(to: plane.port)
        try stream.write(
            HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.headers(
                    1, connect(plane, to: "secret-protocol"), endsStream: false))
        let body = try frames(stream) {
            $0.contains { $0.kind == HTTP2Frame.Kind.data.rawValue && $0.payload.contains("}") }
        }.map(\.payload.text).joined()
        #expect(body.contains("upgrade_not_allowed"))
        #expect(upstream.requests.isEmpty)
    }
    /// The text of the DATA that answers a request of that head, up to the stream's end.
    private func answer(
        _ plane: TestPlane, _ fields: [(String, String)]
    ) throws -> String {
        let stream = try SocketStream.connect(to: plane.port)
        try stream.write(
            HTTP2Frame.preface + HTTP2Frame.settings()
                + HTTP2Frame.headers(1, fields, endsStream: false))
        let data = HTTP2Frame.Kind.data.rawValue
        return try frames(stream) {
            $0.contains { $0.kind == data && $0.flags & HTTP2Frame.endStream != 0 }
        }.filter { $0.kind == data }.map(\.payload.text).joined()
    }

    /// The upstream would take the next request for the body that was announced.
    @Test(arguments: ["5", "0"])
    func `C016: cannot announce a body, so that the next request would be taken for it`(
        _ length: String
    ) throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("plain") } }
        let plane = try TestPlane(upstream: upstream.url)
        let fields = connect(plane) + [("content-length", length)]
        #expect(try answer(plane, fields).contains("bad_request"))
        #expect(upstream.connectionCount == 0)
        #expect(try plane.client().exchange("GET", "/next").body == "plain")
        #expect(upstream.requests.map(\.target) == ["/next"])
    }

    @Test(arguments: ["websocket", "h2c", "HTTP/2.0", "tls"])
    func `C052: are refused where the route passes nothing on, and get no plain request`(
        _ name: String
    ) throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok() } }
        let plane = try TestPlane(upstream: upstream.url, upgrades: [])
        let text = try answer(plane, connect(plane, to: name))
        #expect(text.contains("upgrade_not_allowed"))
        #expect(upstream.connectionCount == 0)
    }

    @Test func `have no say in the key of the handshake`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in FakeResponse(404, body: "no") } }
        let plane = try TestPlane(upstream: upstream.url)
        let fields = connect(plane) + [("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==")]
        #expect(try answer(plane, fields) == "no")
        let keys = try #require(upstream.requests.first).values("Sec-WebSocket-Key")
        #expect(keys.count == 1 && keys[0] != "dGhlIHNhbXBsZSBub25jZQ==")
    }

    /// To them any 2xx says that the protocol is spoken from here on (RFC 8441 section 5).
    @Test func `are told so where the upstream answers with a page`() throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok("a page") } }
        let plane = try TestPlane(upstream: upstream.url)
        #expect(try answer(plane, connect(plane)).contains("upgrade_refused"))
        #expect(try plane.client().exchange("GET", "/next").body == "a page")
    }
}
