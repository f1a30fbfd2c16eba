import Bytes
import HTTPWire
import Routing
import Testing

@Suite struct `Access guard` {
    private let plain = AccessGuard(port: 8080)

    private func refusal(_ text: String, _ access: AccessGuard? = nil) throws -> AccessRefusal? {
        try withRequest(text) { (access ?? plain).judge($0, $1, $2) }
    }

    private func refusal(host: String, _ access: AccessGuard? = nil) throws -> AccessRefusal? {
        try refusal("GET /v1/me HTTP/1.1\nHost: \(host)", access)
    }

    @Test(arguments: [
        "localhost:8080", "LOCALHOST:8080", "127.0.0.1:8080", "[::1]:8080",
    ])
    func `lets in who asks for loopback at our port`(_ host: String) throws {
        #expect(try refusal(host: host) == nil)
    }

    @Test(arguments: [
        "api.attacker.example:8080", "localhost.evil.example:8080", "localhost.:8080",
        "127.1:8080", "0.0.0.0:8080", "[::]:8080", "localhost", "localhost:8081", "localhost:80",
        "localhost:", "localhost:08080", "localhost:808080", "127.0.0.1.:8080", "127.0.0.2:8080",
        "2130706433:8080", "[::1]", "[0:0::1]:8080", "xlocalhost:8080", "", "files.localhost:8080",
    ])
    func `refuses every other host`(_ host: String) throws {
        #expect(try refusal(host: host) == .hostNotAllowed)
    }

    @Test(arguments: [
        "localhost:8080x", "::1:8080", "[::1]8080", "[::1", "user@localhost:8080",
        "localhost:8080,localhost:8080", "localhost:8080/x", "localhost:-1", "local host:8080",
    ])
    func `refuses what is no host at all`(_ host: String) throws {
        #expect(try refusal(host: host) == .hostInvalid)
    }

    @Test func `a Unix socket takes any host that is one, and nothing else (RFC 9112 section 3.2)`()
        throws
    {
        let access = AccessGuard(port: 0, checksHost: false)
        for host in ["localhost", "any.example:1", "[::1]:8080", "", "a_b"] {
            #expect(try refusal(host: host, access) == nil, "\(host)")
        }
        for host in ["a b", "x\";for=1.2.3.4", "a\\", "u@h", "a/b", "a,b c"] {
            #expect(try refusal(host: host, access) == .hostInvalid, "\(host)")
        }
        #expect(try refusal("GET http://a\"b/ HTTP/1.1\nHost: a", access) == .hostInvalid)
    }

    @Test func `lets in names that were configured, with their ports`() throws {
        let hosts = ["files.localhost", "proxy.internal:9000", "[fd00::1]", "[fd00::2]:81"]
        let access = AccessGuard(port: 8080, allowedHosts: hosts.compactMap { HostAndPort($0) })
        for host in [
            "files.localhost:8080", "Proxy.Internal:9000", "[fd00::1]:8080", "[fd00::2]:81",
            "localhost:8080",
        ] {
            #expect(try refusal(host: host, access) == nil, "\(host)")
        }
        for host in [
            "files.localhost:9000", "proxy.internal:8080", "proxy.internal", "[fd00::2]:8080",
            "a.files.localhost:8080",
        ] {
            #expect(try refusal(host: host, access) == .hostNotAllowed, "\(host)")
        }
    }

    @Test func `takes a host without port for port 80`() throws {
        let access = AccessGuard(port: 80)
        #expect(try refusal(host: "localhost", access) == nil)
        #expect(try refusal(host: "localhost:80", access) == nil)
    }

