import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let typePrefix = TokenExchangeSettings.typePrefix
private let gateway = CredentialID("gateway")!

@Suite struct `Token exchange` {
    private func settings(
        _ subject: TokenExchangeSettings.Party.Source, type: String = "access_token"
    ) -> OAuthSettings {
        var exchange = TokenExchangeSettings(subject: .init(subject, type: typePrefix + type))
        exchange.audiences = ["orders", "stock"]
        exchange.resources = ["https://orders.example.com"]
        var settings = Ground.settings(of: .tokenExchange(exchange))
        settings.scopes = ["orders.write"]
        return settings
    }

    private func exchanged(
        _ access: String, type: String = "Bearer", issued: String? = "access_token"
    ) -> Result<InboundResponse, FetchError> {
        let kind = issued.map { #","issued_token_type":"\#(typePrefix)\#($0)""# } ?? ""
        return .json(
            200,
            #"{"access_token":"\#(access)","token_type":"\#(type)","expires_in":300\#(kind)}"#)
    }

    @Test func `names subject, actor, audience, resource and scope`() async throws {
        let ground = try Ground.machine([exchanged("AT1")])
        let file = try ground.directory.write("canary-subject", to: "subject")
        var settings = settings(.secret(.file(path: file)), type: "jwt")
        guard case .tokenExchange(var exchange) = settings.grant else { return }
        exchange.actor = .init(
            .secret(.file(path: try ground.directory.write("canary-actor", to: "actor"))))
        exchange.requestedType = TokenExchangeSettings.accessToken
        settings.grant = .tokenExchange(exchange)
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(
            ground.fetcher.forms[0] == [
                "grant_type": "urn:ietf:params:oauth:grant-type:token-exchange",
                "subject_token": "canary-subject", "subject_token_type": typePrefix + "jwt",
                "actor_token": "canary-actor", "actor_token_type": typePrefix + "access_token",
                // The form of a test has a name once; both are sent.
                "audience": "orders", "resource": "https://orders.example.com",
                "requested_token_type": typePrefix + "access_token", "scope": "orders.write",
                "client_id": "my-cli", "client_secret": "canary-client",
            ])
        let body = ground.fetcher.bodies[0]
        #expect(body.contains("audience=orders&audience=stock"))
    }

    @Test func `is kept by subject, audience and scope (F63, F84)`() async throws {
        let ground = try Ground.machine([exchanged("AT1"), exchanged("AT2"), exchanged("AT3")])
        let file = try ground.directory.write("subject-1", to: "subject")
        let settings = settings(.secret(.file(path: file)))
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.count == 1)
        var other = settings
        other.scopes = ["orders.read"]
        #expect(try await ground.machineKeeper(other).text() == "AT2")
        // Another subject in the same place never gets the token of the one before.
        try ground.directory.write("subject-2", to: "subject")
        #expect(try await ground.machineKeeper(other).text() == "AT3")
    }

    @Test func `drops a running proxy's token once the subject is another`() async throws {
        let ground = try Ground.machine([exchanged("AT1"), exchanged("AT2")])
        let file = try ground.directory.write("subject-1", to: "subject")
        let keeper = ground.machineKeeper(settings(.secret(.file(path: file))))
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        #expect(try await keeper.text() == "AT1")
        try ground.directory.write("subject-2!", to: "subject")
        ground.clock.advance(seconds: 2)
        try await ground.tick("the change is seen") { try await keeper.text() == "AT2" }
        #expect(ground.fetcher.forms.map { $0["subject_token"] } == ["subject-1", "subject-2!"])
    }

    @Test func `of a JWT is for whom it is about, however often it is made anew`() async throws {
        let ground = try Ground.machine([exchanged("AT1"), exchanged("AT2")])
        // {"alg":"none"} . {"iss":"i","sub":"s","n":1 or 2} .
        let tokens = [
            "eyJhbGciOiJub25lIn0.eyJpc3MiOiJpIiwic3ViIjoicyIsIm4iOjF9.AA",
            "eyJhbGciOiJub25lIn0.eyJpc3MiOiJpIiwic3ViIjoicyIsIm4iOjJ9.AA",
        ]
        let file = try ground.directory.write(Octets(tokens[0].utf8), to: "subject")
        let settings = settings(.secret(.file(path: file)), type: "jwt")
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        try ground.directory.write(Octets(tokens[1].utf8), to: "subject")
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.count == 1)
    }

