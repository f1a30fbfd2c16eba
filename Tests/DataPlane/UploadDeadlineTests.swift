// Clients that begin a body and do not go on with it.

import DataPlane
import HTTP2Wire
import Support
import Testing

@Suite struct `A body that stops` {
    private var settings: WorkerSettings {
        var settings = WorkerSettings()
        settings.clientBody = 300
        return settings
    }

    @Test(arguments: [
        "Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n123",
    ])
    func `is answered with 408, and the upstream let go`(_ rest: String) throws {
        let ended = Gate()
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectHead()
            _ = try connection.stream.waitForEnd()
            ended.open()
        }
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.send("POST / HTTP/1.1\r\nHost: 127.0.0.1:\(plane.port)\r\n\(rest)".octets)
        let answer = try client.stream.readResponse(to: "POST")
        #expect(answer.status == 408)
        #expect(answer.body.text.contains("request_timeout"))
        #expect(answer.values("Connection") == ["close"])
        try ended.pass()
    }

    @Test func `in HTTP 2 ends its stream alone, and may pause where it has no length`() throws {
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            if head.values("Content-Length") == ["10"] {
                _ = try connection.stream.waitForEnd()
            } else if head.target == "/stream" {
                _ = try connection.stream.read(through: "0\r\n\r\n", within: .seconds(60))
                try connection.respond(.ok("streamed"), to: head)
            } else {
                try connection.respond(.ok("other"), to: head)
            }
        }
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try HTTP2Peer.client(to: plane.port)
        let streaming = client.request(
            "POST", "/stream", authority: plane.authority, body: "a", endsBody: false)
        let stopped = client.request(
            "POST", "/", authority: plane.authority, fields: [("content-length", "10")],
            body: "12345", endsBody: false)
        try client.run { client[stopped.id].isWhole }
        #expect(client[stopped.id].status == 408)
        #expect(try client.exchange(authority: plane.authority).body == "other")
        client.send("b", on: streaming, ends: true)
        try client.run { client[streaming.id].isWhole }
        #expect(client[streaming.id].body == "streamed")
    }

    @Test func `may come as slowly as it likes, as long as it comes`() throws {
        let upstream = try FakeUpstream { try $0.serve { .ok($0.body) } }
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.send(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:\(plane.port)\r\nContent-Length: 10\r\n\r\n".octets)
        for _ in 0..<10 {
            pause(.milliseconds(100))
            try client.send("x")
        }
        #expect(try client.stream.readResponse(to: "POST").body == "xxxxxxxxxx")
    }

    /// An application that is asked for nothing yet sends nothing, and one that is not read cannot.
    @Test func `is not missed while somebody else is waited for`() throws {
        let size = 30_000_000
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            // Three times as long as a client may be silent.
            pause(.seconds(1))
            let body = try connection.stream.read(size, within: .seconds(60))
            try connection.respond(.ok("\(body.count)".octets), to: head)
        }
        let plane = try TestPlane(upstream: upstream.url, settings: settings)
        let client = try plane.client()
        try client.send(
            "POST / HTTP/1.1\r\nHost: 127.0.0.1:\(plane.port)\r\nContent-Length: \(size)\r\n\r\n"
                .octets)
        try client.stream.write(.pattern(count: size), within: .seconds(60))
        #expect(try client.stream.readResponse(to: "POST").body == "\(size)".octets)
    }
}