    @Test(arguments: [
        ("GET http://evil.example/x HTTP/1.1\nHost: localhost:8080", AccessRefusal.hostNotAllowed),
        ("GET http://localhost:8080/x HTTP/1.1\nHost: evil.example", nil),
        ("GET http://localhost/x HTTP/1.1\nHost: localhost:8080", .hostNotAllowed),
        ("GET https://localhost:8080/x HTTP/1.1\nHost: localhost:8080", .hostNotAllowed),
        ("CONNECT evil.example:443 HTTP/1.1\nHost: evil.example:443", .methodNotSupported),
        ("CONNECT localhost:8080 HTTP/1.1\nHost: localhost:8080", .methodNotSupported),
        ("TRACE / HTTP/1.1\nHost: localhost:8080", .methodNotSupported),
        ("OPTIONS * HTTP/1.1\nHost: localhost:8080", nil),
        ("OPTIONS * HTTP/1.1\nHost: evil.example", .hostNotAllowed),
        ("GET / HTTP/1.0", nil),
        ("GET http://evil.example/ HTTP/1.0", .hostNotAllowed),
        ("GET / HTTP/1.0\nHost: evil.example", .hostNotAllowed),
    ])
    func `judges the authority that counts`(_ text: String, _ expected: AccessRefusal?) throws {
        #expect(try refusal(text) == expected)
    }

    @Test(arguments: [
        "Origin: https://evil.example", "Origin: null", "Origin:\u{20}", "Origin: *",
        "Origin: http://localhost.attacker.example:8080", "Origin: http://127.0.0.1.evil.example",
        "Origin: http://localhost:8080", "Origin: http://localhost:3000/",
        "Origin: http://localhost:3000 http://localhost:3000", "Origin: https://localhost:3000",
        "Origin: http://localhost:30000", "Origin: http://user@localhost:3000",
        "Origin: http://localhost:3000\nOrigin: https://evil.example",
        "Origin: https://evil.example\nOrigin: http://localhost:3000",
        "Origin: http://localhost", "Origin: http://app.example:443",
    ])
    func `refuses pages of other origins, whatever they do`(_ lines: String) throws {
        let origins = ["http://localhost:3000", "https://app.example"]
        let access = AccessGuard(
            port: 8080, allowedOrigins: origins.compactMap { AllowedOrigin($0) })
        for method in ["GET", "POST", "OPTIONS"] {
            let text = "\(method) / HTTP/1.1\nHost: localhost:8080\n\(lines)"
            #expect(try refusal(text, access) == .originNotAllowed)
        }
        let upgrade = "GET /ws HTTP/1.1\nHost: localhost:8080\nUpgrade: websocket\n\(lines)"
        #expect(try refusal(upgrade, access) == .originNotAllowed)
    }

    @Test(arguments: [
        "Origin: http://localhost:3000", "Origin: HTTP://LOCALHOST:3000",
        "Origin: https://app.example", "Origin: https://app.example:443",
        "Origin: http://localhost:3000\nSec-Fetch-Site: cross-site",
        "Sec-Fetch-Site: none", "Sec-Fetch-Site: same-origin", "X: 1",
    ])
    func `lets in pages that were configured, and no pages`(_ lines: String) throws {
        let origins = ["http://localhost:3000", "https://app.example"]
        let access = AccessGuard(
            port: 8080, allowedOrigins: origins.compactMap { AllowedOrigin($0) })
        #expect(try refusal("GET / HTTP/1.1\nHost: localhost:8080\n\(lines)", access) == nil)
    }

    @Test(arguments: ["cross-site", "same-site", "", "unknown", "none, none"])
    func `refuses what a browser says another site caused`(_ site: String) throws {
        let text = "POST /v1/payments HTTP/1.1\nHost: 127.0.0.1:8080\nSec-Fetch-Site: \(site)"
        #expect(try refusal(text) == .crossSite)
        let twice = "GET / HTTP/1.1\nHost: 127.0.0.1:8080\nSec-Fetch-Site: none\n"
        #expect(try refusal(twice + "Sec-Fetch-Site: \(site)") == .crossSite)
    }

    @Test func `never takes an origin for allowed because it equals the host`() throws {
        let text = "GET / HTTP/1.1\nHost: rebound.example:8080\nOrigin: http://rebound.example:8080"
        #expect(try refusal(text) == .hostNotAllowed)
        let own = "POST / HTTP/1.1\nHost: localhost:8080\nOrigin: http://localhost:8080"
        #expect(try refusal(own) == .originNotAllowed)
    }

