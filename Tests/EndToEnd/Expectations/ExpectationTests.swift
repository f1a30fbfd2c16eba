// The security expectations of callers and requests (peers.md section 5, numbers 1 to 10 and 14 to 18),
// each by its number; those that a requirement has tests for are named there:
// 5 in Requirement09Tests, 6 in ListenerTests and Requirement10Tests, 9 and 10 in Requirement20Tests,
// 14 and 15 in Requirement21Tests, 17 in Requirement19Tests.

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Expectations of callers` {
    private static let page = "http://localhost:3000"
    private static let settings = ["allowed_origins: [\"\(page)\"]"]
    private static let preflight = [
        ("Origin", page), ("Access-Control-Request-Method", "PUT"),
        ("Access-Control-Request-Headers", "content-type,x-team"),
        ("Access-Control-Request-Private-Network", "true"),
    ]

    @Test func `1: a rebound name gets nothing, whatever else is right`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        for fields in [
            [("Host", "rebound.example:\(proxy.port)")],
            [("Host", "rebound.example:\(proxy.port)"), ("Sec-Fetch-Site", "same-origin")],
            [("Host", "0.0.0.0:\(proxy.port)"), ("Sec-Fetch-Site", "none")],
        ] {
            #expect(
                try proxy.exchange("GET", "/", fields: fields).isOurs(421, "host_not_allowed"))
        }
        #expect(setup.api.connectionCount == 0 && setup.server.requests.isEmpty)
    }

    @Test func `2: form posts and no-cors fetches of other sites cause nothing`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        for fields in [
            [("Origin", "null"), ("Content-Type", "application/x-www-form-urlencoded")],
            [("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "no-cors")],
            [("Sec-Fetch-Site", "same-site"), ("Sec-Fetch-Mode", "navigate")],
            [("Origin", "https://evil.example"), ("Sec-Fetch-Site", "none")],
        ] {
            #expect(
                try proxy.exchange("POST", "/v1/pay", fields: fields, body: "a=b")
                    .isOurs(403, "origin_not_allowed"))
        }
        #expect(setup.api.connectionCount == 0 && setup.server.requests.isEmpty)
    }

    @Test func `3: an allowed page's preflight is answered here, without login or secret (C115)`()
        throws
    {
        let setup = try LoginSetup(settings: Self.settings + ["local_secret: { env: LOCAL }"])
        let proxy = try setup.home.serve(environment: ["LOCAL": "canary-local"])
        let answer = try proxy.exchange("OPTIONS", "/v1/x", fields: Self.preflight)
        #expect(answer.status == 204)
        #expect(answer.value("Access-Control-Allow-Origin") == Self.page)
        #expect(answer.value("Access-Control-Allow-Methods") == "PUT")
        #expect(answer.value("Access-Control-Allow-Headers") == "content-type,x-team")
        #expect(answer.value("Access-Control-Allow-Private-Network") == "true")
        #expect(answer.value("Access-Control-Allow-Credentials") == "true")
        #expect(answer.value("Vary") == "Origin")
        #expect(setup.api.connectionCount == 0 && setup.server.requests.isEmpty)
        // The request itself needs the secret all the same, and the page can read why it failed.
        let refused = try proxy.exchange("PUT", "/v1/x", fields: [("Origin", Self.page)], body: "x")
        #expect(refused.isOurs(401, "local_secret_required"))
    }

    @Test func `3: what an upstream says of origins is replaced for pages`() throws {
        let upstream = try FakeUpstream { _ in
            FakeResponse(
                fields: [
                    ("Access-Control-Allow-Origin", "*"),
                    ("access-control-allow-credentials", "false"), ("Vary", "Accept"),
                    ("Access-Control-Expose-Headers", "X-Total"),
                ])
        }
        let setup = try DirectSetup(to: upstream, settings: Self.settings)
        let answer = try setup.proxy.exchange("GET", "/", fields: [("Origin", Self.page)])
        #expect(answer.values("Access-Control-Allow-Origin") == [Self.page])
        #expect(answer.values("Access-Control-Allow-Credentials") == ["true"])
        #expect(answer.values("Access-Control-Expose-Headers") == ["X-Total"])
        #expect(answer.values("Vary") == ["Accept", "Origin"])
        // Our own answers can be read by it as well.
        upstream.stop()
        let failed = try setup.proxy.exchange("GET", "/", fields: [("Origin", Self.page)])
        #expect(failed.isOurs(502, "upstream_unreachable"))
        #expect(failed.value("Access-Control-Allow-Origin") == Self.page)
    }

    @Test func `4: a WebSocket of a foreign page is refused, an allowed one's is not`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write(
                "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\nhello")
            _ = try connection.stream.waitForEnd()
        }
        let setup = try DirectSetup(to: upstream, settings: Self.settings)
        func ask(_ origin: String) throws -> (RawClient, HTTPMessage) {
            let client = try setup.proxy.connect()
            try client.send(
                client.request(
                    fields: [
                        ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Origin", origin),
                    ]))
            return (client, try client.stream.readResponse())
        }
        for origin in ["https://evil.example", "null", "http://localhost:\(setup.proxy.port)"] {
            #expect(try ask(origin).1.isOurs(403, "origin_not_allowed"))
        }
        #expect(upstream.connectionCount == 0)
        let (client, answer) = try ask(Self.page)
        #expect(answer.status == 101)
        #expect(try client.stream.read(5) == "hello")
    }

    @Test func `7: a route lends its credential to what its rules name, and no more`() throws {
        let setup = try LoginSetup(
            settings: ["allow: [\"GET /repos/**\", \"POST /repos/*/*/issues\"]"])
        let proxy = try setup.home.serve()
        for (method, target) in [
            ("DELETE", "/repos/a"), ("GET", "/user"), ("POST", "/repos/a/b"),
            ("GET", "/repos/../user"), ("GET", "/repos/%2e%2e/user"), ("GET", "/repos//a"),
            ("GET", "/repos/a%2f..%2f..%2fuser"), ("GET", "/repos/..;/user"),
            ("GET", "/repos/%00"), ("OPTIONS", "*"),
        ] {
            #expect(
                try proxy.exchange(method, target).isOurs(403, "method_or_path_not_allowed"),
                "\(method) \(target)")
        }
        #expect(setup.api.connectionCount == 0 && setup.server.requests.isEmpty)
        #expect(try proxy.exchange("GET", "/repos/a/b").isOurs(503, "login_required"))
    }

    @Test func `10 and 32: CONNECT and TRACE are refused before anything is looked at`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        for (method, target) in [
            ("CONNECT", "api.example.com:443"), ("CONNECT", "localhost:\(proxy.port)"),
            ("TRACE", "/"),
        ] {
            let answer = try proxy.exchange(method, target)
            #expect(answer.isOurs(405, "method_not_supported"))
            #expect(answer.has("Allow"))
        }
        #expect(setup.api.connectionCount == 0 && setup.server.requests.isEmpty)
    }

    @Test func `16: a token that could end a line is never sent`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        for token in ["a\r\nX-Evil: 1", "a\nb", "a\u{0}b", "a\u{7f}", "caf\u{e9}"] {
            let setup = try DirectSetup(to: upstream, token: token)
            #expect(try setup.proxy.exchange().status == 503, "\(token.debugDescription)")
        }
        #expect(upstream.connectionCount == 0)
    }

    @Test func `18: without rules a path goes upstream octet for octet`() throws {
        let upstream = try FakeUpstream { .ok(Octets($0.target)) }
        let setup = try DirectSetup(to: upstream)
        for target in ["/a//b/%2F/..%2fx/%2e%2e/;v=1?u=//x&&y=%00", "/%7Euser/~user"] {
            #expect(try setup.proxy.exchange("GET", target).body.text == target)
        }
    }
}

