// What a peer may send that no session of ours would: malformed, oversized, endless, too often.

import HTTP2Wire
import HTTPWire
import Support
import Testing

private let start = HTTP2Frame.preface + HTTP2Frame.settings()
private let target = [(":method", "GET"), (":scheme", "http"), (":path", "/")]
private let post = [
    (":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "localhost"),
]

/// A field of 4,000 bytes in the compression's table, and that many bytes that each name it.
private func largeFields(naming count: Int) -> Octets {
    let entry = [0x40, 1, 0x61, 127] + [UInt8(0x80 | (3873 % 128)), UInt8(3873 / 128)]
    return Octets(
        entry + Array(repeating: 0x62, count: 4000) + Array(repeating: 0xBE, count: count))
}

/// A request of some kilobytes whose head has `count` times 4,000 bytes.
private func bomb(_ stream: UInt32, naming count: Int) -> Octets {
    HTTP2Frame.frame(
        .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: stream,
        HTTP2Frame.block(target + [(":authority", "localhost")]) + largeFields(naming: count))
}

/// A server that has greeted its client.
private func server(_ limits: SessionLimits = SessionLimits()) -> Recorder {
    let recorder = Recorder(ServerSession(limits))
    recorder.receive(start)
    _ = recorder.produce()
    return recorder
}

/// The code of the GOAWAY in some frames.
private func goAway(_ octets: Octets) -> UInt8? {
    HTTP2Frame.split(octets).last { $0.kind == HTTP2Frame.Kind.goAway.rawValue }?.payload.bytes[7]
}

/// The streams that some frames reset, with the code.
private func resets(_ octets: Octets) -> [UInt32: UInt8] {
    let frames = HTTP2Frame.split(octets).filter { $0.kind == HTTP2Frame.Kind.reset.rawValue }
    return Dictionary(frames.map { ($0.stream, $0.payload.bytes[3]) }) { first, _ in first }
}

@Suite struct `A hostile peer` {
    @Test(arguments: [
        // An absolute form in :path, which as text would name another authority.
        [
            (":method", "GET"), (":scheme", "ftp"), (":path", "http://evil.example/"),
            (":authority", "localhost"),
        ],
        [(":method", "GET"), (":scheme", "ftp"), (":path", "x"), (":authority", "localhost")],
    ])
    func `cannot name a server in its path`(_ fields: [(String, String)]) {
        let recorder = server()
        recorder.receive(HTTP2Frame.headers(1, fields))
        #expect(recorder[1].flaw == .invalidTarget)
    }

    @Test func `cannot name one server to us and another to the upstream`() {
        let recorder = server()
        recorder.receive(
            HTTP2Frame.headers(1, target + [(":authority", "localhost"), ("host", "evil.example")]))
        #expect(recorder[1].flaw == .authorityMismatch)
        recorder.receive(
            HTTP2Frame.headers(3, target + [(":authority", "localhost"), ("host", "LOCALHOST")]))
        #expect(recorder[3].flaw == nil)
        recorder.receive(HTTP2Frame.headers(5, target + [("host", "a"), ("host", "a")]))
        #expect(recorder.order == [1, 3])
        recorder.receive(HTTP2Frame.headers(7, target + [("host", "localhost:1")]))
        #expect(recorder[7].head == "GET / HTTP/1.1\r\nhost: localhost:1\r\n\r\n")
    }

    @Test(arguments: [
        [("connection", "close")], [("transfer-encoding", "chunked")], [("upgrade", "h2c")],
        [("keep-alive", "1")], [("proxy-connection", "close")], [("te", "gzip")],
        [("X-Upper", "1")], [("x y", "1")], [("x", "a\r\nhost: evil")], [("x", "a\0b")],
        [("content-length", "5")], [(":method", "POST")], [(":unknown", "1")], [("", "1")],
        [("content-length", "0"), ("content-length", "0")], [("content-length", "+0")],
    ])
    func `has malformed requests reset`(_ fields: [(String, String)]) {
        let recorder = server()
        recorder.receive(
            HTTP2Frame.headers(1, target + [(":authority", "localhost")] + fields))
        let output = recorder.produce()
        #expect(resets(output)[1] != nil || goAway(output) != nil)
        #expect(recorder.order.isEmpty)
        #expect(recorder.session.streamCount == 0)
        // Nothing of it is waited for.
        #expect(!recorder.session.isInsideHead)
    }

    @Test func `has its cookie crumbs joined`() {
        let recorder = server()
        recorder.receive(
            HTTP2Frame.headers(
                1,
                target + [
                    (":authority", "localhost"), ("cookie", "a=1"), ("x", "y"), ("cookie", "b=2"),
                ]))
        #expect(
            recorder[1].head
                == "GET / HTTP/1.1\r\nx: y\r\nhost: localhost\r\ncookie: a=1; b=2\r\n\r\n")
    }

    @Test(arguments: [("GET", ""), ("POST", "content-length: 0\r\n")])
    func `may end a request without a body by an empty frame`(_ method: String, _ length: String) {
        let recorder = server()
        let fields = [(":method", method)] + target.dropFirst() + [(":authority", "localhost")]
        let plain = Octets("\(method) / HTTP/1.1\r\nhost: localhost\r\n")
        recorder.receive(
            HTTP2Frame.headers(1, fields, endsStream: false)
                + HTTP2Frame.data(1, "", endsStream: true) + HTTP2Frame.get(3))
        #expect(recorder[1].head == plain + Octets(length) + "\r\n")
        #expect(recorder[1].isWhole && recorder[3].isWhole)
        // What comes later comes too late.
        recorder.receive(HTTP2Frame.headers(5, fields, endsStream: false))
        recorder.receive(HTTP2Frame.data(5, "", endsStream: true))
        #expect(recorder[5].head == plain + "transfer-encoding: chunked\r\n\r\n")
        #expect(recorder[5].isWhole)
    }

    /// The limit of a head's bytes bounds them.
    @Test func `may cut its cookies into as many crumbs as it likes`() {
        let recorder = server()
        let crumbs = (0..<1000).map { ("cookie", "a\($0)=b") }
        recorder.receive(HTTP2Frame.headers(1, target + [(":authority", "localhost")] + crumbs))
        #expect(recorder[1].flaw == nil)
        let cookie = crumbs.map(\.1).joined(separator: "; ")
        #expect(recorder[1].head.text.hasSuffix("cookie: \(cookie)\r\n\r\n"))
        let large = HTTP2Frame.block(
            Array(repeating: ("cookie", String(repeating: "b", count: 1900)), count: 8))
        recorder.receive(
            HTTP2Frame.frame(
                .headers, flags: HTTP2Frame.endStream, stream: 3,
                HTTP2Frame.block(target + [(":authority", "localhost")])))
        for frame in 1...5 {
            let flags = frame == 5 ? HTTP2Frame.endHeaders : 0
            recorder.receive(HTTP2Frame.frame(.continuation, flags: flags, stream: 3, large))
        }
        #expect(recorder[3].flaw == .headTooLarge(limit: 65_536))
    }

    @Test func `may leave out the length of an upload without a body`() {
        let recorder = server()
        recorder.receive(
            HTTP2Frame.headers(
                1,
                [
                    (":method", "POST"), (":scheme", "http"), (":path", "/"),
                    (":authority", "localhost"),
                ]))
        #expect(recorder[1].head.hasSuffix("content-length: 0\r\n\r\n"))
    }

    @Test func `has a head refused that is too large, in bytes or fields, and held no more of it`()
    {
        let recorder = server()
        recorder.receive(bomb(1, naming: 40))
        #expect(recorder[1].flaw == .headTooLarge(limit: 65_536))
        #expect(recorder[1].head.count < 70_000)
        let many = (0..<129).map { ("x-\($0)", "") }
        recorder.receive(
            HTTP2Frame.headers(3, target + [(":authority", "localhost")] + many))
        #expect(recorder[3].flaw == .tooManyFields(limit: 128))
    }

    @Test func `has a head cut that is far too large, and is sent away if it goes on`() {
        let recorder = server()
        recorder.receive(bomb(1, naming: 1000))
        #expect(resets(recorder.produce()) == [1: 11])
        #expect(recorder.order.isEmpty)
        #expect(!recorder.session.isInsideHead)
        // The table of the compression is what it has to be.
        recorder.receive(
            HTTP2Frame.frame(
                .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: 3,
                HTTP2Frame.block(target + [(":authority", "localhost")]) + Octets([0xBE])))
        #expect(
            recorder[3].head
                == Octets(
                    "GET / HTTP/1.1\r\na: \(String(repeating: "b", count: 4000))\r\n"
                        + "host: localhost\r\n\r\n"))
        var output = Octets("")
        var bombs = 1
        while !recorder.session.isOver && bombs < 100 {
            bombs += 1
            recorder.receive(bomb(UInt32(bombs * 2 + 1), naming: 1000))
            output += recorder.produce()
        }
        #expect(bombs < 10)
        #expect(goAway(output) == 11)
    }

    @Test func `that makes all its heads a little too large is told so, and sent away in time`() {
        let recorder = server()
        var heads = 0
        while !recorder.session.isOver && heads < 1000 {
            heads += 1
            recorder.receive(bomb(UInt32(heads * 2 + 1), naming: 40))
            _ = recorder.produce()
        }
        #expect(recorder.order.count > 8)
        #expect(recorder.order.allSatisfy { recorder[$0].flaw == .headTooLarge(limit: 65_536) })
        #expect(heads < 50)
        // With time between them it may go on.
        let patient = server()
        for index in 1...100 {
            patient.now += 2000
            patient.receive(bomb(UInt32(index * 2 + 1), naming: 40))
            _ = patient.produce()
        }
        #expect(!patient.session.isOver)
    }

    @Test func `that answers with a head far too large has it cut, and its other answers taken`() {
        let pair = SessionPair()
        pair.run()
        let heads = [
            pair.request("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
            pair.request("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ]
        #expect(heads.allSatisfy { $0 != nil })
        _ = pair.atClient.produce()
        let status = Octets([0x88])
        pair.atClient.receive(
            HTTP2Frame.frame(
                .headers, flags: HTTP2Frame.endHeaders, stream: 1,
                status + largeFields(naming: 1000)))
        #expect(pair.atClient[1].flaw == .headTooLarge(limit: 65_536))
        #expect(resets(pair.atClient.produce())[1] == 11)
        pair.atClient.receive(
            HTTP2Frame.frame(
                .headers, flags: HTTP2Frame.endHeaders | HTTP2Frame.endStream, stream: 3, status))
        #expect(pair.atClient[3].flaw == nil)
        #expect(pair.atClient[3].head.hasPrefix("HTTP/1.1 200"))
        #expect(!pair.client.isOver)
    }

    @Test func `cannot keep a head going for ever`() {
        let recorder = server()
        let field = HTTP2Frame.block([("x", String(repeating: "y", count: 100))])
        recorder.receive(
            HTTP2Frame.frame(
                .headers, stream: 1,
                HTTP2Frame.block(target + [(":authority", "localhost")])))
        for _ in 0..<1000 where !recorder.session.isOver {
            recorder.receive(HTTP2Frame.frame(.continuation, stream: 1, field))
            _ = recorder.produce()
        }
        #expect(recorder.session.isOver)
        #expect(recorder.order.isEmpty)
    }

    /// Each makes the frames of one round and costs the peer next to nothing.
    private static let floods: [(name: String, round: @Sendable (UInt32) -> Octets)] = [
        ("resets", { HTTP2Frame.get($0) + HTTP2Frame.reset($0) }),
        ("resets that we make", { HTTP2Frame.get($0) + HTTP2Frame.windowUpdate($0, 0) }),
        ("malformed requests", { HTTP2Frame.headers($0, [("connection", "close")]) }),
        ("pings", { _ in HTTP2Frame.ping() }),
        ("settings", { _ in HTTP2Frame.settings([(4, 65_535)]) }),
        ("priorities", { HTTP2Frame.frame(.priority, stream: $0, "\0\0\0\0\u{10}") }),
        ("window updates", { _ in HTTP2Frame.windowUpdate(0, 1) }),
        ("frames of no known kind", { _ in HTTP2Frame.frame(0xEE) }),
        ("alternative services", { _ in HTTP2Frame.frame(10, "\0\0") }),
        ("priority updates", { _ in HTTP2Frame.frame(16, "\0\0\0\u{3}u=1") }),
    ]

    @Test(arguments: 0..<10)
    func `that floods is sent away, whatever it floods with`(_ index: Int) {
        let flood = Self.floods[index]
        let recorder = server()
        var output = Octets("")
        var rounds = 0
        while !recorder.session.isOver && rounds < 10_000 {
            recorder.receive(flood.round(UInt32(rounds * 2 + 1)))
            output += recorder.produce()
            rounds += 1
        }
        #expect(recorder.session.isOver, "\(flood.name)")
        #expect(rounds < 2000, "\(flood.name)")
        #expect(goAway(output) != nil, "\(flood.name)")
    }

    @Test(arguments: [
        HTTP2Frame.data(1, ""), HTTP2Frame.frame(0, flags: 8, stream: 1, "\u{2}\0\0"),
    ])
    func `that sends empty frames is sent away, padded or not`(_ frame: Octets) {
        let recorder = server()
        recorder.receive(
            HTTP2Frame.headers(
                1,
                [
                    (":method", "POST"), (":scheme", "http"), (":path", "/"),
                    (":authority", "localhost"),
                ], endsStream: false))
        var rounds = 0
        while !recorder.session.isOver && rounds < 10_000 {
            recorder.receive(frame)
            _ = recorder.produce()
            rounds += 1
        }
        #expect(rounds < 2000)
    }

    @Test func `that has us reset its request is known before anything is begun`() {
        let recorder = server()
        var wasBroken: [Bool] = []
        recorder.onHead = { wasBroken.append($0.isBroken) }
        // More than a window can hold is an error of the stream's (RFC 9113 section 6.9.1).
        recorder.receive(
            HTTP2Frame.get(1) + HTTP2Frame.windowUpdate(1, 0x7FFF_FFFF) + HTTP2Frame.get(3))
        #expect(wasBroken == [true, false])
        #expect(resets(recorder.produce()).keys.sorted() == [1])
    }

    @Test func `that takes its time may do all of it`() {
        let recorder = server()
        for round in 0..<5000 {
            recorder.now += 20
            recorder.receive(
                HTTP2Frame.get(UInt32(round * 2 + 1)) + HTTP2Frame.reset(UInt32(round * 2 + 1))
                    + HTTP2Frame.ping())
            _ = recorder.produce()
        }
        #expect(!recorder.session.isOver)
        #expect(recorder.session.streamCount == 0)
    }

    @Test func `that begins again what it has ended is sent away`() {
        for first in [HTTP2Frame.reset(1), HTTP2Frame.ping()] {
            let recorder = server()
            recorder.onHead = { stream in
                var head = Octets("HTTP/1.1 204 No Content\r\n\r\n").bytes
                head.withUnsafeMutableBytes { head in
                    (recorder.session as? ServerSession)?.sendHead(
                        head, on: stream, endsStream: true)
                }
            }
            recorder.receive(HTTP2Frame.get(1) + first)
            _ = recorder.produce()
            recorder.receive(HTTP2Frame.get(1))
            #expect(goAway(recorder.produce()) == 5)
        }
        let recorder = server()
        recorder.receive(HTTP2Frame.get(5))
        recorder.receive(HTTP2Frame.get(3))
        #expect(goAway(recorder.produce()) == 1)
    }

    /// nghttp2 drops such DATA and tells nobody.
    @Test(arguments: [1, 3, 1000])
    func `that sends data on what it has ended is sent away, however it is cut`(_ piece: Int) {
        for late in [
            HTTP2Frame.data(1, "late"), HTTP2Frame.data(1, "", endsStream: true),
            HTTP2Frame.data(1, Octets.pattern(count: 3000)),
        ] {
            for ending in [HTTP2Frame.reset(1), HTTP2Frame.data(1, "end", endsStream: true)] {
                let recorder = server()
                recorder.onHead = { stream in
                    var head = Octets("HTTP/1.1 204 No Content\r\n\r\n").bytes
                    head.withUnsafeMutableBytes { head in
                        (recorder.session as? ServerSession)?.sendHead(
                            head, on: stream, endsStream: true)
                    }
                }
                recorder.receive(
                    HTTP2Frame.headers(1, post, endsStream: false) + HTTP2Frame.data(1, "body")
                        + ending)
                #expect(goAway(recorder.produce()) == nil)
                var bytes = (late + HTTP2Frame.ping()).bytes[...]
                while !bytes.isEmpty {
                    recorder.receive(Octets(Array(bytes.prefix(piece))))
                    bytes = bytes.dropFirst(piece)
                }
                #expect(goAway(recorder.produce()) == 5)
            }
        }
    }

    @Test func `that sends data on a stream that it has passed over is sent away`() {
        let recorder = server()
        recorder.receive(HTTP2Frame.get(5))
        recorder.receive(HTTP2Frame.data(3, "never begun"))
        #expect(goAway(recorder.produce()) == 1)
    }

    @Test func `may still send on what we have ended`() throws {
        let recorder = server()
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/"), (":authority", "localhost"),
        ]
        recorder.receive(HTTP2Frame.headers(1, fields, endsStream: false))
        recorder.session.reset(try #require(recorder.streams[1]), .cancel)
        _ = recorder.produce()
        recorder.receive(HTTP2Frame.data(1, "late") + HTTP2Frame.headers(1, [("x", "y")]))
        recorder.receive(HTTP2Frame.data(1, "later") + HTTP2Frame.reset(1))
        recorder.receive(HTTP2Frame.get(3))
        #expect(goAway(recorder.produce()) == nil)
        #expect(recorder.order == [1, 3])
    }

    @Test func `that opens more streams than it may has the rest refused`() {
        var limits = SessionLimits()
        limits.streamsMax = 4
        let recorder = server(limits)
        recorder.receive(HTTP2Frame.frame(.settings, flags: HTTP2Frame.acknowledgement))
        for index in 0..<10 {
            recorder.receive(HTTP2Frame.get(UInt32(index * 2 + 1)))
        }
        #expect(recorder.order.count == 4)
        #expect(recorder.session.streamCount == 4)
    }

    /// It cannot have known, and its bodies are under way already.
    @Test func `that opens more streams than it may can still send their data`() {
        var limits = SessionLimits()
        limits.streamsMax = 2
        // It has not acknowledged the limit yet: beyond that it would be thrown out.
        let recorder = server(limits)
        for stream: UInt32 in [1, 3, 5, 7, 9] {
            recorder.receive(HTTP2Frame.headers(stream, post, endsStream: false))
        }
        recorder.receive(HTTP2Frame.reset(1) + HTTP2Frame.headers(11, post, endsStream: false))
        for stream: UInt32 in [5, 7, 9] {
            recorder.receive(HTTP2Frame.data(stream, "late", endsStream: true))
        }
        recorder.receive(HTTP2Frame.data(11, "body", endsStream: true))
        #expect(goAway(recorder.produce()) == nil)
        #expect(recorder.order == [1, 3, 11])
        #expect(recorder[11].body == "body")
    }

    @Test func `that speaks no HTTP 2 is noticed`() {
        let recorder = Recorder(ServerSession())
        recorder.receive("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(recorder.session.isOver)
        let client = Recorder(ClientSession())
        _ = client.produce()
        client.receive("HTTP/1.1 400 Bad Request\r\n\r\n")
        _ = client.produce()
        #expect(client.session.isOver)
    }
}