    @Test(arguments: [
        "null", "*", "", "localhost", "http://", "http://a/", "http://a/b", "http://a:0",
        "http://a:080", "http://a:x", "1http://a", "http://a b", "http://u@a", "://a",
    ])
    func `has no origin that is not one`(_ text: String) {
        #expect(AllowedOrigin(text) == nil)
    }

    @Test(arguments: [
        ("", AccessRefusal.requiredFieldMissing), ("\nx-local-proxy: 1 ", nil),
        ("\nX-Local-Proxy: 2", .requiredFieldMissing),
        ("\nX-Local-Proxy: 2\nX-Local-Proxy: 1", nil),
    ])
    func `demands the required field`(_ lines: String, _ expected: AccessRefusal?) throws {
        let access = AccessGuard(
            port: 8080, requiredField: RequiredField(name: "X-Local-Proxy", value: "1"))
        #expect(access.consumedFields == ["X-Local-Proxy"])
        for extra in ["", "\nUpgrade: websocket\nConnection: Upgrade"] {
            let text = "GET /v1/me HTTP/1.1\nHost: localhost:8080\(extra)\(lines)"
            #expect(try refusal(text, access) == expected)
        }
    }

    @Test func `demands the required field with any value`() throws {
        let access = AccessGuard(
            port: 8080, requiredField: RequiredField(name: "Cookie", value: nil))
        #expect(try refusal("GET / HTTP/1.1\nHost: localhost:8080\nCookie:", access) == nil)
        #expect(try refusal(host: "localhost:8080", access) == .requiredFieldMissing)
    }

    @Test func `lets a link from anywhere open a page, where that is wanted`() throws {
        let open = AccessGuard(port: 8080, admitsNavigation: true)
        func head(_ method: String, _ site: String, _ mode: String, _ destination: String) -> String
        {
            "\(method) / HTTP/1.1\nHost: localhost:8080\nSec-Fetch-Site: \(site)\n"
                + "Sec-Fetch-Mode: \(mode)\nSec-Fetch-Dest: \(destination)"
        }
        let link = head("GET", "cross-site", "navigate", "document")
        #expect(try refusal(link, open) == nil)
        #expect(try refusal(link) == .crossSite)
        for other in [
            head("POST", "cross-site", "navigate", "document"),
            head("GET", "cross-site", "navigate", "iframe"),
            head("GET", "cross-site", "cors", "document"),
            head("GET", "cross-site", "no-cors", "empty"),
            link + "\nSec-Fetch-Dest: iframe",
            "GET / HTTP/1.1\nHost: localhost:8080\nSec-Fetch-Site: x",
        ] {
            #expect(try refusal(other, open) == .crossSite, "\(other)")
        }
        #expect(try refusal(link + "\nOrigin: https://evil.example", open) == .originNotAllowed)
    }
}

@Suite struct `Local secret` {
    private func refusal(_ lines: String, field: String? = nil, secret: String = "s3cret") throws
        -> AccessRefusal?
    {
        let access = AccessGuard(
            port: 8080, localSecret: LocalSecret(secret: SecretBytes(secret), field: field))
        return try withRequest("GET / HTTP/1.1\nHost: localhost:8080\(lines)") {
            access.judge($0, $1, $2)
        }
    }

    @Test(arguments: [
        "Authorization: Bearer s3cret", "authorization: bearer   s3cret", "X-API-Key: s3cret",
        "x-api-key: s3cret", "Authorization: Basic dXNlcjpzM2NyZXQ=",
        "Authorization: Basic OnMzY3JldA", "Authorization: Bearer other\nX-Api-Key: s3cret",
    ])
    func `is accepted where SDKs put a key`(_ line: String) throws {
        #expect(try refusal("\n" + line) == nil)
    }