    @Test(
        arguments: [
            ("Bearer", "refresh_token"), ("Bearer", "saml2"), ("N_A", "jwt"),
            ("N_A", "access_token"),
        ])
    func `refuses what no API is called with`(type: String, issued: String) async throws {
        let ground = try Ground.machine([exchanged("AT1", type: type, issued: issued)])
        let file = try ground.directory.write("subject", to: "subject")
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.machineKeeper(settings(.secret(.file(path: file)))).text()
        }
        #expect(refusal.isUnreachable)
        #expect(try await ground.store.load(github) == nil)
    }

    @Test func `refuses another kind than was asked for`() async throws {
        let ground = try Ground.machine([exchanged("AT1", issued: "id_token"), exchanged("AT2")])
        let file = try ground.directory.write("subject", to: "subject")
        var settings = settings(.secret(.file(path: file)))
        guard case .tokenExchange(var exchange) = settings.grant else { return }
        exchange.requestedType = TokenExchangeSettings.accessToken
        settings.grant = .tokenExchange(exchange)
        let keeper = ground.machineKeeper(settings)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        ground.clock.advance(seconds: 40)
        #expect(try await keeper.text() == "AT2")
    }

    // MARK: Of another credential's

    private struct Chain {
        let ground: Ground
        let subject: CredentialKeeper
        let keeper: CredentialKeeper
        let roster = KeeperRoster()

        init(_ ground: Ground, _ settings: OAuthSettings) {
            self.ground = ground
            subject = ground.machineKeeper(Ground.settings, roster: roster)
            keeper = ground.machineKeeper(settings, roster: roster, as: gateway)
            roster.add(subject)
            roster.add(keeper)
        }

        /// Keeps both keepers until the token is there: the roster owns none.
        func text() async throws -> String {
            defer { withExtendedLifetime(self) {} }
            return try await keeper.text()
        }
    }

    @Test func `takes another credential's token`() async throws {
        let ground = try Ground.machine([exchanged("X1")])
        try await ground.save("AT1", secondsLeft: 200)
        let chain = Chain(ground, settings(.credential(github)))
        #expect(try await chain.text() == "X1")
        #expect(ground.fetcher.forms[0]["subject_token"] == "AT1")
        // Another start of the same.
        #expect(try await Chain(ground, settings(.credential(github))).text() == "X1")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `refreshes an expired subject first`() async throws {
        let ground = try Ground.machine([.tokens("AT2", refresh: "RT2"), exchanged("X1")])
        try await ground.save("AT1", secondsLeft: -10)
        let chain = Chain(ground, settings(.credential(github)))
        #expect(try await chain.text() == "X1")
        #expect(ground.fetcher.forms.map { $0["grant_type"] }[0] == "refresh_token")
        #expect(ground.fetcher.forms[1]["subject_token"] == "AT2")
    }

    @Test(arguments: ["invalid_request", "invalid_grant"])
    func `tries a newer subject once where the server does not take this one`(
        code: String
    ) async throws {
        let ground = try Ground.machine([
            .error(code), .tokens("AT2", refresh: "RT2"), exchanged("X1"),
        ])
        try await ground.save("AT1", secondsLeft: 200)
        let chain = Chain(ground, settings(.credential(github)))
        #expect(try await chain.text() == "X1")
        #expect(ground.fetcher.forms.compactMap { $0["subject_token"] } == ["AT1", "AT2"])
    }

    @Test func `says that the subject needs a login, with the subject's command`() async throws {
        let ground = try Ground.machine([exchanged("X1")])
        let chain = Chain(ground, settings(.credential(github)))
        let refusal = try await #require(throws: Refusal.self) { try await chain.text() }
        guard case .loginRequired(_, _, let command, _) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(command == "proxy login github")
        #expect(ground.fetcher.count == 0)
        // And is well again as soon as somebody has logged in.
        try await ground.save("AT1", secondsLeft: 200)
        ground.clock.advance(seconds: 5)
        #expect(try await chain.text() == "X1")
    }

    @Test func `forgets the token of the person before`() async throws {
        // Without an ID token two logins are two subjects.
        let ground = try Ground.machine([exchanged("X1"), exchanged("X2")])
        try await ground.save("AT1", secondsLeft: 200)
        let settings = settings(.credential(github))
        #expect(try await Chain(ground, settings).text() == "X1")
        try await ground.save("BT1", refresh: "BRT1", secondsLeft: 200)
        #expect(try await Chain(ground, settings).text() == "X2")
        #expect(ground.fetcher.forms.map { $0["subject_token"] } == ["AT1", "BT1"])
    }
}
