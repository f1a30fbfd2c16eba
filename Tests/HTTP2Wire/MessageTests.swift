// Messages between two sessions of ours: whole, cut, large, early, refused.

import HTTP2Wire
import HTTPWire
import Support
import Testing

private let get: Octets =
    "GET /a?b=c HTTP/1.1\r\nHost: localhost:8080\r\nX-Name: Andr\u{E9}\r\n\r\n"
private let post: Octets =
    "POST /up HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"

@Suite struct `Messages of HTTP 2` {
    @Test(arguments: [1 << 30, 1, 2, 7])
    func `a request and its response cross, however the bytes are cut`(_ step: Int) throws {
        let pair = SessionPair()
        pair.step = step
        let stream = try #require(pair.request(get))
        pair.run()
        #expect(
            pair.atServer[1].head
                == "GET /a?b=c HTTP/1.1\r\nx-name: Andr\u{E9}\r\nhost: localhost:8080\r\n\r\n")
        #expect(pair.atServer[1].isWhole)
        #expect(stream.isBegun)
        pair.respond(
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n",
            "hello", on: try #require(pair.atServer.streams[1]))
        pair.run()
        #expect(
            pair.atClient[1].head
                == "HTTP/1.1 200 \r\ncontent-length: 5\r\nset-cookie: a\r\nset-cookie: b\r\n\r\n")
        #expect(pair.atClient[1].body == "hello")
        #expect(pair.atClient[1].isWhole)
        #expect(pair.atClient[1].closed == ErrorCode.none)
        #expect(pair.atServer[1].closed == ErrorCode.none)
        #expect(pair.client.streamCount == 0 && pair.server.streamCount == 0)
    }

    @Test(arguments: [1 << 30, 1])
    func `C123: trailers cross both ways, and those that may not be carried are left out`(
        _ step: Int
    ) throws {
        let pair = SessionPair()
        pair.step = step
        _ = pair.request(post, body: "abc", trailers: "X-Sum: 9\r\nAuthorization: Bearer x\r\n")
        pair.run()
        #expect(pair.atServer[1].head.hasSuffix("transfer-encoding: chunked\r\n\r\n"))
        #expect(pair.atServer[1].body == "abc")
        #expect(pair.atServer[1].trailers == "x-sum: 9\r\n")
        pair.respond(
            "HTTP/1.1 200 OK\r\n\r\n", "", trailers: "grpc-status: 0\r\n",
            on: try #require(pair.atServer.streams[1]))
        pair.run()
        #expect(pair.atClient[1].trailers == "grpc-status: 0\r\n")
        #expect(pair.atClient[1].isWhole)
    }

    @Test func `C031: interim responses are told from the final one`() throws {
        let pair = SessionPair()
        _ = pair.request(get)
        pair.run()
        let stream = try #require(pair.atServer.streams[1])
        var early = Octets("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n").bytes
        early.withUnsafeMutableBytes { pair.server.sendInterim($0, on: stream) }
        pair.respond("HTTP/1.1 204 No Content\r\n\r\n", "", on: stream)
        pair.run()
        #expect(pair.atClient[1].interims == ["HTTP/1.1 103 \r\nlink: </a>\r\n\r\n"])
        #expect(pair.atClient[1].head == "HTTP/1.1 204 \r\n\r\n")
        #expect(pair.atClient[1].isWhole)
    }

    @Test func `a large body passes windows and is drained`() throws {
        let pair = SessionPair()
        let body = Octets.pattern(count: 3_000_000)
        var head = post.bytes
        let stream = try #require(
            head.withUnsafeMutableBytes {
                pair.client.request($0, isSecure: false, endsStream: false)
            })
        pair.send(body, on: stream, of: pair.client)
        pair.run()
        #expect(pair.atServer[1].body == body)
        #expect(!pair.atServer[1].isWhole)
        let drains = pair.atClient[1].drains
        #expect(drains > 0)
        pair.send("!", on: stream, of: pair.client)
        pair.finish(stream, of: pair.client)
        pair.run()
        #expect(pair.atServer[1].body == body + "!")
        #expect(pair.atServer[1].isWhole)
        // Nobody waits behind the end.
        #expect(pair.atClient[1].drains == drains)
        pair.respond(
            "HTTP/1.1 200 OK\r\n\r\n", body, on: try #require(pair.atServer.streams[1]))
        pair.run()
        #expect(pair.atClient[1].body == body)
    }

    @Test func `C127: a body that nobody takes stops at its window and holds up no other`() throws {
        let pair = SessionPair()
        pair.atServer.consumes = false
        let body = Octets.pattern(count: 500_000)
        for _ in 0..<40 { _ = pair.request(post, body: body) }
        pair.run()
        for id in stride(from: Int32(1), to: 80, by: 2) {
            #expect(pair.atServer[id].body.count == SessionLimits().streamWindow)
        }
        let last = try #require(pair.atServer.streams[79])
        pair.atServer.consumes = true
        pair.server.consume(SessionLimits().streamWindow, of: last)
        pair.run()
        #expect(pair.atServer[79].body == body)
        #expect(!pair.atServer[1].isWhole)
    }

    @Test func `a response that comes early ends the request without an error`() throws {
        let pair = SessionPair()
        pair.atServer.consumes = false
        _ = pair.request(post, body: Octets.pattern(count: 500_000))
        pair.run()
        let stream = try #require(pair.atServer.streams[1])
        pair.respond("HTTP/1.1 413 Content Too Large\r\n\r\n", "too large", on: stream)
        pair.server.stopRequest(stream)
        pair.run()
        #expect(pair.atClient[1].body == "too large")
        #expect(pair.atClient[1].isWhole)
        #expect(pair.atClient[1].closed == ErrorCode.none)
        #expect(pair.server.streamCount == 0)
    }

    @Test func `a reset reaches the other side with its code`() throws {
        let pair = SessionPair()
        let stream = try #require(pair.request(post, body: Octets.pattern(count: 500_000)))
        pair.atServer.consumes = false
        pair.run()
        pair.client.reset(stream, .cancel)
        pair.run()
        #expect(pair.atServer[1].closed == .cancel)
    }

    @Test func `C126: what a server that goes away has not begun is told from what it has`() throws
    {
        let pair = SessionPair()
        _ = pair.request(get)
        pair.run()
        pair.server.goAway()
        let down = pair.atServer.produce()
        _ = pair.request(post, body: "late")
        let up = pair.atClient.produce()
        pair.atClient.receive(down)
        pair.atServer.receive(up)
        #expect(pair.atClient.hasGoneAway)
        #expect(pair.atClient[3].closed == .refusedStream)
        #expect(pair.client.capacity == 0)
        pair.respond(
            "HTTP/1.1 200 OK\r\n\r\n", "done", on: try #require(pair.atServer.streams[1]))
        pair.run()
        #expect(pair.atClient[1].body == "done")
        #expect(pair.atServer.order == [1])
    }

    @Test func `the server's limit of streams is the client's capacity`() {
        var limits = SessionLimits()
        limits.streamsMax = 3
        let pair = SessionPair(server: limits)
        pair.run()
        #expect(pair.client.capacity == 3)
        for left in [2, 1, 0] {
            _ = pair.request(get)
            #expect(pair.client.capacity == left)
        }
    }

    @Test func `ten thousand requests on one connection leave nothing behind`() {
        let pair = SessionPair()
        pair.atServer.onHead = { pair.respond("HTTP/1.1 200 OK\r\n\r\n", "ok", on: $0) }
        for _ in 0..<1000 {
            for _ in 0..<10 { _ = pair.request(get) }
            pair.run()
        }
        #expect(pair.atClient.messages.count == 10_000)
        #expect(pair.atClient.messages.values.allSatisfy { $0.body == "ok" })
        #expect(!pair.server.isOver && !pair.client.isOver)
        #expect(pair.client.streamCount == 0 && pair.server.streamCount == 0)
    }

    @Test func `lines are kept out of the table from where secrets begin, and no line before`() {
        let (before, secret) = ("GET / HTTP/1.1\r\nHost: localhost\r\n", "X-Key: secret\r\n\r\n")
        func sizes(secretsFrom: Int) -> [Int] {
            let pair = SessionPair()
            _ = pair.atClient.produce()
            return (0..<2).map { _ in
                var bytes = Octets(before + secret).bytes
                bytes.withUnsafeMutableBytes {
                    _ = pair.client.request(
                        $0, isSecure: false, endsStream: true, secretsFrom: secretsFrom)
                }
                return pair.atClient.produce().count
            }
        }
        let first = sizes(secretsFrom: .max)[0]
        // A frame's head and one byte for each of five fields.
        #expect(sizes(secretsFrom: .max)[1] == 9 + 5)
        #expect(sizes(secretsFrom: before.utf8.count + 1)[1] == 9 + 5)
        // :authority goes into the table the first time, which costs its bytes then only.
        let kept = sizes(secretsFrom: before.utf8.count)
        #expect(kept[0] == first)
        #expect(kept[1] > 9 + 4 + secret.utf8.count / 2)
    }

    @Test func `the preface is told from HTTP 1 as early as can be`() {
        func judge(_ octets: Octets) -> Bool? {
            octets.bytes.withUnsafeBytes { ServerSession.isPreface($0) }
        }
        let preface = HTTP2Frame.preface
        for count in 0..<preface.count {
            #expect(judge(Octets(preface.bytes.prefix(count))) == nil)
        }
        #expect(judge(preface) == true)
        #expect(judge(preface + "more") == true)
        for other: Octets in ["G", "POST", "PR ", "PRI * HTTP/1.1", "\0"] {
            #expect(judge(other) == false)
        }
    }
}
