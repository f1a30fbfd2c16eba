import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

@Suite struct `JWT bearer` {
    private func base(_ assertion: AssertionSettings) -> OAuthSettings {
        var settings = Ground.settings
        settings.grant = .jwtBearer(assertion)
        settings.clientID = ""
        settings.scopes = ["calendar"]
        return settings
    }

    private func accountFile(
        _ ground: Ground, tokenURI: String = "https://login.example.com/token",
        email: String = "robot@example.com"
    ) throws -> String {
        let pem = TestKey().pem.split(separator: "\n").joined(separator: "\\n")
        return try ground.directory.write(
            Octets(
                """
                {"type":"service_account","client_email":"\(email)","private_key_id":"k9",
                "private_key":"\(pem)\\n","token_uri":"\(tokenURI)"}
                """.utf8), to: "account.json")
    }

    @Test func `from a key file says who, for whom, for what`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let file = try accountFile(ground)
        let settings = base(.serviceAccount(.file(path: file), subject: "ann@example.com"))
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        let form = ground.fetcher.forms[0]
        #expect(Set(form.keys) == ["grant_type", "assertion"])
        #expect(form["grant_type"] == grantType)
        let (header, claims) = try claims(form["assertion"])
        #expect(header.text("kid") == "k9")
        #expect(claims.text("iss") == "robot@example.com")
        #expect(claims.text("sub") == "ann@example.com")
        #expect(claims.text("aud") == "https://login.example.com/token")
        #expect(claims.text("scope") == "calendar")
        #expect(claims.number("iat") == ground.now.seconds)
        #expect(claims.number("exp") == ground.now.seconds + 3600)
        // The token is kept for this account.
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.count == 1)
        ground.fetcher.answer { _, _ in .tokens("AT2") }
        _ = try accountFile(ground, email: "another@example.com")
        #expect(try await ground.machineKeeper(settings).text() == "AT2")
    }

    @Test func `from a key file without a user acts for itself`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let settings = base(
            .serviceAccount(.file(path: try accountFile(ground)), subject: nil))
        _ = try await ground.machineKeeper(settings).text()
        let (_, claims) = try claims(ground.fetcher.forms[0]["assertion"])
        #expect(claims["sub"] == nil)
    }

    @Test(arguments: [
        "{}", "[1]", "no json", #"{"client_email":"a"}"#,
        #"{"client_email":"a","private_key":"x"}"#,
    ])
    func `from a file that is no key file is a matter of the configuration`(
        text: String
    ) async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let file = try ground.directory.write(Octets(text.utf8), to: "account.json")
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.machineKeeper(
                base(.serviceAccount(.file(path: file), subject: nil))
            ).text()
        }
        #expect(refusal.isMisconfigured)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `is not led elsewhere by a key file`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let file = try accountFile(ground, tokenURI: "https://evil.example/token")
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.machineKeeper(
                base(.serviceAccount(.file(path: file), subject: nil))
            ).text()
        }
        #expect(refusal.isMisconfigured)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `of our own has claims of its own, and a fresh name each time`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1"), .tokens("AT2")]))
        var own = OwnAssertion(
            key: .file(
                path: try ground.directory.write(Octets(TestKey().pem.utf8), to: "key.pem")),
            issuer: "service", subject: "ann")
        own.keyID = "k1"
        own.lifetimeSeconds = 60
        own.claims = [NamedValue("tenant", "blue")]
        let keeper = ground.machineKeeper(base(.own(own)))
        let first = try await keeper.credential(newerThan: .none)
        _ = try await keeper.credential(newerThan: first.generation)
        let (header, one) = try claims(ground.fetcher.forms[0]["assertion"])
        let (_, two) = try claims(ground.fetcher.forms[1]["assertion"])
        #expect(header.text("kid") == "k1")
        #expect(one.text("iss") == "service")
        #expect(one.text("sub") == "ann")
        #expect(one.text("aud") == "https://login.example.com")
        #expect(one.text("tenant") == "blue")
        #expect(one.number("exp") == ground.now.seconds + 60)
        #expect(one.text("jti") != two.text("jti"))
        #expect(ground.fetcher.forms[0]["scope"] == "calendar")
    }

    @Test func `of somebody else's is read anew for each request`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1"), .tokens("AT2")]))
        let file = try ground.directory.write("h.c.one\n", to: "assertion")
        let keeper = ground.machineKeeper(base(.made(.file(path: file))))
        let first = try await keeper.credential(newerThan: .none)
        try ground.directory.write("h.c.two", to: "assertion")
        // A keeper asks at most once a second.
        ground.clock.advance(seconds: 2)
        _ = try await keeper.credential(newerThan: first.generation)
        #expect(ground.fetcher.forms.map { $0["assertion"] } == ["h.c.one", "h.c.two"])
    }
}
