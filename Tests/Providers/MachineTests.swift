// Grants without a person at real providers: client credentials, client assertions, statements of our
// own (RFC 7523) and token exchange (RFC 8693).

import Support
import Testing
import Vocabulary

extension `Real provider` {
    private func machine(
        _ provider: Provider, _ client: Provider.Client = .service, _ lines: [String] = []
    ) throws -> ProviderWorld {
        try ProviderWorld(
            provider, client,
            lines: ["grant: client_credentials", "scopes: [\(provider.kind.machineScope)]"] + lines)
    }

    @Test(arguments: Provider.Kind.allCases)
    func `a machine gets its own token, once`(kind: Provider.Kind) throws {
        let world = try machine(.shared(kind))
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        let facts = try world.provider.introspect(token, as: .service)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        #expect(facts["client_id"]?.asString == (try world.provider.name(of: .service)))
        #expect(try world.sentToken(proxy) == token)
        try proxy.stop()
        // What was got is kept for the next process.
        let again = try world.home.serve()
        #expect(try world.sentToken(again) == token)
        try again.stop()
        #expect(try world.leaks() == [])
    }

    @Test func `a machine's token is replaced before it ends`() throws {
        let world = try machine(Provider(.glewlwyd, lifetimeSeconds: 2))
        let proxy = try world.home.serve()
        var seen: Set<String> = []
        _ = try waited(for: "three tokens", within: .seconds(30)) {
            seen.insert(try world.sentToken(proxy))
            pause(.milliseconds(100))
            return seen.count >= 3 ? seen : nil
        }
        try proxy.stop()
    }

    @Test func `a wrong secret is the configuration's fault`() throws {
        let world = try machine(.shared(.nanoidp))
        try world.write("not-the-secret\n", to: "client.secret")
        let proxy = try world.home.serve()
        let answer = try proxy.exchange("GET", "/api/things")
        #expect(answer.status == 503)
        #expect(answer.body.text.contains("credential_misconfigured"), "\(answer)")
        #expect(world.api.requests.isEmpty)
        try proxy.stop()
    }

    // MARK: Keys

    /// Both servers want an assertion to be for the token endpoint.
    private func showing(_ name: String) -> [String] {
        [
            "client_authentication: private_key_jwt", "private_key: { file: client.pem }",
            "key_id: \(name)", "assertion_audience: token_endpoint",
        ]
    }

    @Test(arguments: ["client-rsa", "client-ec"])
    func `a machine shows who it is with a key`(name: String) throws {
        let provider = try Provider.shared(.glewlwyd)
        let world = try machine(provider, .key, showing(name))
        try world.write(provider.file("\(name).pem").text, to: "client.pem")
        let proxy = try world.home.serve()
        _ = try world.sentToken(proxy)
        // A new assertion, which the provider has not seen.
        try world.refresh()
        try proxy.stop()
    }

    @Test func `an assertion by a stranger's key gets nothing`() throws {
        let provider = try Provider.shared(.glewlwyd)
        let world = try machine(provider, .key, showing("client-ec"))
        try world.write(provider.file("stranger.pem").text, to: "client.pem")
        let proxy = try world.home.serve()
        let answer = try proxy.exchange("GET", "/api/things")
        #expect(answer.status == 503, "\(answer)")
        #expect(world.api.requests.isEmpty)
        try proxy.stop()
    }

    @Test(arguments: [Provider.Kind.glewlwyd, .canaille])
    func `a login's tokens are got and renewed with a key`(kind: Provider.Kind) throws {
        let provider = try Provider.shared(kind)
        let world = try ProviderWorld(provider, .key, lines: showing("client-rsa"))
        try world.write(provider.file("client-rsa.pem").text, to: "client.pem")
        try world.login()
        let first = try world.stored()
        try world.refresh()
        #expect(try world.stored().access != first.access)
        let proxy = try world.home.serve()
        #expect(try world.userinfo(proxy).status == 200)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    // MARK: Statements

    /// Canaille takes statements that its own key signed, for people who have agreed to the client.
    @Test func `a signed statement becomes a token`() throws {
        let provider = try Provider.shared(.canaille)
        try ProviderWorld(provider, .basic).login()
        let world = try ProviderWorld(
            provider, .basic,
            lines: [
                "grant: jwt_bearer", "private_key: { file: statement.pem }", "key_id: signing",
                "client_authentication: client_secret_basic",
                "scopes: [profile]",
                "assertion: { issuer: basic-cli, subject: ada, audience: \"\(provider.issuer)/oauth/token\" }",
            ])
        try world.write(provider.file("signing.pem").text, to: "statement.pem")
        let proxy = try world.home.serve()
        world.settle()
        let facts = try provider.introspect(world.sentToken(proxy), as: .basic)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        #expect(facts["sub"]?.asString == "ada")
        try proxy.stop()

        try world.write(provider.file("client-rsa.pem").text, to: "statement.pem")
        let stranger = try world.home.run(["refresh", "--force"])
        #expect(stranger.status != 0)
    }

    @Test func `a token is exchanged for another`() throws {
        let provider = try Provider.shared(.authgent)
        let subject = try ProviderWorld(provider)
        try subject.login()
        let world = try ProviderWorld(
            provider, .service,
            lines: [
                "grant: token_exchange", "scopes: [profile]",
                "exchange: { subject: { file: subject }, audience: [\"https://api.example.test/\"] }",
            ])
        let before = try subject.stored().access
        try world.write(before + "\n", to: "subject")
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        #expect(token != before)
        let facts = try provider.introspect(token, as: .service)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        #expect(facts["scope"]?.asString == "profile")
        try proxy.stop()

        try world.write(String(before.dropLast(8)) + "AAAAAAAA\n", to: "subject")
        let refused = try world.home.serve()
        #expect(try refused.exchange("GET", "/api/things").status == 503)
        try refused.stop()
    }
}
