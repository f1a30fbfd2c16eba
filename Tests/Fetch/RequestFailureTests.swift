// Every way in which a request can fail, and whether the server can have acted on it.

import Bytes
import Crypto
import Fetch
import Support
import Testing
import Vocabulary

@Suite(.serialized) struct `Request failure` {
    let fetcher = CurlFetcher()

    @Test(arguments: [
        "", "localhost/token", "ftp://localhost/", "file:///etc/passwd", "http://", "http:///x",
        "http://user:password@localhost/", "http://localhost:99999/", "http://localhost:0/",
        "http://a b/", "http://localhost/ x", "/token",
    ])
    func `a URL that cannot be meant`(url: String) async {
        let failure = await fetcher.failure(of: .get(url))
        #expect(failure == .invalidURL)
        #expect(failure?.mayHaveArrived == false)
    }

    @Test(arguments: [
        ("X-Name", "a\r\nX-Other: b"), ("X-Name", "a\nb"), ("X-Name", "a\0b"), ("X: Y", "a"),
        ("", "a"), ("X Name", "a"), ("X-Name\r\n", "a"),
    ])
    func `a field that would not stay one field`(name: String, value: String) async throws {
        let server = try FakeUpstream(answering: { _ in .ok() })
        let request = OutboundRequest(.get, server.url, fields: [.init(name, value)])
        guard case .other = await fetcher.failure(of: request) else {
            Issue.record("it was sent")
            return
        }
        #expect(server.connectionCount == 0)
    }

    @Test func `nobody listens`() async throws {
        let failure = await fetcher.failure(of: .get("http://127.0.0.1:\(try refusingPort())/"))
        #expect(failure == .connectionRefused(host: "127.0.0.1"))
        #expect(failure?.mayHaveArrived == false)
    }

    /// No label has more than 63 letters (RFC 1035 section 2.3.4), so no server is asked.
    @Test func `no such name`() async {
        let name = String(repeating: "a", count: 64) + ".test"
        let failure = await fetcher.failure(of: .get("http://\(name)/"))
        #expect(failure == .nameNotResolved(host: name))
        #expect(failure?.mayHaveArrived == false)
    }

    @Test func `no connection in time`() async throws {
        let silent = try SilentPort()
        let failure = await fetcher.failure(
            of: .get("http://127.0.0.1:\(silent.port)/", timeoutMilliseconds: 200))
        #expect(failure == .timedOut(mayHaveArrived: false))
        withExtendedLifetime(silent) {}
    }

    @Test func `no answer in time`() async throws {
        let gate = Gate()
        defer { gate.open() }
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try gate.pass()
        }
        let failure = await fetcher.failure(of: .get(server.url, timeoutMilliseconds: 200))
        #expect(failure == .timedOut(mayHaveArrived: true))
        try await elsewhere { _ = try server.waitForRequests(1) }
    }

    @Test func `an answer that drips for ever`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
            while true {
                try connection.write("x")
                pause(.milliseconds(5))
            }
        }
        let failure = await fetcher.failure(of: .get(server.url, timeoutMilliseconds: 300))
        #expect(failure == .timedOut(mayHaveArrived: true))
        #expect(server.connectionCount >= 1)
    }

    static let brokenAnswers: [Octets] = [
        "", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nabcde\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]

    @Test(arguments: brokenAnswers)
    func `an answer that is cut off`(answer: Octets) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(answer)
        }
        let failure = await fetcher.failure(of: OutboundRequest(.post, server.url))
        #expect(failure == .brokenOff(mayHaveArrived: true))
        #expect(server.connectionCount == 1, "it was not sent again")
    }

    @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"] as [Octets])
    func `a reset in the middle`(answer: Octets) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(answer)
            connection.stream.reset()
        }
        let failure = await fetcher.failure(of: OutboundRequest(.post, server.url))
        #expect(failure == .brokenOff(mayHaveArrived: true))
        #expect(server.connectionCount == 1, "it was not sent again")
    }

    @Test(
        arguments: [
            "SSH-2.0-OpenSSH_9\r\n", "pong", "HTTP/1.1 099 Low\r\n\r\n",
            "HTTP/1.1 1000 High\r\n\r\n",
            "HTTP/1.1 600 High\r\n\r\n", "HTTP/1.1 20x No\r\n\r\n", "HTTP/1.1 200OK\r\n\r\n",
            "HTTP/1.1 101 Switching\r\nUpgrade: h2c\r\n\r\n", "<html>\n\n</html>",
        ] as [Octets])
    func `an answer that is no HTTP`(answer: Octets) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(answer)
        }
        let failure = await fetcher.failure(of: .get(server.url))
        #expect(failure == .notHTTP)
        #expect(failure?.mayHaveArrived == true)
        #expect(server.connectionCount >= 1)
    }

    @Test(
        arguments: [
            "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
            "HTTP/1.1 200 OK\r\n\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n",
        ] as [Octets])
    func `an answer that is too large`(head: Octets) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(head + Octets(repeating: 0x61, count: 1001) + "\r\n0\r\n\r\n")
        }
        var request = OutboundRequest.get(server.url)
        request.responseBytesMax = 1000
        #expect(await fetcher.failure(of: request) == .responseTooLarge(limit: 1000))
        #expect(server.connectionCount >= 1)
    }

    @Test func `an answer of just the limit is no failure`() async throws {
        let server = try FakeUpstream(answering: { _ in .ok(Octets.pattern(count: 100_000)) })
        var request = OutboundRequest.get(server.url)
        request.responseBytesMax = 100_000
        #expect(try await fetcher.fetch(request).body.octets == Octets.pattern(count: 100_000))
        #expect(server.connectionCount >= 1)
    }

    @Test(arguments: [
        ("X-Field: \(String(repeating: "a", count: 1000))\r\n", 100), ("X-Field: a\r\n", 300),
        ("X-Field: \(String(repeating: "a", count: 90_000))\r\n", 1),
    ])
    func `a head that is too large`(line: String, times: Int) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\n")
            for _ in 0..<times { try connection.write(Octets(line)) }
            try connection.write("Content-Length: 0\r\n\r\n")
        }
        let failure = await fetcher.failure(of: .get(server.url))
        guard case .responseTooLarge = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(server.connectionCount >= 1)
    }
}

