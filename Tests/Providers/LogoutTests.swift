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

    /// NanoIDP keeps no session that could end, but sends the browser back. Canaille ends at a page of its
    /// own, and so, in some runs, did LemonLDAP::NG.
    @Test(arguments: [Provider.Kind.glewlwyd, .dot, .nanoidp])
    func `a logout ends the browser's session`(kind: Provider.Kind) throws {
        let provider = try Provider.shared(kind)
        let world = try ProviderWorld(
            provider,
            lines: [
                "post_logout_redirect_uri: "
                    + "http://127.0.0.1:\(provider.callbackPort)/goodbye"
            ])
        let cookies = " --cookies " + world.home.directory.path("cookies")
        try world.login(person: kind.person + cookies)
        let hasSession = kind != .nanoidp
        if hasSession {
            // The same browser is known, and signs in no more.
            try world.login(person: kind.person + cookies + " --signed-in")
        }
        let logout = try world.home.run(
            ["logout", "--json", "--browser", kind.person + cookies], within: .seconds(60))
        #expect(try outcomes(logout)["end_session"] == "done", "\(logout)")
        if hasSession {
            let person = try world.home.start(
                [
                    "login", "--print-url", "--timeout", "30s", "--config",
                    world.home.configurationFile,
                ])
            let url = try waited(for: "the address") {
                let lines = person.printed(.output).text.components(separatedBy: "\n")
                return lines.count > 1 ? lines[0] : nil
            }
            let flags = ["--cookies", world.home.directory.path("cookies"), "--signed-in"]
            let visit = try world.person(flags, at: url)
            #expect(visit.status != 0)
            #expect(visit.error.contains("must sign in"), "\(visit.error)")
            person.kill(SIGINT)
            try person.waitForEnd()
        }
        #expect(try world.leaks() == [])
    }
}
