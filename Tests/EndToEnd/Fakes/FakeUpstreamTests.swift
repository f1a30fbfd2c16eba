// The scripted upstream does what its script says, and no more.

import Crypto
import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Fake upstream` {
    @Test func `answers requests over one connection and remembers them`() throws {
        let upstream = try FakeUpstream { request in .ok(Octets("you asked \(request.target)")) }
        let client = try RawClient(to: upstream.port)
        #expect(try client.exchange("GET", "/1").body == "you asked /1")
        #expect(try client.exchange("POST", "/2", body: "caf\u{E9}").body == "you asked /2")
        #expect(upstream.requests.map(\.method) == ["GET", "POST"])
        #expect(try upstream.requests.item(1).body == "caf\u{E9}")
        #expect(upstream.connectionCount == 1)
        #expect(try upstream.received.item(0).hasSuffix("\r\n\r\ncaf\u{E9}"))
    }

    @Test func `reads and writes chunks with trailers`() throws {
        let upstream = try FakeUpstream { request in
            FakeResponse(
                framing: .chunked(
                    [request.body, "two"], trailers: [("X-Sum", "\(request.body.count)")]))
        }
        let client = try RawClient(to: upstream.port)
        try client.send(
            "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Up: 1\r\n\r\n")
        let response = try client.stream.readResponse()
        #expect(response.body == "abcdefgtwo")
        #expect(response.isChunked)
        #expect(response.trailers == [.init(name: "X-Sum", value: "7")])
        #expect(try upstream.requests.item(0).trailers == [.init(name: "X-Up", value: "1")])
    }

    @Test func `ends connections as its script says`() throws {
        let upstream = try FakeUpstream { connection in
            let head = try connection.expectHead()
            switch head.path {
            case "/reset": connection.stream.reset()
            case "/close": connection.stream.close()
            default:
                try connection.write("half")
                try connection.stream.halfClose()
                connection.note(
                    try HTTPMessage(head: connection.stream.readToEnd() + "\r\n\r\n"))
            }
        }
        let ask = { (target: String) throws -> RawClient in
            let client = try RawClient(to: upstream.port)
            try client.send(client.request("GET", target))
            return client
        }
        #expect(try ask("/reset").stream.waitForEnd() == .reset)
        #expect(try ask("/close").stream.waitForEnd() == .closed)
        let client = try ask("/half")
        #expect(try client.stream.readToEnd() == "half")
        try client.send("still here")
        client.stream.close()
        #expect(try upstream.waitForRequests(1)[0].startLine == "still here")
        #expect(upstream.failures.isEmpty)
    }

    @Test func `refuses connections once it is stopped`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let client = try RawClient(to: upstream.port)
        try client.exchange()
        upstream.stop()
        #expect(try client.stream.waitForEnd() == .closed)
        #expect(throws: Failure.system("connect", ECONNREFUSED)) {
            try RawClient(to: upstream.port)
        }
    }

    @Test func `speaks TLS with a certificate of the test's own authority`() throws {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let upstream = try FakeUpstream(
            tls: .server(certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        ) { request in
            FakeResponse(body: Octets("\(request.method) ") + request.body, closes: true)
        }
        let directory = try TemporaryDirectory()
        let curl = try ChildProcess(
            [
                "/usr/bin/curl", "-sS", "--cacert", authority.caFile, "--data-binary", "@-",
                "\(upstream.url)/",
            ], environment: [:], directory: directory.path,
            input: Octets(repeating: 0x78, count: 200_000))
        #expect(try curl.waitForEnd() == .exited(0), "\(curl.printed(.error))")
        #expect(curl.printed(.output) == Octets("POST ") + Octets(repeating: 0x78, count: 200_000))
    }
}
