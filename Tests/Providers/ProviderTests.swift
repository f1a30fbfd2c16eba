// The promises of the proxy against providers that nobody here wrote. The API is each provider's
// own userinfo endpoint, which asks its own books whether a token is good.

import Bytes
import Support
import Testing
import Vocabulary

@Suite(.enabled(if: Provider.isWanted), .serialized)
struct `Real provider` {
    /// Public clients may not revoke at Glewlwyd.
    static let confidential: [(Provider.Kind, Provider.Client)] = [
        (.glewlwyd, .post), (.nanoidp, .basic),
    ]

    @Test(arguments: [Provider.Kind.glewlwyd, .nanoidp], Provider.Client.allCases)
    func `logs in and serves a request`(kind: Provider.Kind, client: Provider.Client) throws {
        let world = try ProviderWorld(kind, client)
        try world.login()
        #expect(try Files.mode(world.home.loginFile()) == 0o600)
        let proxy = try world.home.serve()
        let answer = try proxy.exchange("GET", "/userinfo")
        #expect(answer.status == 200)
        #expect(answer.body.text.contains("\"sub\""))
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test func `expires, is refreshed ahead of requests, and rotates on disk`() throws {
        let world = try ProviderWorld(.glewlwyd)
        try world.login()
        let first = try world.stored()
        let proxy = try world.home.serve()
        // Nobody asks for anything; the tokens are replaced all the same.
        let second = try world.stored(after: first)
        #expect(second.refresh != first.refresh)
        let third = try world.stored(after: second)
        #expect(third.refresh != second.refresh)
        // Longer than a token lives, with a request every so often.
        for _ in 0..<20 {
            #expect(try proxy.exchange("GET", "/userinfo").status == 200)
            pause(.milliseconds(200))
        }
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: confidential)
    func `replays a request whose token was revoked`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(kind, client)
        try world.login()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", "/userinfo").status == 200)
        let before = try world.stored()
        try world.provider.revoke(before.access, client: client)
        let answer = try proxy.exchange("GET", "/userinfo")
        #expect(answer.status == 200)
        let after = try world.stored()
        #expect(after.access != before.access)
        #expect(after.refresh != before.refresh)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: confidential)
    func `says that a login is needed when the grant was revoked, and works after it`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(kind, client)
        try world.login()
        let proxy = try world.home.serve()
        // Again for whatever a refresh has just brought; and Glewlwyd refuses without saying why,
        // so the proxy has to be sure first.
        let refusal = try waited(for: "a login to be needed", within: .seconds(60)) {
            let tokens = try world.stored()
            try world.provider.revoke(tokens.refresh, client: client)
            try world.provider.revoke(tokens.access, client: client)
            let answer = try proxy.exchange("GET", "/userinfo")
            pause(.milliseconds(100))
            return answer.body.text.contains("login_required") ? answer : nil
        }
        #expect(refusal.status == 503)
        #expect(refusal.value("Content-Type") == "application/problem+json")
        let status = try world.home.run(["status"])
        #expect(status.output.contains("run: proxy login"), "\(status.output)")
        try world.login()
        let answer = try waited(for: "the new login to be noticed", within: .seconds(5)) {
            let answer = try proxy.exchange("GET", "/userinfo")
            return answer.status == 200 ? answer : nil
        }
        #expect(answer.body.text.contains("\"sub\""))
        try proxy.stop()
        #expect(try world.leaks() == [])
    }
}

/// A provider, and a home that is configured for it.
struct ProviderWorld {
    let provider: Provider
    let home: ProxyHome

    private let client: Provider.Client

    init(_ kind: Provider.Kind, _ client: Provider.Client = .publicly) throws {
        self.client = client
        provider = try Provider(kind)
        var lines = [
            "upstream: \(provider.issuer)", "listen: [\"127.0.0.1:0\"]", "credential:",
            "  issuer: \(provider.issuer)", "  client_id: \(client.rawValue)",
            "  client_authentication: \(client.method)",
            "  scopes: [openid, profile, offline_access]", "  login: manual",
        ]
        if let port = provider.callbackPort {
            lines.append("  redirect_uri: http://127.0.0.1:\(port)/callback")
        }
        if client.secret != nil { lines.append("  client_secret: { file: client.secret }") }
        home = try ProxyHome(configuration: lines.joined(separator: "\n") + "\n")
        if let secret = client.secret {
            try home.directory.write(Octets((secret + "\n").utf8), to: "settings/client.secret")
        }
    }

    /// `proxy login` with the scripted person for a browser.
    func login() throws {
        do {
            let login = try home.run(["login", "--browser", Provider.user], within: .seconds(60))
            try #require(login.status == 0, "\(login.error)")
        } catch let failure as Failure {
            Issue.record("\(failure); it printed:\n\(home.printed().map(\.text))")
            throw failure
        }
    }

    struct Tokens: Equatable {
        let access: String
        let refresh: String
    }

    /// What the store holds now.
    func stored() throws -> Tokens {
        let bytes = try #require(try Files.read(home.loginFile()))
        let record = try JSONReader.read(SecretBytes(bytes.bytes), strings: .plain).asObject
        return Tokens(
            access: try #require(record?["access_token"]?.asString),
            refresh: try #require(record?["refresh_token"]?.asString))
    }

    /// What the store holds once it no longer holds these.
    func stored(after old: Tokens) throws -> Tokens {
        try waited(for: "a refresh", within: .seconds(20)) {
            let tokens = try stored()
            return tokens == old ? nil : tokens
        }
    }

    /// Secrets in anything that the proxy printed.
    func leaks() throws -> [String] {
        let tokens = try stored()
        let search = SecretSearch(
            [tokens.access, tokens.refresh] + (client.secret.map { [$0] } ?? []))
        return home.printed(byErrorStreamOnly: true).flatMap { search.found(in: $0) }
    }
}
