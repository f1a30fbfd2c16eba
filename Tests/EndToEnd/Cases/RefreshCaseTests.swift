// What a refresh sends, and what it makes of the answer (RFC 6749 sections 2.3, 5, 6; RFC 8707).

import Support
import Testing

@Suite(.ownThread) struct `Cases: refresh` {
    @Test(arguments: ["absent", "null", "\"\""])
    func `an answer without a refresh token keeps the old one (C020)`(member: String) throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.rotates = false
        let setup = try LoginSetup(policy)
        let old = try setup.importLogin(expiresIn: -10)
        let fault = TokenFault.member("refresh_token", member == "absent" ? nil : member)
        setup.server.failAlways(fault)
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        for round in 1...2 {
            setup.server.revokeAccessTokens()
            #expect(try proxy.exchange().status == 200)
            #expect(setup.server.refreshRequests.count == round + 1)
        }
        #expect(Set(setup.server.refreshRequests.map(\.refreshToken)) == [old.refresh])
    }

    @Test func `form-encoded answers are read (C041)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.formEncoded)
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange().status == 200)
        #expect(setup.server.reuses == 0)
        for request in setup.server.refreshRequests {
            #expect(request.message.value("Accept")?.contains("application/json") == true)
        }
    }

    @Test func `an answer that drips in is waited for`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failNext(.drip(.milliseconds(8)))
        #expect(try setup.home.serve().exchange(within: .seconds(30)).status == 200)
        #expect(setup.server.reuses == 0)
    }

    @Test func `a bearer type of any case is sent as Bearer`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failNext(.member("token_type", "\"bEaReR\""))
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(try setup.api.requests.item(0).value("Authorization")?.hasPrefix("Bearer ") == true)
    }

    @Test func `another token type is refused`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.member("token_type", "\"mac\""))
        #expect([502, 503].contains(try setup.home.serve().exchange().status))
        #expect(setup.api.connectionCount == 0)
    }

    @Test func `configured parameters go with every token request (C100)`() throws {
        let setup = try LoginSetup(credential: [
            "authorization_params: { resource: \"https://api.example.com/mcp\", prompt: consent }",
            "token_params: { resource: \"https://api.example.com/mcp\", audience: me }",
        ])
        try setup.logIn()
        setup.server.revokeAccessTokens()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(
            try setup.server.authorizations.item(0).values("resource") == [
                "https://api.example.com/mcp"
            ])
        #expect(try setup.server.authorizations.item(0).values("prompt") == ["consent"])
        #expect(setup.server.tokenRequests.count == 2)
        for request in setup.server.tokenRequests {
            #expect(request.form.values("resource") == ["https://api.example.com/mcp"])
            #expect(request.form.values("audience") == ["me"])
            #expect(request.message.query.isEmpty)
        }
    }

    // MARK: Client authentication (C091, C092, C093)

    private func login(secret: String, content: String? = nil, _ more: [String]) throws
        -> LoginSetup
    {
        var policy = FakeAuthorizationServer.Policy()
        policy.clientID = "1P/G 1"
        policy.clientSecret = secret
        let server = try FakeAuthorizationServer(policy)
        let api = try FakeUpstream(protectedBy: server)
        let setup = try LoginSetup(server, api)
        let file = try setup.home.directory.write(
            Octets((content ?? secret).utf8), to: "settings/secret")
        try setup.home.write(
            configuration: YAML.short(
                upstream: api.url,
                credential: [
                    "issuer: \(server.issuer)", "client_id: \"1P/G 1\"",
                    "client_secret: { file: \(YAML.quoted(file)) }", "scopes: [api]",
                ] + more))
        return setup
    }

    @Test(arguments: ["client_secret_basic", "client_secret_post"])
    func `odd clients and secrets arrive intact, by one method (C092, C093)`(
        method: String
    ) throws {
        let setup = try login(
            secret: "z+t:%&\u{E9}= a$b", ["client_authentication: \(method)"])
        try setup.logIn()
        setup.server.revokeAccessTokens()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.tokenRequests.count == 2)
        for request in setup.server.tokenRequests {
            #expect(request.message.has("Authorization") == (method == "client_secret_basic"))
            #expect(
                request.form.values("client_secret").isEmpty == (method == "client_secret_basic"))
        }
    }

    @Test func `the method comes from the metadata when none is configured (C093)`() throws {
        let setup = try login(secret: "abc", [])
        setup.server.set { $0.authenticationMethods = ["client_secret_post"] }
        try setup.logIn()
        #expect(try setup.server.tokenRequests.item(0).form["client_secret"] == "abc")
        #expect(try !setup.server.tokenRequests.item(0).message.has("Authorization"))
    }

    @Test(arguments: ["s3cr3t\n", "s3cr3t\r\n", "\u{FEFF}s3cr3t\n"])
    func `one line break and a BOM are cut from a secret's file (C091)`(content: String) throws {
        let setup = try login(secret: "s3cr3t", content: content, [])
        try setup.logIn()
    }

    @Test func `a line break in the middle of a secret is refused (C091)`() throws {
        let setup = try login(secret: "x", content: "s3c\nr3t", [])
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status != 0)
        #expect(result.error.contains("settings/secret"), "\(result.error)")
        #expect(!result.error.contains("r3t"))
    }
}

@Suite(.ownThread) struct `Cases: discovery` {
    @Test(arguments: [
        ("", "/.well-known/oauth-authorization-server"), ("", "/.well-known/openid-configuration"),
        ("/tenant1", "/.well-known/oauth-authorization-server/tenant1"),  // C104, server A
        ("/tenant1", "/tenant1/.well-known/openid-configuration"),  // C104, server B
        ("/tenant1", "/.well-known/openid-configuration/tenant1"),
        ("/app/x/", "/app/x/.well-known/openid-configuration"),  // C103
        ("/app/x/", "/.well-known/oauth-authorization-server/app/x"),
    ])
    func `metadata is found in each of its places (C103, C104)`(
        path: String, document: String
    ) throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.issuerPath = path
        policy.wellKnownPaths = [document]
        let setup = try LoginSetup(policy)
        try setup.logIn()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.requests.filter { $0.path.contains("well-known") }.count <= 12)
    }

    @Test func `a document of another issuer is refused, with both named (C103)`() throws {
        let setup = try LoginSetup()
        setup.server.set { $0.announcedIssuer = "https://other.example" }
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status != 0)
        #expect(result.error.contains("https://other.example"), "\(result.error)")
        #expect(result.error.contains(setup.server.issuer), "\(result.error)")
        #expect(setup.server.authorizations.isEmpty)
    }

    @Test func `without any document the tried URLs are named (C104)`() throws {
        let setup = try LoginSetup()
        setup.server.set { $0.wellKnownPaths = [] }
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status != 0)
        for form in ["oauth-authorization-server", "openid-configuration"] {
            #expect(result.error.contains("/.well-known/\(form)"), "\(result.error)")
        }
    }

    @Test func `endpoints given by hand need no discovery (C104)`() throws {
        let server = try FakeAuthorizationServer()
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        try setup.home.write(
            configuration: YAML.short(
                upstream: setup.api.url,
                credential: [
                    "authorization_endpoint: \(server.origin)/authorize",
                    "token_endpoint: \(server.origin)/token", "client_id: cli-4711",
                ]))
        try setup.logIn()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(!server.requests.contains { $0.path.contains("well-known") })
    }
}
