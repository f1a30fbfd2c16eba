// `proxy logout` at real providers: both tokens revoked, the browser's session ended, and what the
// report says about it is what the provider says.

import Glibc
import Support
import Testing
import Vocabulary

extension `Real provider` {
    /// The outcome of each step, as `--json` has it.
    private func outcomes(_ result: CommandResult) throws -> [String: String] {
        let value = try JSONReader.read(text: result.output)
        let lines = value.asArray ?? value.asObject?["steps"]?.asArray ?? []
        return Dictionary(
            uniqueKeysWithValues: lines.compactMap { line in
                guard let line = line.asObject, let step = line["step"]?.asString,
                    let outcome = line["outcome"]?.asString
                else { return nil }
                return (step, outcome)
            })
    }

    @Test(arguments: [
        (Provider.Kind.glewlwyd, Provider.Client.basic), (.nanoidp, .publicly),
        (.nanoidp, .basic), (.dot, .publicly), (.dot, .post), (.canaille, .basic),
    ])
    func `a logout revokes both tokens`(kind: Provider.Kind, client: Provider.Client) throws {
        let world = try ProviderWorld(try .shared(kind), client)
        let judge: Provider.Client = client == .publicly || client == .post ? .service : client
        try world.login()
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        let tokens = try world.stored()
        #expect(try world.provider.isActive(token, as: judge))
        let logout = try world.home.run(["logout", "--json"])
        #expect(logout.status == 0, "\(logout.error)")
        let outcomes = try outcomes(logout)
        #expect(outcomes["local"] == "done", "\(logout.output)")
        #expect(outcomes["revoke_refresh_token"] == "done")
        #expect(outcomes["revoke_access_token"] == "done")
        #expect(try !world.provider.isActive(token, as: judge))
        #expect(try world.provider.statusOfRefresh(tokens.refresh, as: client) >= 400)
        #expect(!Files.exists(world.home.loginFile()))
        // The running proxy sends it no more.
        let answer = try waited(for: "the logout to be noticed", within: .seconds(5)) {
            let answer = try proxy.exchange("GET", "/api/things")
            return answer.status == 503 ? answer : nil
        }
        #expect(answer.body.text.contains("login_required"))
        let count = world.api.requests.count
        #expect(try proxy.exchange("GET", "/api/things").status == 503)
        #expect(world.api.requests.count == count)
        try proxy.stop()
    }

    @Test func `a provider without revocation is said to have none`() throws {
        let world = try ProviderWorld(try .shared(.lemonldap), .basic)
        try world.login()
        let outcomes = try outcomes(world.home.run(["logout", "--json"]))
        #expect(outcomes["local"] == "done")
        #expect(outcomes["revoke_refresh_token"] == "unsupported")
        #expect(!Files.exists(world.home.loginFile()))
    }

    /// A credential that asks for the browser to be sent back after a log-out.
    private func worldWithGoodbye(_ provider: Provider) throws -> ProviderWorld {
        let goodbye = "http://127.0.0.1:\(provider.callbackPort)/goodbye"
        return try ProviderWorld(provider, .basic, lines: ["post_logout_redirect_uri: \(goodbye)"])
    }

    /// Ends with 0 only when the provider knows the browser without a password.
    private func visitSignedIn(_ world: ProviderWorld, _ cookies: String) throws -> CommandResult {
        let person = try world.home.start(
            ["login", "--print-url", "--timeout", "30s", "--config", world.home.configurationFile])
        let url = try waited(for: "the address") {
            let lines = person.printed(.output).text.components(separatedBy: "\n")
            return lines.count > 1 ? lines[0] : nil
        }
        let visit = try world.person(["--cookies", cookies, "--signed-in"], at: url)
        person.kill(SIGINT)
        try person.waitForEnd()
        return visit
    }

    /// NanoIDP keeps no session that could end, but sends the browser back.
    @Test(arguments: [Provider.Kind.glewlwyd, .dot, .nanoidp, .canaille, .lemonldap])
    func `a logout ends the browser's session`(kind: Provider.Kind) throws {
        let world = try worldWithGoodbye(try .shared(kind))
        let cookies = world.home.directory.path("cookies")
        let browser = kind.person + " --cookies " + cookies
        // LemonLDAP::NG sends no browser back that was at its consent page: another one was there.
        if kind == .lemonldap { try world.login() }
        try world.login(person: browser)
        let hasSession = kind != .nanoidp
        if hasSession {
            // The same browser is known, and signs in no more.
            try world.login(person: browser + " --signed-in")
        }
        let logout = try world.home.run(
            ["logout", "--json", "--browser", browser + " --signed-in"], within: .seconds(60))
        #expect(logout.status == 0, "\(logout)")
        #expect(try outcomes(logout)["end_session"] == "done", "\(logout)")
        if hasSession {
            let visit = try visitSignedIn(world, cookies)
            #expect(visit.status != 0)
            #expect(visit.error.contains("must sign in"), "\(visit.error)")
        }
        #expect(try world.leaks() == [])
    }

    /// The form on LemonLDAP::NG's consent page leaves an address of its own in the browser's
    /// cookie "lemonldappdata"; the end of the session leads there, and not to where we asked.
    @Test func `a browser that is not sent back is missed, and its session ended`() throws {
        // Of its own: it remembers consent.
        let world = try worldWithGoodbye(try Provider(.lemonldap))
        let cookies = world.home.directory.path("cookies")
        let browser = world.provider.kind.person + " --cookies " + cookies
        try world.login(person: browser)
        try world.login(person: browser + " --signed-in")
        let logout = try world.home.run(
            ["logout", "--json", "--timeout", "5s", "--browser", browser + " --signed-in"],
            within: .seconds(60))
        #expect(logout.status == 5, "\(logout)")
        #expect(try outcomes(logout)["end_session"] == "timed_out", "\(logout)")
        #expect(logout.output.contains("did not send the browser back"), "\(logout)")
        let visit = try visitSignedIn(world, cookies)
        #expect(visit.status != 0)
        #expect(visit.error.contains("must sign in"), "\(visit.error)")
        #expect(try world.leaks() == [])
    }
}
