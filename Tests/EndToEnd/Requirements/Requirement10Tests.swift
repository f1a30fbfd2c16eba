// The local secret (peers.md requirement 10; cases C111).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 10: local secret in the app's own header` {
    private static let secret = "canary-local-secret-7Hd3"

    private func setup(_ header: String? = nil) throws -> LoginSetup {
        let more = header.map { ", header: \($0)" } ?? ""
        return try LoginSetup(settings: ["local_secret: { env: LOCAL_SECRET\(more) }"])
    }

    private func serve(_ setup: LoginSetup) throws -> ProxyProcess {
        try setup.home.serve(environment: ["LOCAL_SECRET": Self.secret])
    }

    @Test(arguments: [
        ("Authorization", "Bearer \(secret)"), ("authorization", "bearer   \(secret)"),
        ("X-API-Key", secret), ("Authorization", "Basic eDpjYW5hcnktbG9jYWwtc2VjcmV0LTdIZDM="),
    ])
    func `is accepted where SDKs send a key, and goes no further`(name: String, value: String)
        throws
    {
        let setup = try setup()
        let (access, _) = try setup.importLogin()
        let proxy = try serve(setup)
        let answer = try proxy.exchange("GET", "/v1/me", fields: [(name, value)])
        #expect(answer.status == 200)
        let request = try #require(setup.api.requests.first)
        #expect(request.values("Authorization") == ["Bearer \(access)"])
        #expect(!request.has("X-API-Key"))
        #expect(!request.head.text.contains("canary-local"))
        try proxy.stop()
        #expect(!proxy.log.contains("canary-local"))
    }

    @Test(arguments: [
        [], [("Authorization", "Bearer wrong")], [("Authorization", secret)],
        [("X-API-Key", secret + "x")], [("X-API-Key", String(secret.dropLast()))],
        [("X-Proxy-Secret", secret)], [("Authorization", "Basic !!!")],
        [("Authorization", "Digest \(secret)")], [("Cookie", "k=\(secret)")],
    ])
    func `missing or wrong causes nothing (expectation 8)`(fields: [(String, String)]) throws {
        // Without a login: a request that were let in would ask the provider.
        let setup = try setup()
        let proxy = try serve(setup)
        let answer = try proxy.exchange("GET", "/v1/me?k=\(Self.secret)", fields: fields)
        #expect(answer.isOurs(401, "local_secret_required"))
        #expect(answer.has("WWW-Authenticate"))
        #expect(setup.api.connectionCount == 0)
        #expect(setup.server.requests.isEmpty)
    }

    @Test func `may have a field of its own`() throws {
        let setup = try setup("X-Proxy-Secret")
        try setup.importLogin()
        let proxy = try serve(setup)
        #expect(
            try proxy.exchange("GET", "/", fields: [("X-Proxy-Secret", Self.secret)]).status == 200)
        #expect(
            try proxy.exchange("GET", "/", fields: [("Authorization", "Bearer \(Self.secret)")])
                .status == 401)
        #expect(setup.api.requests.allSatisfy { !$0.has("X-Proxy-Secret") })
    }

    @Test func `a required field is a guard of its own, for WebSocket too (C111)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["require_header: \"X-Local-Proxy: 1\""])
        let upgrade = [
            ("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]
        for fields in [[], upgrade, [("X-Local-Proxy", "2")]] {
            #expect(
                try setup.proxy.exchange("GET", "/v1/me", fields: fields)
                    .isOurs(403, "required_field_missing"))
        }
        #expect(upstream.connectionCount == 0)
        let good: [[(String, String)]] = [
            [("X-Local-Proxy", "1")], [("x-local-proxy", "1 ")],
            upgrade + [("X-Local-Proxy", "1")],
        ]
        for fields in good {
            #expect(try setup.proxy.exchange("GET", "/v1/me", fields: fields).status == 200)
        }
        #expect(upstream.requests.allSatisfy { !$0.has("X-Local-Proxy") })
    }
}
