import Configuration
import Testing
import Vocabulary

@Suite struct `Credential settings` {
    private func read(_ credential: String) throws -> CredentialSettings {
        try #require(
            settings("upstream: https://a.example\ncredential: { \(credential) }").credentials.first
        )
    }

    @Test func `bind tokens to a key, which has one way to be sent (RFC 9449)`() throws {
        let client = "issuer: https://as.example, client_id: c"
        let bound = try read("\(client), dpop: true")
        #expect(bound.requiresProof)
        #expect(bound.injection == Injection(field: "Authorization", prefix: "DPoP "))
        #expect(try !read(client).requiresProof)
        for other in ["header: X-Token", "prefix: Bearer", "inject: { query: key }"] {
            #expect(throws: ConfigurationError.self) {
                try read("\(client), dpop: true, \(other)")
            }
        }
    }

    @Test func `read every key of an OAuth client`() throws {
        let oauth = try settings(
            short(
                credential: """
                    client_secret: { command: [./secret.sh, --quiet] }
                    client_authentication: client_secret_post
                    scopes: openid  email openid
                    authorization_params: { prompt: consent, audience: "https://api" }
                    token_params: { audience: "https://api" }
                    redirect_uri: http://localhost:8123/cb
                    login: manual
                    login_wait: 0s
                    refresh_before: 5m
                    assumed_lifetime: 1h
                    """)
        ).oauth
        #expect(oauth.clientSecret == .command(["/etc/proxy/./secret.sh", "--quiet"]))
        #expect(oauth.clientAuthentication == .post)
        #expect(oauth.scopes == ["openid", "email"])
        #expect(
            oauth.additions(to: .authorization).parameters == [
                NamedValue("prompt", "consent"), NamedValue("audience", "https://api"),
            ])
        #expect(
            oauth.additions(to: .token).parameters == [NamedValue("audience", "https://api")])
        #expect(oauth.callbackHost == "localhost")
        #expect(oauth.callbackPort == 8123)
        #expect(oauth.callbackPath == "/cb")
        #expect(oauth.login == .manual)
        #expect(oauth.loginWaitMilliseconds == 0)
        #expect(oauth.refreshLeadSeconds == 300)
        #expect(oauth.fallbackLifetimeSeconds == 3600)
    }

    @Test func `read what is added to requests, as a text or where it is made`() throws {
        let oauth = try settings(
            short(
                credential: """
                    token_params: { audience: a, proof: { file: proof } }
                    token_headers: { OAuth-Client-Attestation-PoP: { command: [pop] } }
                    refresh_params: { audience: b }
                    device_headers: { X-A: { env: A } }
                    par_headers: { X-B: b }
                    """)
        ).oauth
        #expect(
            oauth.additions(to: .token)
                == RequestAdditions(
                    parameters: [
                        NamedValue("audience", "a"),
                        NamedValue("proof", .secret(.file(path: "/etc/proxy/proof"))),
                    ],
                    fields: [
                        NamedValue("OAuth-Client-Attestation-PoP", .secret(.command(["pop"])))
                    ]))
        // A refresh is a token request whose own additions come first.
        #expect(
            oauth.additions(to: .refresh).parameters == [
                NamedValue("proof", .secret(.file(path: "/etc/proxy/proof"))),
                NamedValue("audience", "b"),
            ])
        #expect(oauth.additions(to: .refresh).fields == oauth.additions(to: .token).fields)
        #expect(
            oauth.additions(to: .device).fields == [
                NamedValue("X-A", .secret(.environment(name: "A")))
            ])
        #expect(oauth.additions(to: .pushedAuthorization).fields == [NamedValue("X-B", "b")])
        #expect(oauth.additions(to: .revocation) == RequestAdditions())
    }

    @Test func `read how a client shows who it is`() throws {
        let oauth = try settings(
            short(
                credential: """
                    private_key: { file: client.pem }
                    key_id: k1
                    assertion_audience: token_endpoint
                    client_certificate: cert.pem
                    client_certificate_key: /run/key.pem
                    client_authentication: private_key_jwt
                    """)
        ).oauth
        #expect(oauth.privateKey == .file(path: "/etc/proxy/client.pem"))
        #expect(oauth.keyID == "k1")
        #expect(oauth.assertionAudience == .tokenEndpoint)
        #expect(
            oauth.clientCertificate
                == ClientCertificate(
                    certificatePath: "/etc/proxy/cert.pem", keyPath: "/run/key.pem"))
        #expect(oauth.clientAuthentication == .privateKeyJWT)
        for (text, audience) in [
            ("issuer", AssertionAudience.issuer), ("endpoint", .endpoint), ("x:y", .other("x:y")),
        ] {
            let lines = "private_key: { file: k }\nassertion_audience: \"\(text)\""
            #expect(try settings(short(credential: lines)).oauth.assertionAudience == audience)
        }
    }

    @Test(arguments: [
        ("http://127.0.0.1/callback", "127.0.0.1", nil, "/callback"),
        ("http://127.0.0.1", "127.0.0.1", nil, "/"),
        ("http://localhost:80/x/y", "localhost", 80, "/x/y"),
    ])
    func `take the callback as it is registered`(
        _ text: String, _ host: String, _ port: UInt16?, _ path: String
    ) throws {
        let oauth = try settings(short(credential: "redirect_uri: \(text)")).oauth
        #expect(oauth.callbackHost == host)
        #expect(oauth.callbackPort == port)
        #expect(oauth.callbackPath == path)
    }

    @Test func `take endpoints by hand`() throws {
        let kind = try read(
            """
            authorization_endpoint: "https://b2c.example/authorize?p=x", client_id: c,
            token_endpoint: https://b2c.example/token, issuer: https://b2c.example/
            """
        ).kind
        guard case .oauth(let oauth) = kind,
            case .fixed(let authorization, let token, let issuer) = oauth.endpoints
        else {
            Issue.record("\(kind)")
            return
        }
        #expect(authorization == "https://b2c.example/authorize?p=x")
        #expect(token == "https://b2c.example/token")
        #expect(issuer == "https://b2c.example/")
    }

    @Test(arguments: ["token: { file: t }", "token: { env: T }"])
    func `take a token from a file or the environment`(_ text: String) throws {
        guard case .fixed(let source) = try read(text).kind else {
            Issue.record("no fixed token")
            return
        }
        #expect(source == .file(path: "/etc/proxy/t") || source == .environment(name: "T"))
    }

    @Test func `take a token from a program`() throws {
        guard
            case .command(let words, let lifetime) = try read(
                "command: [gcloud, auth, print-access-token], ttl: 50m"
            ).kind
        else {
            Issue.record("no command")
            return
        }
        #expect(words == ["gcloud", "auth", "print-access-token"])
        #expect(lifetime == 3000)
        guard case .command(["a"], nil) = try read("token: { command: [a] }").kind else {
            Issue.record("no command")
            return
        }
    }

    @Test(arguments: [
        ("", "Authorization", "Bearer "), (", header: X-Api-Key", "X-Api-Key", ""),
        (", header: X-Serverless-Authorization", "X-Serverless-Authorization", "Bearer "),
        (", prefix: token", "Authorization", "token "), (", prefix: \"\"", "Authorization", ""),
        (", prefix: \"key=\"", "Authorization", "key="),
        (", header: X-A, prefix: \"Bearer \"", "X-A", "Bearer "),
    ])
    func `say how the token is sent`(
        _ more: String, _ field: String, _ prefix: String
    ) throws {
        let injection = try read("token: { env: T }" + more).injection
        #expect(injection == Injection(field: field, prefix: prefix))
    }

    @Test func `may forbid printing`() throws {
        #expect(try !read("token: { env: T }, export: false").isExportable)
    }

    @Test(arguments: [
        ("token: abc", "a secret must not stand in the configuration"),
        ("token: { file: a, env: B }", "\"token\" names several sources"),
        ("token: {}", "\"token\" names no source"),
        ("token: { env: 'A B' }", "\"A B\" is no name of an environment variable"),
        ("token: { env: $A }", "\"$A\" is no name of an environment variable"),
        ("token: { command: gcloud }", "\"command\" must be a list of a program and its arguments"),
        ("token: { command: [] }", "\"command\" must be a list of a program and its arguments"),
        ("token: { command: [''] }", "the program's name is empty"),
        ("token: { fiel: a }", "unknown key \"fiel\" in \"token\""),
        ("token: { env: A }, ttl: 5m", "the key \"ttl\" does not go with \"token\""),
        ("token: { env: A }, issuer: https://a", "the key \"issuer\" does not go with \"token\""),
        ("command: [a], client_id: b", "the key \"client_id\" does not go with \"command\""),
        ("export: true", "credential \"default\" says nothing of where it comes from"),
        ("issuer: https://a", "credential \"default\" needs the key \"client_id\""),
        ("client_id: a", "credential \"default\" needs the key \"issuer\""),
        ("client_id: '', issuer: https://a", "the value of \"client_id\" is empty"),
        (
            "client_id: a, token_endpoint: https://a",
            "credential \"default\" needs the key \"authorization_endpoint\""
        ),
        (
            "client_id: a, issuer: http://login.example",
            "\"http://login.example\" would send secrets over the network in the clear"
        ),
        (
            "client_id: a, issuer: login.example",
            "\"login.example\" is no https:// URL of an issuer"
        ),
        ("client_id: a, issuer: 'https://a?x'", "an issuer has neither query nor fragment"),
        ("client_id: a, issuer: 'https://a#x'", "an issuer has neither query nor fragment"),
        (
            "client_id: a, issuer: https://a/.well-known/openid-configuration",
            "\"https://a/.well-known/openid-configuration\" is the address of metadata"
        ),
        ("client_id: a, issuer: https://u:p@a", "the URL of an issuer names a user"),
        ("client_id: a, issuer: https://", "\"https://\" is no URL of an issuer"),
        (
            "client_id: a, authorization_endpoint: http://a/x, token_endpoint: https://a",
            "\"http://a/x\" would send secrets"
        ),
        (
            "client_id: a, authorization_endpoint: https://a, token_endpoint: 'https://a#f'",
            "an endpoint has no fragment"
        ),
        ("client_id: a, issuer: https://a, client_secret: s", "a secret must not stand in"),
        (
            "client_id: a, issuer: https://a, client_authentication: client_secret_basic",
            "credential \"default\" needs the key \"client_secret\""
        ),
        (
            "client_id: a, issuer: https://a, client_authentication: none, client_secret: { env: A }",
            "a client_secret is given, and client_authentication says none"
        ),
        (
            "client_id: a, issuer: https://a, client_authentication: private_key_jwt",
            "credential \"default\" needs the key \"private_key\""
        ),
        ("client_id: a, issuer: https://a, scopes: ['a\"b']", "\"a\"b\" is no scope"),
        ("client_id: a, issuer: https://a, scopes: { a: b }", "\"scopes\" must be a list"),
        (
            "client_id: a, issuer: https://a, authorization_params: { state: x }",
            "the parameter \"state\" is made anew for each request and cannot be set"
        ),
        (
            "client_id: a, issuer: https://a, token_params: { refresh_token: x }",
            "the parameter \"refresh_token\" is made anew for each request"
        ),
        (
            "client_id: a, issuer: https://a, token_params: [a]",
            "\"token_params\" must be a mapping"
        ),
        (
            "client_id: a, issuer: https://a, redirect_uri: https://127.0.0.1/x",
            "\"https://127.0.0.1/x\" is no address on this machine"
        ),
        (
            "client_id: a, issuer: https://a, redirect_uri: http://evil.example/x",
            "\"http://evil.example/x\" is no address on this machine"
        ),
        ("client_id: a, issuer: https://a, login: never", "\"never\" is no value for \"login\""),
        (
            "client_id: a, issuer: https://a, grant: client_credentials",
            "credential \"default\" needs the key \"client_secret\""
        ),
        (
            "client_id: a, issuer: https://a, private_key: { file: a }, client_secret: { env: A }",
            "credential \"default\" needs the key \"client_authentication\""
        ),
        (
            "client_id: a, issuer: https://a, client_certificate_key: a",
            "credential \"default\" needs the key \"client_certificate\""
        ),
        (
            "client_id: a, issuer: https://a, token_headers: { Authorization: x }",
            "the header \"Authorization\" is made anew for each request"
        ),
        (
            "client_id: a, issuer: https://a, token_headers: { 'A B': x }",
            "\"A B\" is no name of a header field"
        ),
        ("token: { env: T }, header: 'X Y'", "\"X Y\" is no name of a header field"),
        (
            "token: { env: T }, header: Host",
            "the header field \"Host\" is the proxy's own to write"
        ),
        ("token: { env: T }, prefix: \"a\\tb\"", "\"prefix\" holds a control character"),
        ("token: { env: T }, prefix: caf\u{e9}", "\"caf\u{e9}\" cannot stand before a token"),
    ])
    func `are refused with the reason`(_ text: String, _ expected: String) throws {
        let found = problems("upstream: https://a.example\ncredential: { \(text) }")
        #expect(found.count >= 1)
        let messages = found.map { $0.split(separator: ": ", maxSplits: 1).last ?? "" }
        #expect(messages.contains { $0.hasPrefix(expected) }, "\(found)")
    }

    @Test func `accept every reserved name as a parameter of neither kind`() throws {
        for name in [
            "response_type", "response_mode", "client_id", "redirect_uri", "scope", "state",
            "nonce", "code_challenge", "code_challenge_method", "request", "request_uri",
        ] {
            let found = problems(short(credential: "authorization_params: { \(name): x }"))
            #expect(found.count == 1, "\(name)")
        }
        for name in [
            "grant_type", "code", "redirect_uri", "client_id", "client_secret", "code_verifier",
            "refresh_token", "client_assertion", "client_assertion_type", "scope",
        ] {
            let found = problems(short(credential: "token_params: { \(name): x }"))
            #expect(found.count == 1, "\(name)")
        }
    }

    @Test func `allow a plain issuer on this machine`() throws {
        for issuer in ["http://127.0.0.1:9000", "http://localhost:9000/r", "http://[::1]:9000"] {
            let read = try read("client_id: a, issuer: '\(issuer)'")
            guard case .oauth(let oauth) = read.kind, case .issuer(issuer) = oauth.endpoints else {
                Issue.record("\(read.kind)")
                continue
            }
        }
    }

    @Test(arguments: ["none", "Upper", "a b", "-a", "../x", ""])
    func `have names that can be a file's`(_ name: String) {
        let found = problems(
            """
            routes: [{ upstream: https://a, credential: b }]
            credentials: { b: { token: { env: T } }, "\(name)": { token: { env: T } } }
            """)
        #expect(found.count == 1)
        #expect(found[0].contains("cannot be the name of a credential"))
    }
}

extension CredentialSettings {
    fileprivate var requiresProof: Bool {
        if case .oauth(let oauth) = kind { oauth.requiresProof } else { false }
    }
}