    @Test(arguments: [
        "X: 1", "Authorization: s3cret", "Authorization: Bearer", "Authorization: Bearer s3cre",
        "Authorization: Bearer s3cretx", "Authorization: Bearer S3CRET", "X-Api-Key: s3cret2",
        "Authorization: Basic czNjcmV0", "Authorization: Basic dXNlcjpzM2NyZXQ===",
        "Authorization: Basic dXNl*jpzM2NyZXQ=", "Authorization: Basic czNjcmV0OnVzZXI=",
        "Authorization: Digest s3cret", "Cookie: s3cret", "X-Local: s3cret",
        "Proxy-Authorization: Bearer s3cret",
    ])
    func `is refused anywhere else and when wrong`(_ line: String) throws {
        #expect(try refusal("\n" + line) == .localSecretRequired)
    }

    @Test func `is accepted in the chosen field only`() throws {
        #expect(try refusal("\nX-Local: s3cret", field: "x-local") == nil)
        #expect(
            try refusal("\nAuthorization: Bearer s3cret", field: "x-local") == .localSecretRequired)
        #expect(try refusal("\nAuthorization: Bearer s3cret", field: "Authorization") == nil)
        #expect(try refusal("\nAuthorization: s3cret", field: "Authorization") == nil)
    }

    @Test func `lets nobody in when it is empty`() throws {
        for line in ["", "\nAuthorization: Bearer ", "\nX-Api-Key:", "\nAuthorization: Basic Og=="]
        {
            #expect(try refusal(line, secret: "") == .localSecretRequired)
        }
    }

    @Test func `may hold a colon`() throws {
        // user:a:b
        #expect(try refusal("\nAuthorization: Basic dXNlcjphOmI=", secret: "a:b") == nil)
    }

    @Test func `names the fields that go no further`() {
        let local = LocalSecret(secret: SecretBytes("s"))
        #expect(
            AccessGuard(port: 1, localSecret: local).consumedFields == [
                "Authorization", "X-API-Key",
            ])
    }
}

@Suite struct `Preflights` {
    private func judged(_ lines: String) throws -> (refusal: AccessRefusal?, answer: String?) {
        let access = AccessGuard(
            port: 8080, allowedOrigins: [AllowedOrigin("http://localhost:3000")].compactMap { $0 },
            localSecret: LocalSecret(secret: SecretBytes("s")),
            requiredField: RequiredField(name: "X-Local", value: nil))
        return try withRequest("OPTIONS /x HTTP/1.1\nHost: localhost:8080\n\(lines)") {
            head, target, bytes in
            var output = ByteBuffer()
            if PageAccess.isPreflight(head) {
                PageAccess.writePreflightAnswer(head, bytes, closes: true, into: &output)
            }
            return (
                access.judge(head, target, bytes),
                output.isEmpty ? nil : wireText(output.bytes)
            )
        }
    }

    @Test func `of allowed origins need neither secret nor field, and are answered whole (C115)`()
        throws
    {
        let found = try judged(
            """
            Origin: http://localhost:3000
            Access-Control-Request-Method: POST
            Access-Control-Request-Headers: x-a, x-b
            Access-Control-Request-Private-Network: true
            """)
        #expect(found.refusal == nil)
        #expect(
            found.answer == """
                HTTP/1.1 204 No Content
                Access-Control-Allow-Origin: http://localhost:3000
                Access-Control-Allow-Credentials: true
                Vary: Origin
                Access-Control-Allow-Methods: POST
                Access-Control-Allow-Headers: x-a, x-b
                Access-Control-Allow-Private-Network: true
                Access-Control-Max-Age: 600
                Connection: close


                """)
    }

    @Test func `of other origins are refused, and half of one is none`() throws {
        let foreign = "Origin: http://evil.example\nAccess-Control-Request-Method: POST"
        #expect(try judged(foreign).refusal == .originNotAllowed)
        let plain = try judged("Origin: http://localhost:3000")
        #expect(plain.refusal == .requiredFieldMissing)
        #expect(plain.answer == nil)
        #expect(
            try judged("Access-Control-Request-Method: POST").refusal == .requiredFieldMissing)
    }
}
