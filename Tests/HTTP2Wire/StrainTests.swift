// What honest peers do often, which is no flood; and where it becomes one.

import HTTP2Wire
import HTTPWire
import Support
import Testing

@Suite struct `The strain of a peer` {
    private let head: Octets = "POST /call HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// gRPC in Go asks after each frame of data how long the way is.
    @Test func `is none where it pings for each frame that it gets`() throws {
        let pair = SessionPair()
        for _ in 0..<3000 {
            let stream = try #require(pair.request(head, body: "question"))
            pair.run()
            let atServer = try #require(pair.atServer.streams[stream.id])
            // One for each: HEADERS and DATA of the request, HEADERS, DATA and trailers of the answer.
            for _ in 0..<2 { pair.atClient.receive(HTTP2Frame.ping()) }
            pair.respond(
                "HTTP/1.1 200 OK\r\n\r\n", "answer", trailers: "grpc-status: 0\r\n", on: atServer)
            pair.run()
            for _ in 0..<3 { pair.atServer.receive(HTTP2Frame.ping()) }
            #expect(pair.atClient[stream.id].trailers == "grpc-status: 0\r\n")
        }
        #expect(!pair.client.isOver && !pair.server.isOver)
        #expect(!pair.atClient.hasGoneAway && !pair.atServer.hasGoneAway)
    }

    @Test func `is none where a server ends each early answer by a reset`() throws {
        let pair = SessionPair()
        for _ in 0..<3000 {
            var bytes = head.bytes
            let stream = try #require(
                bytes.withUnsafeMutableBytes {
                    pair.client.request($0, isSecure: false, endsStream: false)
                })
            pair.run()
            let atServer = try #require(pair.atServer.streams[stream.id])
            pair.respond("HTTP/1.1 413 Content Too Large\r\n\r\n", "", on: atServer)
            pair.server.stopRequest(atServer)
            pair.run()
            try #require(pair.atClient[stream.id].head.hasPrefix("HTTP/1.1 413"))
            try #require(pair.atClient[stream.id].closed == ErrorCode.none)
        }
        #expect(!pair.client.isOver && !pair.atClient.hasGoneAway)
    }

    @Test func `of a server leaves it what it was asked, and nothing more, and then ends all`()
        throws
    {
        let pair = SessionPair()
        let stream = try #require(pair.request(head, body: "question"))
        pair.run()
        for _ in 0..<2000 {
            pair.atClient.receive(HTTP2Frame.ping())
            _ = pair.atClient.produce()
        }
        #expect(pair.atClient.hasGoneAway)
        #expect(pair.client.capacity == 0 && !pair.client.isOver)
        let atServer = try #require(pair.atServer.streams[stream.id])
        pair.respond("HTTP/1.1 200 OK\r\n\r\n", "answer", on: atServer)
        pair.run()
        #expect(pair.atClient[stream.id].body == "answer")
        for _ in 0..<4000 {
            pair.atClient.receive(HTTP2Frame.ping())
            _ = pair.atClient.produce()
        }
        #expect(pair.client.isOver)
    }
}
