import Configuration
import Testing
import Vocabulary

@Suite struct `Settings of identities` {
    @Test func `read every key`() throws {
        let oauth = try settings(
            short(
                credential: """
                    scopes: [openid]
                    inject: id_token
                    jwks_uri: https://login.example.com/keys
                    userinfo_endpoint: https://login.example.com/me?v=2
                    id_token_signed_response_alg: [ES256, EdDSA]
                    trusted_audiences: [other, "https://api.example.com"]
                    clock_skew: 2m
                    id_token_max_age: 1h
                    """)
        ).oauth
        #expect(oauth.injected == .idToken)
        #expect(
            oauth.endpointsByHand == [
                "jwks_uri": "https://login.example.com/keys",
                "userinfo_endpoint": "https://login.example.com/me?v=2",
            ])
        #expect(oauth.identity.algorithms == ["ES256", "EdDSA"])
        #expect(oauth.identity.trustedAudiences == ["other", "https://api.example.com"])
        #expect(oauth.identity.skewSeconds == 120)
        #expect(oauth.identity.issuedAtWindowSeconds == 3600)
    }

    @Test func `have defaults`() throws {
        let oauth = try settings(short()).oauth
        #expect(oauth.injected == .accessToken)
        #expect(oauth.identity.algorithms.isEmpty && oauth.identity.trustedAudiences.isEmpty)
        #expect(oauth.identity.skewSeconds == 60)
        #expect(oauth.identity.issuedAtWindowSeconds == 600)
        #expect(
            try settings(short(credential: "inject: access_token")).oauth.injected == .accessToken)
    }

    @Test(arguments: ["none", "HS256", "RS1", "es256", "ES256K"])
    func `allow no algorithm without a public key`(name: String) {
        let credential = "id_token_signed_response_alg: \(name)"
        #expect(
            problems(short(credential: credential)).contains {
                $0.contains("\"\(name)\" cannot sign an ID token")
            })
    }

    @Test(arguments: [
        ("jwks_uri: http://login.example.com/keys", "in the clear"),
        ("userinfo_endpoint: https://login.example.com/#x", "fragment"),
        ("scopes: [api]\ninject: id_token", "openid"), ("clock_skew: 1h", "clock_skew"),
        ("inject: refresh_token", "inject"),
    ])
    func `are refused for what would do harm`(credential: String, word: String) {
        #expect(
            problems(short(credential: credential)).contains { $0.contains(word) })
    }

    @Test func `leave forms of injection alone, and are for logins only`() throws {
        let query = try settings(short(credential: "inject: { query: key }"))
        #expect(try query.oauth.injected == .accessToken)
        let text = """
            upstream: https://api.example.com
            credential:
              token: { env: TOKEN }
              inject: id_token
            """
        #expect(problems(text).contains { $0.contains("only a login has several tokens") })
    }
}
