import HTTPWire
import Routing
import Testing
import Vocabulary

@Suite struct `Head that goes to the client` {
    private let spec: RouteSpec

    init() throws { spec = try .to("https://api.example") }

    @Test func `keeps status, reason, repeated fields and bytes`() throws {
        let (sent, framing) = try clientHead(
            of: """
                HTTP/1.1 200 Fine by me
                Set-Cookie: sid=1; Path=/
                Set-Cookie: old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT
                Vary: A
                Content-Length: 5
                Vary: B
                Content-Disposition: attachment; filename="caf\u{e9}.txt"
                set-cookie: n=\u{ff}\u{fe}; Path=/
                """, through: spec)
        #expect(
            sent == """
                HTTP/1.1 200 Fine by me
                Set-Cookie: sid=1; Path=/
                Set-Cookie: old=; Expires=Thu, 01 Jan 1970 00:00:00 GMT
                Vary: A
                Content-Length: 5
                Vary: B
                Content-Disposition: attachment; filename="caf\u{e9}.txt"
                set-cookie: n=\u{ff}\u{fe}; Path=/

                """)
        #expect(framing == .length(5))
    }

    @Test func `loses what concerns one connection, and alternatives to it`() throws {
        let (sent, _) = try clientHead(
            of: """
                HTTP/1.1 200 OK
                Connection: close, X-Hop
                X-Hop: 1
                Keep-Alive: timeout=5
                Proxy-Connection: keep-alive
                Proxy-Authenticate: Basic realm="x"
                Upgrade: h2c
                Alt-Svc: h3=":443"
                Strict-Transport-Security: max-age=31536000
                Trailer: X-Sum
                Content-Length: 0
                X-Kept: 1
                """, through: spec)
        #expect(sent == "HTTP/1.1 200 OK\nContent-Length: 0\nX-Kept: 1\n")
    }

    @Test func `says which protocol the upstream requires (RFC 9110 section 15.5.22)`() throws {
        let head = "HTTP/1.1 426 Upgrade Required\nConnection: upgrade\nUpgrade: TLS/1.2, foo/1"
        let text = head + "\nContent-Length: 0"
        let (sent, _) = try clientHead(of: text, through: spec)
        #expect(
            sent == "HTTP/1.1 426 Upgrade Required\nContent-Length: 0\n"
                + "Upgrade: TLS/1.2, foo/1\nConnection: upgrade\n")
        let (old, _) = try clientHead(of: text, through: spec, minorVersion: 0)
        #expect(!old.contains("Upgrade:"))
    }

    @Test(arguments: [
        ("Transfer-Encoding: chunked\nX: 1", BodyFraming.chunked),
        ("Content-Length: 9\nTransfer-Encoding: chunked\nX: 1", .chunked),
        ("X: 1", .chunked),
    ])
    func `announces chunks where the length is unknown`(
        _ fields: String, _ expected: BodyFraming
    ) throws {
        let (sent, framing) = try clientHead(of: "HTTP/1.1 200 OK\n" + fields, through: spec)
        #expect(sent == "HTTP/1.1 200 OK\nX: 1\nTransfer-Encoding: chunked\n")
        #expect(framing == expected)
    }

    @Test func `keeps the names of trailers with chunks only`() throws {
        let chunked = try clientHead(
            of: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: grpc-status", through: spec)
        #expect(
            chunked.text == "HTTP/1.1 200 OK\nTrailer: grpc-status\nTransfer-Encoding: chunked\n")
        let old = try clientHead(
            of: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nTrailer: grpc-status", through: spec,
            minorVersion: 0)
        #expect(old.text == "HTTP/1.1 200 OK\nConnection: close\n")
    }

    @Test(arguments: ["Transfer-Encoding: chunked", "X: 1"])
    func `gives a client of HTTP 1.0 no chunks`(_ field: String) throws {
        let (sent, framing) = try clientHead(
            of: "HTTP/1.1 200 OK\n" + field, through: spec, minorVersion: 0)
        #expect(framing == .untilClose)
        #expect(sent.hasSuffix("Connection: close\n"))
        #expect(!sent.contains("chunked"))
    }

    @Test func `tells each version what becomes of the connection`() throws {
        let text = "HTTP/1.1 200 OK\nContent-Length: 2"
        let kept = "HTTP/1.1 200 OK\nContent-Length: 2\n"
        #expect(try clientHead(of: text, through: spec).text == kept)
        #expect(
            try clientHead(of: text, through: spec, closes: true).text
                == kept + "Connection: close\n")
        #expect(
            try clientHead(of: text, through: spec, minorVersion: 0).text
                == kept + "Connection: keep-alive\n")
        #expect(
            try clientHead(of: text, through: spec, minorVersion: 0, closes: true).text
                == kept + "Connection: close\n")
    }

    @Test func `keeps the length that HEAD asked for`() throws {
        let (sent, framing) = try clientHead(
            of: "HTTP/1.1 200 OK\nContent-Length: 9757\nETag: \"x\"", through: spec, method: .head)
        #expect(sent == "HTTP/1.1 200 OK\nContent-Length: 9757\nETag: \"x\"\n")
        #expect(framing == .none)
    }

    @Test(arguments: [
        ("304 Not Modified\nContent-Length: 5120", "304 Not Modified\nContent-Length: 5120\n"),
        ("204 No Content\nContent-Length: 0", "204 No Content\n"),
        ("204 No Content\nTransfer-Encoding: chunked", "204 No Content\n"),
        ("103 Early Hints\nContent-Length: 3\nLink: </a>", "103 Early Hints\nLink: </a>\n"),
    ])
    func `frames no body where there is none`(_ text: String, _ expected: String) throws {
        let (sent, framing) = try clientHead(of: "HTTP/1.1 " + text, through: spec)
        #expect(sent == "HTTP/1.1 " + expected)
        #expect(framing == .none)
    }

    @Test func `says nothing of the connection in an interim answer`() throws {
        let (sent, _) = try clientHead(
            of: "HTTP/1.1 103 Early Hints\nLink: </a>", through: spec, closes: true)
        #expect(sent == "HTTP/1.1 103 Early Hints\nLink: </a>\n")
    }

    @Test func `is of our version whatever the upstream's`() throws {
        let (sent, framing) = try clientHead(of: "HTTP/1.0 200", through: spec)
        #expect(sent == "HTTP/1.1 200 \nTransfer-Encoding: chunked\n")
        #expect(framing == .chunked)
    }
}

