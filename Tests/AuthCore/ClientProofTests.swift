import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `A client's proof` {
    private let issuer = "https://login.example.com"

    private func settings(_ ground: Ground, key: TestKey = TestKey()) throws -> OAuthSettings {
        var settings = Ground.settings
        settings.grant = .clientCredentials
        settings.privateKey = .file(
            path: try ground.directory.write(Octets(key.pem.utf8), to: "client.pem"))
        settings.keyID = "k1"
        return settings
    }

    @Test func `by key is an assertion for the issuer, for a minute, once (F34)`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1"), .tokens("AT2")]))
        let keeper = ground.machineKeeper(try settings(ground))
        let first = try await keeper.credential(newerThan: .none)
        _ = try await keeper.credential(newerThan: first.generation)
        let forms = ground.fetcher.forms
        #expect(forms[0]["client_assertion_type"] == ClientAssertion.type)
        #expect(forms[0]["client_secret"] == nil)
        #expect(ground.fetcher.fields(1)["Authorization"] == nil)
        let (header, one) = try claims(forms[0]["client_assertion"])
        #expect(header.text("alg") == "ES256")
        #expect(header.text("kid") == "k1")
        #expect(one.text("iss") == "my-cli")
        #expect(one.text("sub") == "my-cli")
        #expect(one.text("aud") == issuer)
        let lifetime = (one.number("exp") ?? 0) - ground.now.seconds
        #expect((1...300).contains(lifetime))
        let (_, two) = try claims(forms[1]["client_assertion"])
        #expect(one.text("jti") != nil)
        #expect(one.text("jti") != two.text("jti"))
    }

    @Test(
        arguments: [
            (AssertionAudience.tokenEndpoint, "https://login.example.com/token"),
            (.endpoint, "https://login.example.com/token"), (.other("urn:server"), "urn:server"),
        ])
    func `is for whom the server wants it to be`(
        audience: AssertionAudience, text: String
    ) async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        var settings = try settings(ground)
        settings.assertionAudience = audience
        _ = try await ground.machineKeeper(settings).text()
        let (_, claims) = try claims(ground.fetcher.forms[0]["client_assertion"])
        #expect(claims.text("aud") == text)
    }

    @Test func `is made again for a refresh whose answer was lost`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.failure(.brokenOff(mayHaveArrived: true)), .tokens("AT2")]))
        var settings = try settings(ground)
        settings.grant = .authorizationCode
        try await ground.save(secondsLeft: -10)
        #expect(try await ground.keeper(settings).text() == "AT2")
        let assertions = ground.fetcher.forms.compactMap { $0["client_assertion"] }
        #expect(ground.fetcher.spent == ["RT1", "RT1"])
        #expect(assertions.count == 2)
        #expect(assertions[0] != assertions[1])
    }

    @Test func `by secret signs with HMAC and sends no secret`() async throws {
        let ground = try Ground.machine([.tokens("AT1")])
        var settings = Ground.settings(of: .clientCredentials)
        settings.clientAuthentication = .secretJWT
        _ = try await ground.machineKeeper(settings).text()
        let form = ground.fetcher.forms[0]
        #expect(form["client_secret"] == nil)
        let (header, claims) = try claims(form["client_assertion"])
        #expect(header.text("alg") == "HS256")
        #expect(claims.text("aud") == issuer)
    }

    @Test func `by a key that is none is a matter of the configuration`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        var settings = try settings(ground)
        settings.privateKey = .file(path: try ground.directory.write("no key", to: "none.pem"))
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.machineKeeper(settings).text()
        }
        #expect(refusal.isMisconfigured)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `by certificate goes to the endpoint that is kept for it`() async throws {
        let document = """
            {"issuer":"https://login.example.com","token_endpoint":"https://login.example.com/token",
            "mtls_endpoint_aliases":{"token_endpoint":"https://mtls.example.com/token"},
            "token_endpoint_auth_methods_supported":["tls_client_auth"]}
            """
        let ground = try Ground()
        ground.fetcher.answer { request, _ in
            request.method == .get ? .json(200, document) : .tokens("AT1")
        }
        var settings = Ground.settings
        settings.endpoints = .issuer(issuer)
        settings.grant = .clientCredentials
        let certificate = ClientCertificate(certificatePath: "/c.pem", keyPath: "/k.pem")
        settings.clientCertificate = certificate
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.urls.last == "https://mtls.example.com/token")
        #expect(ground.fetcher.certificates.last == certificate)
        #expect(ground.fetcher.forms.last?["client_id"] == "my-cli")
    }

    // MARK: Additions

    @Test func `is made by a program for each request (F35, F36)`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2"), .tokens("AT3")]))
        let counter = ground.directory.path("count")
        let program = try ground.directory.writeScript(
            "echo x >> '\(counter)'; echo proof-$(wc -l < '\(counter)' | tr -d ' ')", to: "pop")
        var settings = Ground.settings
        settings.additions[.token] = RequestAdditions(fields: [
            NamedValue("OAuth-Client-Attestation", "fixed"),
            NamedValue("OAuth-Client-Attestation-PoP", .secret(.command([program]))),
        ])
        settings.additions[.refresh] = RequestAdditions(parameters: [NamedValue("reason", "r")])
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper(settings)
        let first = try await keeper.credential(newerThan: .none)
        _ = try await keeper.credential(newerThan: first.generation)
        let proofs = (1...2).map { ground.fetcher.fields($0)["OAuth-Client-Attestation-PoP"] }
        #expect(proofs == ["proof-1", "proof-2"])
        #expect(ground.fetcher.fields(1)["OAuth-Client-Attestation"] == "fixed")
        #expect(ground.fetcher.forms.allSatisfy { $0["reason"] == "r" })
    }

    @Test func `answers a challenge once`() async throws {
        let challenge: Result<InboundResponse, FetchError> = .json(
            400, #"{"error":"use_attestation_challenge"}"#,
            [("OAuth-Client-Attestation-Challenge", "C-4711")])
        let ground = try Ground(ScriptedFetcher([challenge, .tokens("AT2")]))
        let program = try ground.directory.writeScript(
            "echo \"proof-$OAUTH_CLIENT_ATTESTATION_CHALLENGE\"", to: "pop")
        var settings = Ground.settings
        settings.additions[.token] = RequestAdditions(fields: [
            NamedValue("OAuth-Client-Attestation-PoP", .secret(.command([program])))
        ])
        try await ground.save(secondsLeft: -10)
        #expect(try await ground.keeper(settings).text() == "AT2")
        let proofs = (1...2).map { ground.fetcher.fields($0)["OAuth-Client-Attestation-PoP"] }
        #expect(proofs == ["proof-", "proof-C-4711"])

        let stubborn = try Ground(ScriptedFetcher([challenge]))
        try await stubborn.save(secondsLeft: -10)
        let refusal = try await #require(throws: Refusal.self) {
            try await stubborn.keeper(settings).text()
        }
        #expect(refusal.isMisconfigured)
        #expect(stubborn.fetcher.count == 2)
    }

    @Test func `that cannot be read stops the request before it is sent`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        var settings = Ground.settings
        settings.additions[.token] = RequestAdditions(fields: [
            NamedValue("X-Proof", .secret(.file(path: ground.directory.path("missing"))))
        ])
        try await ground.save(secondsLeft: -10)
        await #expect(throws: Refusal.self) { try await ground.keeper(settings).text() }
        #expect(ground.fetcher.count == 0)
    }
}
