// The same strictness towards upstreams: what cannot be understood becomes 502, never a guess.

import Support
import Testing

@Suite(.ownThread) struct `Requirement 21: responses that cannot be trusted` {
    static let refused: [Malformed] = [
        Malformed("C121 not HTTP", "SSH-2.0-OpenSSH_9\r\n"),
        Malformed("C121 four bytes", "pong"),
        Malformed("nothing at all", ""),
        Malformed("C121 status 099", "HTTP/1.1 099 Low\r\nContent-Length: 0\r\n\r\n"),
        Malformed("C121 status 1000", "HTTP/1.1 1000 High\r\nContent-Length: 0\r\n\r\n"),
        Malformed("status without digits", "HTTP/1.1 OK\r\nContent-Length: 0\r\n\r\n"),
        Malformed("HTTP/2.0", "HTTP/2.0 200 OK\r\nContent-Length: 0\r\n\r\n"),
        Malformed("an HTTP/0.9 body", "<html>hello</html>"),
        Malformed(
            "NUL in a value", "HTTP/1.1 200 OK\r\nX-A: 1\u{00}2\r\nContent-Length: 0\r\n\r\n"),
        Malformed(
            "bare CR in a value", "HTTP/1.1 200 OK\r\nX-A: 1\r2\r\nContent-Length: 0\r\n\r\n"),
        Malformed(
            "bare LF in a value", "HTTP/1.1 200 OK\r\nX-A: 1\nX-B: 2\r\nContent-Length: 0\r\n\r\n"),
        Malformed("folded line", "HTTP/1.1 200 OK\r\nX-A: 1\r\n 2\r\nContent-Length: 0\r\n\r\n"),
        Malformed(
            "C054 two lengths",
            "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello"),
        Malformed("C054 plus", "HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello"),
        Malformed(
            "C054 beyond 64 bits", "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n"
        ),
        Malformed(
            "an unknown coding", "HTTP/1.1 200 OK\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        Malformed(
            "C052 an upgrade that nobody asked for",
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nraw"),
        Malformed("a head without end", "HTTP/1.1 200 OK\r\nX-A: 1\r\n"),
    ]

    @Test(arguments: refused)
    func `becomes 502`(message: Malformed) throws {
        let upstream = try FakeUpstream { connection in
            while try connection.readRequest() != nil {
                try connection.write(message.octets)
                try connection.stream.halfClose()
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        // A method that is never sent twice, so that one request is all the upstream may see.
        let response = try client.exchange("POST", "/", body: "x")
        #expect(response.status == 502, "\(response)")
        #expect(response.value("Content-Type") == "application/problem+json", "\(response)")
        #expect(response.has("Proxy-Status"))
        #expect(upstream.requests.count == 1)
    }

    @Test func `a head beyond the limit becomes 502 (C069)`() throws {
        let upstream = try FakeUpstream { _ in
            FakeResponse(fields: [("X-Long", String(repeating: "a", count: 4 << 20))])
        }
        let setup = try DirectSetup(to: upstream)
        #expect(try setup.proxy.exchange("POST", "/", body: "").status == 502)
    }

    @Test(arguments: ["HTTP/1.1 200\r\n", "HTTP/1.1 200 \r\n", "HTTP/1.0 200 OK\r\n"])
    func `a missing reason and an older version are fine (C121)`(line: String) throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(Octets(line) + "Content-Length: 2\r\n\r\nhi")
        }
        let setup = try DirectSetup(to: upstream)
        let response = try setup.proxy.exchange()
        #expect(response.status == 200)
        #expect(response.body == "hi")
    }

    @Test func `length and chunked together lose the length, or are refused (C120)`() throws {
        let body = Octets.pattern(count: 500)
        let upstream = try FakeUpstream { connection in
            while try connection.readRequest() != nil {
                try connection.write(
                    "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n"
                        + .chunk(body) + "0\r\n\r\n")
            }
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        let response = try client.exchange("POST", "/", body: "")
        if response.status == 200 {
            #expect(response.body == body)
            #expect(response.isChunked)
            #expect(!response.has("Content-Length"))
            #expect(try client.exchange("POST", "/", body: "").body == body)
            #expect(upstream.connectionCount == 2, "such a connection is not to be used again")
        } else {
            #expect(response.status == 502)
        }
    }

    @Test(arguments: [
        ("cut chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel"),
        (
            "malformed size",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nZZ\r\n"
        ),
        ("no last chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"),
        ("cut length", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"),
    ])
    func `a body that breaks off never looks complete`(fault: String, message: String) throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(Octets(message))
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request("POST", "/", body: ""))
        let head = try #require(try client.stream.readHead())
        guard head.status == 200 else {
            #expect(head.status == 502)
            return
        }
        let rest = (try? client.stream.readToEnd()) ?? ""
        #expect(!rest.hasSuffix("0\r\n\r\n"), "\(fault): \(rest)")
        if let length = head.value("Content-Length") { #expect(rest.count < Int(length)!) }
    }
}
