// Clients that speak HTTP/2 and have sent all that they will.

import HTTP2Wire
import Support
import Testing

@Suite struct `Clients of HTTP 2 that close their sending side` {
    @Test func `C130: get what they have asked for, and no more`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            if head.target == "/" { return try connection.respond(.ok("hello"), to: head) }
            connection.note(head)
            if head.target == "/up" {
                _ = try connection.stream.waitForEnd()
                return gate.open()
            }
            try gate.pass()
            try connection.respond(.ok("answer"), to: head)
        }
        let plane = try TestPlane(upstream: upstream.url)
        let client = try HTTP2Peer.client(to: plane.port)
        // What both say at the beginning is said: nothing is left to be written behind the end.
        #expect(try client.exchange(authority: plane.authority).body == "hello")
        let whole = client.request("GET", "/down", authority: plane.authority)
        client.request(
            "POST", "/up", authority: plane.authority, body: "part", endsBody: false)
        try client.flush()
        try upstream.waitForRequests(2)
        try client.stream.halfClose()
        try client.run { client[whole.id].isWhole }
        #expect(client[whole.id].body == "answer")
        #expect(try client.stream.waitForEnd() == .closed)
    }

    @Test(arguments: [100_000, 65_535])
    func `are let go when their windows are full`(_ size: Int) throws {
        let upstream = try FakeUpstream { try $0.serve { _ in .ok(.pattern(count: size)) } }
        let plane = try TestPlane(upstream: upstream.url)
        let stream = try SocketStream.connect(to: plane.port)
        let fields = [
            (":method", "GET"), (":scheme", "http"), (":path", "/"),
            (":authority", plane.authority),
        ]
        try stream.write(
            HTTP2Frame.preface + HTTP2Frame.settings() + HTTP2Frame.headers(1, fields))
        try stream.halfClose()
        #expect(try stream.waitForEnd() == .closed)
    }
}
