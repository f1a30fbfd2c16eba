// The end of a login, with the real binary (features F81 to F83).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Cases: log-out` {
    private func setup(
        _ change: (inout FakeAuthorizationServer.Policy) -> Void = { _ in }
    ) throws -> LoginSetup {
        var policy = FakeAuthorizationServer.Policy()
        policy.sessions.announcesRevocation = true
        change(&policy)
        return try LoginSetup(policy)
    }

    private func isForgotten(_ setup: LoginSetup, _ tokens: (access: String, refresh: String?))
        -> Bool
    {
        let search = SecretSearch([tokens.access, tokens.refresh ?? ""])
        return Files.walk(setup.home.stateDirectory).allSatisfy { file in
            ((try? Files.read(file)) ?? nil).map { search.found(in: $0).isEmpty } ?? true
        }
    }

    @Test func `revokes both tokens and forgets them (F82)`() throws {
        let setup = try setup()
        let login = try setup.importLogin()
        let result = try setup.home.run(["logout"])
        #expect(result.status == 0, "\(result)")
        #expect(setup.server.revocations.map { $0.form["token"] } == [login.refresh, login.access])
        #expect(!setup.server.accepts(accessToken: login.access))
        #expect(isForgotten(setup, login))
        #expect(result.error.contains("the refresh token is revoked"))
        #expect(try setup.home.run(["logout"]).status == 0)
    }

    @Test func `is noticed by a running proxy within a second`() throws {
        let setup = try setup()
        try setup.importLogin()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        #expect(try setup.home.run(["logout", "--local"]).status == 0)
        // One look a second, and the machine may be slow.
        try waited(for: "the proxy to notice", within: .seconds(3)) {
            try proxy.exchange().isOurs(503, "login_required") ? () : nil
        }
        #expect(setup.server.refreshRequests.isEmpty)
    }

    @Test func `forgets while the provider is down, and says so (F81)`() throws {
        let setup = try setup()
        let login = try setup.importLogin()
        setup.server.goDown()
        let result = try setup.home.run(["logout", "--json"])
        #expect(result.status == 1, "\(result)")
        #expect(isForgotten(setup, login))
        #expect(result.output.contains("{\"step\":\"local\",\"outcome\":\"done\",\"detail\":null}"))
        #expect(
            result.output.contains("{\"step\":\"revoke_refresh_token\",\"outcome\":\"failed\""),
            "\(result)")
        #expect(result.error.contains("proxy: error: revoking the refresh token failed"))
    }

    @Test func `forgets when it is interrupted at the provider`() throws {
        let setup = try setup()
        let login = try setup.importLogin()
        setup.server.failNext(.silence, at: "/revoke")
        let child = try setup.home.start(["logout", "--config", setup.home.configurationFile])
        try waited(for: "the revocation", within: .seconds(20)) {
            setup.server.revocations.isEmpty ? nil : ()
        }
        #expect(isForgotten(setup, login))
        child.kill(SIGINT)
        let result = try CommandResult(of: child, within: .seconds(15))
        #expect(result.status == 130, "\(result)")
        #expect(result.error.contains("interrupted"))
    }

    @Test func `asks a busy provider again (F82)`() throws {
        let setup = try setup()
        let login = try setup.importLogin()
        let busy = TokenFault.answer(FakeResponse(503, fields: [("Retry-After", "1")]))
        setup.server.failNext(busy, at: "/revoke")
        #expect(try setup.home.run(["logout"]).status == 0)
        #expect(setup.server.revocations.count == 3)
        #expect(!setup.server.accepts(accessToken: login.access))
    }

    @Test func `tolerates a provider that revokes no access tokens`() throws {
        let setup = try setup { $0.sessions.unrevocableKinds = ["access_token"] }
        try setup.importLogin()
        let result = try setup.home.run(["logout"])
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains("revoking the access token is not possible"))
    }

    @Test(arguments: [true, false]) func `ends the session in a browser (F83)`(
        state: Bool
    ) throws {
        let setup = try setup {
            $0.sessions.announcesEndSession = true
            $0.sessions.returnsLogoutState = state
        }
        try setup.home.write(
            configuration: YAML.short(
                upstream: setup.api.url,
                credential: [
                    "issuer: \(setup.server.issuer)", "client_id: cli-4711", "scopes: [api]",
                    "post_logout_redirect_uri: http://127.0.0.1/bye",
                ]))
        let login = try setup.importLogin()
        let result = try setup.home.run(["logout", "--browser", setup.browser()])
        #expect(result.status == 0, "\(result)")
        let query = try #require(setup.server.endedSessions.first)
        #expect(query["client_id"] == "cli-4711")
        #expect(query["post_logout_redirect_uri"]?.hasSuffix("/bye") == true)
        #expect(result.error.contains("the session at the provider is ended"))
        #expect(result.error.contains("did not repeat the state") != state, "\(result)")
        let page = try #require(try Files.read(setup.home.directory.path("page")))
        #expect(page.text.contains("Logged out"))
        #expect(isForgotten(setup, login))
    }

    @Test func `waits for nobody's browser where nobody is`() throws {
        let setup = try setup { $0.sessions.announcesEndSession = true }
        try setup.importLogin()
        let result = try setup.home.run(["logout"], within: .seconds(15))
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains("needs a browser"))
        #expect(setup.server.endedSessions.isEmpty)
        try setup.importLogin()
        let late = try setup.home.run(
            ["logout", "--print-url", "--timeout", "1s"], within: .seconds(15))
        #expect(late.status == 5, "\(late)")
        #expect(late.output.hasPrefix("http://127.0.0.1:"))
    }
}