@Suite(.ownThread) struct `Expectations of what is said and kept` {
    @Test func `20: our answers have fixed words and repeat nothing that came`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            try connection.write("<script>upstream-garbage</script>\r\n\r\n")
        }
        let setup = try DirectSetup(to: upstream)
        let marks = ["<script>", "marker-path", "marker-host", "upstream-garbage", "marker-field"]
        let requests: [Octets] = [
            "GET /marker-path<script> HTTP/1.1\r\nHost: 127.0.0.1:\(setup.proxy.port)\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: marker-host<script>\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: x\r\nmarker-field<script>\r\n\r\n",
            "marker-path<script>\r\n\r\n",
        ].map { Octets($0) }
        for request in requests {
            let client = try setup.proxy.connect()
            try client.send(request)
            let answer = try client.stream.readResponse()
            #expect((400...502).contains(answer.status))
            #expect(answer.value("Content-Type") == "application/problem+json")
            #expect(answer.value("X-Content-Type-Options") == "nosniff")
            #expect(answer.value("Cache-Control") == "no-store")
            for mark in marks { #expect(!answer.description.contains(mark)) }
        }
    }

    @Test func `28: limits hold for heads, fields and connections`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream,
            settings: [
                "limits: { head: 4KiB, fields: 20 }", "timeouts: { client_head: 300ms }",
            ])
        let proxy = setup.proxy
        let long = try proxy.exchange(
            "GET", "/", fields: [("X", String(repeating: "a", count: 5000))])
        #expect(long.isOurs(431, "head_too_large"))
        let many = try proxy.exchange(
            "GET", "/", fields: (0..<30).map { ("X-\($0)", "1") })
        #expect(many.isOurs(431, "head_too_large"))
        // A head that drips is cut off.
        let slow = try proxy.connect()
        try slow.send("GET / HTTP/1.1\r\n")
        #expect(try slow.stream.waitForEnd(within: .seconds(5)) == .closed)
    }

    @Test func `28: one connection too many is turned away, and the others are served`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["limits: { clients: 3 }", "workers: 1"])
        let kept = try (0..<3).map { _ in try setup.proxy.connect() }
        for client in kept { #expect(try client.exchange().status == 200) }
        let fourth = try setup.proxy.connect()
        _ = try? fourth.send(fourth.request())
        _ = try fourth.stream.waitForEnd(within: .seconds(5))
        for client in kept { #expect(try client.exchange().status == 200) }
    }

    @Test func `29: TLS to the upstream is verified and cannot be turned off`() throws {
        let authority = TestAuthority()
        let identity = authority.loopback()
        let context = try TLSContext.server(
            certificateFile: identity.certificateFile, keyFile: identity.keyFile)
        let upstream = try FakeUpstream(tls: context) { try $0.serve { _ in .ok() } }
        let setup = try DirectSetup(to: upstream)
        #expect(try setup.proxy.exchange().isOurs(502, "upstream_tls_failed"))
        #expect(upstream.requests.isEmpty)
        for key in ["insecure: true", "verify: false", "tls: { verify: none }"] {
            let home = try ProxyHome(
                configuration: YAML.short(
                    upstream: upstream.url, credential: ["token: { env: T }"], settings: [key]))
            #expect(try home.run(["check"]).status == 78)
        }
        let plain = try ProxyHome(
            configuration: YAML.short(
                upstream: "http://api.example.com", credential: ["token: { env: T }"]))
        #expect(try plain.run(["check"]).status == 78)
    }

    @Test(.enabled(if: !Sanitizer.isOn, "a sanitizer's tracer has to look inside"))
    func `30: no core is written and no other process may look inside`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(to: upstream)
        #expect(try setup.proxy.exchange().status == 200)
        let limits = try #require(
            try Files.read("/proc/\(setup.proxy.child.identifier)/limits")
        ).text
        let line = try #require(
            limits.components(separatedBy: "\n").first { $0.hasPrefix("Max core file size") })
        #expect(line.components(separatedBy: " ").filter { !$0.isEmpty }[4] == "0")
    }

    @Test func `31: no path is the proxy's own`() throws {
        let upstream = try FakeUpstream { .ok(Octets($0.target)) }
        let setup = try DirectSetup(to: upstream)
        for path in ["/health", "/metrics", "/quit", "/admin", "/.well-known/proxy", "/status"] {
            for method in ["GET", "POST"] {
                #expect(try setup.proxy.exchange(method, path).body.text == path)
            }
        }
    }

    @Test func `32: a challenge is passed on only as the final answer`() throws {
        let setup = try LoginSetup()
        try setup.importLogin()
        let proxy = try setup.home.serve()
        setup.server.revokeAccessTokens()
        let answer = try proxy.exchange()
        #expect(answer.status == 200)
        #expect(!answer.has("WWW-Authenticate"))
        #expect(!answer.description.contains("Bearer"))
    }
}
