import Configuration
import Testing
import Vocabulary

@Suite struct `Grants` {
    private func read(_ credential: String) throws -> OAuthSettings {
        try settings("upstream: https://a.example\ncredential: { \(credential) }").oauth
    }

    @Test func `are logins in the browser unless something else is said`() throws {
        #expect(try read("issuer: https://a, client_id: c").grant == .authorizationCode)
        #expect(
            try read("issuer: https://a, client_id: c, grant: authorization_code").grant
                == .authorizationCode)
    }

    @Test func `of machines need a token endpoint and no other`() throws {
        let oauth = try read(
            "token_endpoint: https://a/token, client_id: c, client_secret: { env: S }, "
                + "grant: client_credentials")
        #expect(oauth.grant == .clientCredentials)
        guard case .fixed(nil, "https://a/token", nil) = oauth.endpoints else {
            Issue.record("\(oauth.endpoints)")
            return
        }
    }

    @Test func `of devices take an endpoint by hand`() throws {
        let oauth = try read(
            "token_endpoint: https://a/token, device_authorization_endpoint: https://a/device, "
                + "client_id: c, grant: device_code, quirks: [github_errors]")
        #expect(oauth.grant == .deviceCode)
        #expect(oauth.endpointsByHand["device_authorization_endpoint"] == "https://a/device")
        #expect(oauth.quirks == [.githubErrors])
        let beside = try read(
            "issuer: https://a, device_authorization_endpoint: https://a/device, client_id: c")
        #expect(beside.endpointsByHand["device_authorization_endpoint"] == "https://a/device")
    }

    @Test func `by key file need nothing else`() throws {
        let oauth = try read(
            "grant: jwt_bearer, service_account: { file: sa.json, subject: ann@x.example }")
        #expect(
            oauth.grant
                == .jwtBearer(
                    .serviceAccount(
                        .file(path: "/etc/proxy/sa.json"), subject: "ann@x.example")))
        guard case .fixed(nil, "https://oauth2.googleapis.com/token", nil) = oauth.endpoints else {
            Issue.record("\(oauth.endpoints)")
            return
        }
        #expect(oauth.clientID == "")
        #expect(oauth.keySources == [.file(path: "/etc/proxy/sa.json")])
    }

    @Test func `by statement sign with the client's key, or take what is made elsewhere`() throws {
        let oauth = try read(
            """
            token_endpoint: https://a/t, grant: jwt_bearer, private_key: { env: K }, key_id: k1,
            assertion: { issuer: i, subject: s, audience: a, lifetime: 1m, claims: { t: blue } }
            """)
        var own = OwnAssertion(key: .environment(name: "K"), issuer: "i", subject: "s")
        own.keyID = "k1"
        own.audience = "a"
        own.lifetimeSeconds = 60
        own.claims = [NamedValue("t", "blue")]
        #expect(oauth.grant == .jwtBearer(.own(own)))
        // The statement is the proof; the key is not used twice.
        #expect(oauth.privateKey == nil)
        #expect(oauth.keySources == [.environment(name: "K")])
        let made = try read(
            "token_endpoint: https://a/t, grant: jwt_bearer, assertion: { file: /run/token }")
        #expect(made.grant == .jwtBearer(.made(.file(path: "/run/token"))))
        #expect(made.secretSources == [.file(path: "/run/token")])
    }

    @Test func `by exchange name another credential or a secret`() throws {
        let all = try settings(
            """
            routes: [{ upstream: "https://a.example", credential: orders }]
            credentials:
              me: { issuer: "https://a", client_id: c }
              orders:
                grant: token_exchange
                issuer: https://b
                exchange:
                  subject: { credential: me }
                  subject_type: id_token
                  actor: { env: ACTOR }
                  audience: [x, y]
                  resource: https://r
                  requested_type: urn:x:y
            """)
        guard case .oauth(let oauth) = try #require(all.credentials.last).kind,
            case .tokenExchange(let exchange) = oauth.grant
        else {
            Issue.record("no exchange")
            return
        }
        #expect(exchange.subject.source == .credential(CredentialID("me")!))
        #expect(exchange.subject.type == TokenExchangeSettings.identityToken)
        #expect(exchange.actor?.source == .secret(.environment(name: "ACTOR")))
        #expect(exchange.actor?.type == TokenExchangeSettings.accessToken)
        #expect(exchange.audiences == ["x", "y"])
        #expect(exchange.resources == ["https://r"])
        #expect(exchange.requestedType == "urn:x:y")
    }

    @Test(arguments: [
        ("grant: magic", "\"magic\" is no value for \"grant\""),
        (
            "issuer: https://a, client_id: c, service_account: { file: x }",
            "the key \"service_account\" goes with another grant"
        ),
        (
            "issuer: https://a, client_id: c, grant: token_exchange",
            "credential \"default\" needs the key \"exchange\""
        ),
        (
            "issuer: https://a, grant: jwt_bearer",
            "credential \"default\" needs the key \"service_account\""
        ),
        (
            "grant: jwt_bearer, service_account: { file: x }, assertion: { file: y }",
            "service_account and assertion are two ways"
        ),
        (
            "issuer: https://a, grant: jwt_bearer, assertion: { issuer: i, subject: s }",
            "credential \"default\" needs the key \"private_key\""
        ),
        (
            "issuer: https://a, grant: jwt_bearer, private_key: { env: K }, "
                + "assertion: { issuer: i, subject: s, claims: { exp: x } }",
            "the claim \"exp\" is made anew for each assertion"
        ),
        (
            "issuer: https://a, grant: jwt_bearer, assertion: { file: f, issuer: i }",
            "an assertion that is made elsewhere has no \"issuer\""
        ),
        (
            "issuer: https://a, grant: token_exchange, exchange: { audience: x }",
            "\"exchange\" needs the key \"subject\""
        ),
        (
            "issuer: https://a, grant: token_exchange, "
                + "exchange: { subject: { env: S }, subject_type: token }",
            "\"token\" is no type of a token"
        ),
        (
            "issuer: https://a, grant: token_exchange, "
                + "exchange: { subject: { env: S }, requested_type: refresh_token }",
            "no API is called with a token of that type"
        ),
        (
            "issuer: https://a, grant: token_exchange, exchange: { subject: s3cr3t }",
            "\"subject\" must be a mapping"
        ),
        (
            "issuer: https://a, grant: token_exchange, exchange: { subject: { credential: other } }",
            "no credential named \"other\" to exchange"
        ),
        (
            "issuer: https://a, grant: token_exchange, "
                + "exchange: { subject: { credential: default } }",
            "the credential \"default\" is made from itself"
        ),
        (
            "issuer: https://a, client_id: c, client_secret: { env: S }, "
                + "grant: client_credentials, redirect_uri: 'http://127.0.0.1/x'",
            "the key \"redirect_uri\" is for logins of a person"
        ),
        ("issuer: https://a, client_id: c, quirks: [odd]", "\"odd\" is no quirk"),
        (
            "token_endpoint: https://a, client_id: c, grant: device_code",
            "credential \"default\" needs the key \"device_authorization_endpoint\""
        ),
    ])
    func `are refused with the reason`(_ text: String, _ expected: String) {
        let found = problems("upstream: https://a.example\ncredential: { \(text) }")
        let messages = found.map { $0.split(separator: ": ", maxSplits: 1).last ?? "" }
        #expect(messages.contains { $0.hasPrefix(expected) }, "\(found)")
        #expect(!found.joined().contains("s3cr3t"))
    }
}