@Suite(.serialized) struct `Request over TLS` {
    let authority = TestAuthority()

    private func server(_ identity: TestAuthority.Identity) throws -> FakeUpstream {
        try FakeUpstream(
            tls: .server(
                certificateFile: identity.certificateFile, keyFile: identity.keyFile),
            answering: { _ in .ok("over TLS") })
    }

    private var fetcher: CurlFetcher { CurlFetcher(caFile: authority.caFile) }

    @Test func `trusts the configured authority`() async throws {
        let server = try server(authority.loopback())
        for host in ["127.0.0.1", "localhost"] {
            let answer = try await fetcher.fetch(.get("https://\(host):\(server.port)/"))
            #expect(answer.body.octets == "over TLS")
        }
        #expect(server.connectionCount >= 1)
    }

    private func refusal(of identity: TestAuthority.Identity, _ fetcher: CurlFetcher) async throws
        -> String
    {
        let server = try server(identity)
        let failure = await fetcher.failure(of: .get(server.url))
        guard case .tlsFailed("127.0.0.1", let reason) = failure else {
            Issue.record("\(String(describing: failure))")
            return ""
        }
        #expect(failure?.mayHaveArrived == false)
        #expect(server.requests.isEmpty)
        return reason
    }

    @Test func `an expired certificate is refused`() async throws {
        #expect(try await refusal(of: authority.expired(), fetcher).contains("expired"))
    }

    @Test func `a certificate for another host is refused`() async throws {
        #expect(try await refusal(of: authority.wrongHost(), fetcher).contains("127.0.0.1"))
    }

    @Test func `an unknown authority is refused`() async throws {
        let reason = try await refusal(of: authority.loopback(), CurlFetcher())
        #expect(reason.contains("local issuer certificate"))
        let other = TestAuthority(name: "Stranger")
        _ = try await refusal(of: other.loopback(), fetcher)
    }

    @Test func `a trust file that is not there is named`() async throws {
        let missing = CurlFetcher(caFile: "/nowhere/ca.pem")
        #expect(try await refusal(of: authority.loopback(), missing).contains("/nowhere/ca.pem"))
    }

    @Test func `a server without TLS is no TLS`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.stream.readSome()
            try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        let failure = await fetcher.failure(of: .get("https://127.0.0.1:\(server.port)/"))
        guard case .tlsFailed = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(server.connectionCount >= 1)
    }

    @Test(arguments: [true, false])
    func `an end during the handshake leaves nothing sent`(isReset: Bool) async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.stream.readSome()
            if isReset { connection.stream.reset() }
        }
        let failure = await fetcher.failure(of: .get("https://127.0.0.1:\(server.port)/"))
        #expect(failure?.mayHaveArrived == false)
        #expect(server.connectionCount >= 1)
    }

    private func lent(_ trust: TLSTrust, library: String = TLSTrust.library) -> CurlFetcher {
        let shared = SharedTrust(library: library) { context in
            do throws(TLSError) {
                try trust.install(in: context)
                return nil
            } catch {
                return error.reason
            }
        }
        // The file would be believed only where the store cannot be.
        return CurlFetcher(
            driver: CurlDriver(), proxy: .none, caFile: "/nowhere/ca.pem", trust: shared)
    }

    @Test func `a store that is lent counts in place of files`() async throws {
        let server = try server(authority.loopback())
        let good = lent(.file(path: authority.caFile))
        for _ in 0..<2 {
            #expect(try await good.fetch(.get(server.url)).body.octets == "over TLS")
        }
        let reason = try await refusal(of: authority.loopback(), lent(.system))
        #expect(reason.contains("local issuer certificate"))
        #expect(
            try await refusal(of: authority.expired(), good).contains("expired"),
            "verification stays on")
        #expect(try await refusal(of: authority.wrongHost(), good).contains("127.0.0.1"))
    }

    @Test func `a store that cannot be lent says why`() async throws {
        let reason = try await refusal(
            of: authority.loopback(), lent(.file(path: "/missing/ca.pem")))
        #expect(reason.contains("/missing/ca.pem"))
    }

    @Test func `another library's contexts are left alone`() async throws {
        let foreign = lent(.file(path: authority.caFile), library: "LibreSSL/3.0")
        #expect(try await refusal(of: authority.loopback(), foreign).contains("/nowhere/ca.pem"))
    }
}
