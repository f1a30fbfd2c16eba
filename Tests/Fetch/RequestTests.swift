// Requests of our own against a scripted server: what goes out, what comes back, what never happens.

import Bytes
import Fetch
import Support
import Testing
import Vocabulary

@Suite(.serialized) struct `Request` {
    let fetcher = CurlFetcher()

    @Test func `a POST goes out as it was built and its answer comes back whole`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nX-One: 1\r\nX-Two:  a b \r\nX-One: 2\r\nContent-Length: 4\r\n\r\nbody"
            )
        }
        let answer = try await fetcher.fetch(
            OutboundRequest(
                .post, server.url + "/a/../token?x=%20&y",
                fields: [
                    .init("Content-Type", "application/x-www-form-urlencoded"),
                    .init("Authorization", SecretBytes("Basic c2VjcmV0")), .init("X-Empty", ""),
                ], body: SecretBytes("grant_type=refresh_token")))
        #expect(answer.status == 200)
        #expect(answer.fields.map(\.name) == ["X-One", "X-Two", "X-One", "Content-Length"])
        #expect(answer.fields.map(\.value) == ["1", "a b", "2", "4"])
        #expect(answer.body.octets == "body")

        let request = try #require(server.requests.first)
        #expect(request.startLine == "POST /a/../token?x=%20&y HTTP/1.1")
        #expect(request.value("Content-Type") == "application/x-www-form-urlencoded")
        #expect(request.value("Authorization") == "Basic c2VjcmV0")
        #expect(request.value("X-Empty") == "")
        #expect(request.value("Content-Length") == "24")
        #expect(request.value("User-Agent") == "credential-proxy")
        #expect(request.body == "grant_type=refresh_token")
        for unwanted in ["Expect", "Accept-Encoding", "Cookie", "Upgrade", "Transfer-Encoding"] {
            #expect(!request.has(unwanted))
        }
    }

    /// `{"access_token":"AT2"}` as gzip(1) and zlib write it, and twenty thousand letters.
    static let gzipped = Octets([
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xab, 0x56, 0x4a, 0x4c,
        0x4e, 0x4e, 0x2d, 0x2e, 0x8e, 0x2f, 0xc9, 0xcf, 0x4e, 0xcd, 0x53, 0xb2, 0x52, 0x72,
        0x0c, 0x31, 0x52, 0xaa, 0x05, 0x00, 0x27, 0x9d, 0xb7, 0xaa, 0x16, 0x00, 0x00, 0x00,
    ])
    static let deflated = Octets([
        0x78, 0x9c, 0xab, 0x56, 0x4a, 0x4c, 0x4e, 0x4e, 0x2d, 0x2e, 0x8e, 0x2f, 0xc9, 0xcf,
        0x4e, 0xcd, 0x53, 0xb2, 0x52, 0x72, 0x0c, 0x31, 0x52, 0xaa, 0x05, 0x00, 0x5c, 0x08,
        0x07, 0x74,
    ])
    static let large = Octets([
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xed, 0xc1, 0x31, 0x01,
        0x00, 0x00, 0x00, 0xc2, 0xa0, 0xac, 0xeb, 0x5f, 0xc2, 0x1a, 0x1e, 0x40, 0x01, 0x00,
        0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
        0x00, 0x00, 0x00, 0xf0, 0x60, 0x31, 0x87, 0xbd, 0xca, 0x20, 0x4e, 0x00, 0x00,
    ])

    @Test(
        arguments: [
            ("gzip", gzipped), ("x-gzip", gzipped), ("deflate", deflated), ("identity", nil),
            ("utf-8", nil), ("aws-chunked", nil), ("", nil),
        ] as [(String, Octets?)])
    func `an answer that is compressed unasked is read`(coding: String, body: Octets?) async throws
    {
        let text: Octets = "{\"access_token\":\"AT2\"}"
        let server = try FakeUpstream(answering: { _ in
            FakeResponse(fields: [("Content-Encoding", coding)], body: body ?? text)
        })
        let answer = try await fetcher.fetch(.get(server.url))
        #expect(answer.body.octets == text)
        #expect(server.requests.first?.has("Accept-Encoding") == false)
    }

    @Test func `an answer is as large as it is decoded`() async throws {
        let server = try FakeUpstream(answering: { _ in
            FakeResponse(fields: [("Content-Encoding", "gzip")], body: Self.large)
        })
        var request = OutboundRequest.get(server.url)
        request.responseBytesMax = 19_999
        #expect(await fetcher.failure(of: request) == .responseTooLarge(limit: 19_999))
        request.responseBytesMax = 20_000
        #expect(try await fetcher.fetch(request).body.count == 20_000)
    }

    @Test(arguments: [0, 1, 1_200_000])
    func `a body of any size is sent at once`(count: Int) async throws {
        let server = try FakeUpstream { connection in
            let request = try connection.expectRequest()
            try connection.respond(.ok(Octets("\(request.body.count)")), to: request)
        }
        let body = Octets(repeating: 0x61, count: count)
        let answer = try await fetcher.fetch(
            OutboundRequest(.post, server.url, body: SecretBytes(body.bytes)))
        #expect(answer.body.octets == Octets("\(count)"))
        #expect(server.requests.first?.body == body)
        #expect(server.requests.first?.has("Expect") == false)
    }

    @Test func `a POST without a body says so`() async throws {
        let server = try FakeUpstream(answering: { _ in .ok() })
        _ = try await fetcher.fetch(OutboundRequest(.post, server.url))
        #expect(server.requests.first?.value("Content-Length") == "0")
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect is an answer like any other`(status: Int) async throws {
        let elsewhere = try FakeUpstream(answering: { _ in .ok() })
        let server = try FakeUpstream(answering: { _ in
            FakeResponse(status, fields: [("Location", elsewhere.url)])
        })
        let answer = try await fetcher.fetch(
            OutboundRequest(.post, server.url, body: SecretBytes("refresh_token=R")))
        #expect(answer.status == status)
        #expect(answer.field("location") == elsewhere.url)
        #expect(elsewhere.connectionCount == 0)
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [200, 400, 401, 404, 429, 500, 503])
    func `every final status is an answer`(status: Int) async throws {
        let server = try FakeUpstream(answering: { _ in .json("{}", status: status) })
        let answer = try await fetcher.fetch(.get(server.url))
        #expect(answer.status == status)
        #expect(answer.body.octets == "{}")
        #expect(server.connectionCount >= 1)
    }

    @Test func `interim heads and trailers are no fields of the answer`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                """
                HTTP/1.1 100 Continue\r\nX-Interim: 1\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n\
                HTTP/1.1 200\r\nTrailer: X-Sum\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n\
                0\r\nX-Sum: 9\r\n\r\n
                """)
        }
        let answer = try await fetcher.fetch(.get(server.url))
        #expect(answer.status == 200)
        #expect(answer.fields.map(\.name) == ["Trailer", "Transfer-Encoding"])
        #expect(answer.body.octets == "abc")
        #expect(server.connectionCount >= 1)
    }

    @Test func `trailers without a body are no fields either`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Sum: 9\r\n\r\n")
        }
        let answer = try await fetcher.fetch(.get(server.url))
        #expect(answer.fields.map(\.name) == ["Transfer-Encoding"])
        #expect(answer.body.isEmpty)
        #expect(server.connectionCount >= 1)
    }

    @Test func `a folded value is one value`() async throws {
        let server = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("HTTP/1.1 200 OK\r\nX-Long: a\r\n  b\r\nContent-Length: 0\r\n\r\n")
        }
        let answer = try await fetcher.fetch(.get(server.url))
        #expect(answer.field("X-Long") == "a b")
        #expect(server.connectionCount >= 1)
    }

    @Test func `an answer that ends with its connection is whole`() async throws {
        let server = try FakeUpstream(answering: { _ in
            FakeResponse(body: "until the end", framing: .untilClose)
        })
        #expect(try await fetcher.fetch(.get(server.url)).body.octets == "until the end")
        #expect(server.connectionCount >= 1)
    }

    @Test func `each request has a connection of its own`() async throws {
        let server = try FakeUpstream(answering: { _ in .ok() })
        for _ in 0..<3 { _ = try await fetcher.fetch(.get(server.url)) }
        #expect(server.connectionCount == 3)
    }

    @Test func `fifty at once all come back`() async throws {
        let server = try FakeUpstream(answering: { .ok(Octets($0.target)) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<50 {
                group.addTask {
                    let answer = try await fetcher.fetch(.get(server.url + "/\(number)"))
                    #expect(answer.body.octets == Octets("/\(number)"))
                }
            }
            try await group.waitForAll()
        }
        #expect(server.connectionCount >= 1)
    }

    @Test func `goes on when its task is cancelled`() async throws {
        let gate = Gate()
        let server = try FakeUpstream(answering: { _ in
            try gate.pass()
            return .ok("rotated")
        })
        let task = Task { try await fetcher.fetch(.get(server.url)) }
        try await elsewhere { _ = try server.waitForRequests(1) }
        task.cancel()
        gate.open()
        #expect(try await task.value.body.octets == "rotated")
        #expect(server.connectionCount >= 1)
    }

    @Test func `ends with its driver, as do those that come later`() async throws {
        let gate = Gate()
        let server = try FakeUpstream(answering: { _ in
            try gate.pass()
            return .ok()
        })
        let driver = CurlDriver()
        let fetcher = CurlFetcher(driver: driver, proxy: .none)
        let url = server.url
        let task = Task { await fetcher.failure(of: .get(url)) }
        try await elsewhere { _ = try server.waitForRequests(1) }
        driver.stop()
        #expect(await task.value == .cancelled)
        #expect(await fetcher.failure(of: .get(url)) == .cancelled)
        gate.open()
        #expect(server.connectionCount >= 1)
    }

    @Test func `a driver that is stopped unused has nothing to end`() async {
        let driver = CurlDriver()
        driver.stop()
        driver.stop()
        let fetcher = CurlFetcher(driver: driver, proxy: .none)
        #expect(await fetcher.failure(of: .get("http://127.0.0.1/")) == .cancelled)
    }
}