@Suite struct `Location` {
    private func location(
        _ value: String, upstream: String, path: String = "", authority: String = "localhost:8080",
        rewrites: Bool = true
    ) throws -> String {
        var spec = try RouteSpec.to(upstream, path: path)
        spec.rewritesLocation = rewrites
        let (sent, _) = try clientHead(
            of: "HTTP/1.1 302 Found\nContent-Length: 0\nLocation: \(value)", through: spec,
            authority: authority)
        let line = sent.split(separator: "\n").first { $0.hasPrefix("Location: ") }
        return String(try #require(line).dropFirst(10))
    }

    @Test(arguments: [
        ("https://api.example.com/base/next?x=1#f", "http://localhost:8080/p/next?x=1#f"),
        ("https://api.example.com:443/base/n", "http://localhost:8080/p/n"),
        ("HTTPS://API.example.com/base", "http://localhost:8080/p"),
        ("https://api.example.com/base?x", "http://localhost:8080/p?x"),
        ("https://api.example.com/base#f", "http://localhost:8080/p#f"),
        ("//api.example.com/base/n", "http://localhost:8080/p/n"),
        ("/base/rel", "http://localhost:8080/p/rel"),
    ])
    func `of the upstream's own leads back here`(_ value: String, _ expected: String) throws {
        #expect(
            try location(value, upstream: "https://api.example.com/base", path: "/p") == expected)
    }

    @Test(arguments: [
        "http://api.example.com/base/n", "https://api.example.com.evil.example/base/",
        "https://api.example.com@evil.example/base/", "https://api.example.com:8443/base/n",
        "https://other.example/base/", "https://api.example.com/other",
        "https://api.example.com/based", "https://api.example.com/base/../admin",
        "https://api.example.com/base/%2e%2e/admin", "next", "../base/n", "?x=1", "#f", "/other",
        "/based", "//evil.example/base", "mailto:a@b", "https:", "https:/base/n", "/", "",
        "https://api.example.com:/base/n",
    ])
    func `of anyone else stays as it is`(_ value: String) throws {
        #expect(
            try location(value, upstream: "https://api.example.com/base", path: "/p") == value)
    }

    @Test func `without prefix and base path keeps its path`() throws {
        let upstream = "https://api.example.com"
        #expect(
            try location("https://api.example.com", upstream: upstream) == "http://localhost:8080/")
        #expect(
            try location("https://api.example.com?x", upstream: upstream)
                == "http://localhost:8080/?x")
        #expect(try location("/rel", upstream: upstream) == "/rel")
    }

    @Test func `becomes a path where the client named no host`() throws {
        let value = try location(
            "http://[::1]:3000/v1/x", upstream: "http://[::1]:3000/v1", path: "/api",
            authority: "")
        #expect(value == "/api/x")
    }

    @Test func `is left alone when rewriting is off`() throws {
        let value = "https://api.example.com/base/next"
        #expect(
            try location(value, upstream: "https://api.example.com/base", rewrites: false) == value)
    }
}
