// From nothing to an MCP server's answer, with one line of configuration; and again after a restart.

import Support
import Testing

@Suite(.ownThread) struct `An MCP server that was named by its URL` {
    @Test(arguments: [true, false])
    func `is reached after one login, and after a restart (F06, F22, F77, F78)`(
        challenge: Bool
    ) throws {
        let setup = try McpSetup(challenge: challenge)
        let first = try setup.home.serve()
        #expect(try setup.call(first).isOurs(503, "login_required"))
        try setup.logIn()
        // The running proxy sees the login without a restart.
        let answer = try waited(for: "the login to be seen", within: .seconds(20)) {
            let answer = try setup.call(first)
            return answer.status == 200 ? answer : nil
        }
        #expect(answer.body.text.contains("jsonrpc"))

        // What was asked for: the resource, PKCE, the challenge's scopes or all there are.
        let resource = setup.api.url + "/mcp"
        let authorization = try #require(setup.server.authorizations.last)
        #expect(authorization["resource"] == resource)
        #expect(authorization["client_id"] == "dcr-1")
        #expect(authorization["code_challenge_method"] == "S256")
        #expect(authorization["scope"] == (challenge ? "mcp:tools" : "mcp:admin mcp:tools"))
        let exchange = try #require(setup.server.codeRequests.last)
        #expect(exchange.form["resource"] == resource)
        #expect(exchange.form["client_id"] == "dcr-1")
        try first.stop()

        // A restart asks nobody anything, and registers nothing.
        let asked = setup.server.requests.count
        let second = try setup.home.serve()
        #expect(try setup.call(second).status == 200)
        #expect(setup.server.requests.count == asked)

        // A refresh is the same client's, for the same resource, without looking anything up.
        setup.server.revokeAccessTokens()
        #expect(try setup.call(second).status == 200)
        let refresh = try #require(setup.server.refreshRequests.last)
        #expect(refresh.form["resource"] == resource)
        #expect(refresh.form["client_id"] == "dcr-1")
        #expect(setup.server.registrations.count == 1)
        try setup.logIn()
        #expect(setup.server.registrations.count == 1)

        let registration = try #require(setup.server.registrations.first).body.text
        #expect(registration.contains("\"application_type\":\"native\""))
        #expect(registration.contains("\"token_endpoint_auth_method\":\"none\""))
        let search = SecretSearch(setup.server.secrets.filter { $0.hasPrefix("canary-") })
        for text in setup.home.printed() { #expect(search.found(in: text).isEmpty) }
    }

    @Test func `that changes its provider wants another login (F78)`() throws {
        let setup = try McpSetup()
        try setup.logIn()
        let status = try setup.home.run(["status", "--json"])
        #expect(status.output.contains(setup.server.issuer))
        // The configuration names another server: its tokens are not those of the first.
        let other = try FakeUpstream(answering: { request in
            #expect(request.value("Authorization") == nil)
            return FakeResponse(401, fields: [("WWW-Authenticate", "Bearer")])
        })
        let text = try #require(try Files.read(setup.home.configurationFile)).text
        try setup.home.write(
            configuration: text.components(separatedBy: setup.api.url).joined(
                separator: other.url))
        let proxy = try setup.home.serve()
        let refused = try setup.call(proxy)
        #expect(refused.isOurs(503, "credential_unavailable"))
        #expect(refused.body.text.contains("--switch-user"))
        let check = try setup.home.run(["check"])
        #expect(check.status != 0 && check.output.contains("holds a login of"), "\(check)")
        #expect((check.output + check.error).contains("state_dir: state"), "\(check)")
        #expect(!other.requests.contains { $0.path == "/mcp" })
        // It is not thrown away for that.
        let login = try setup.home.run(["login", "--print-url"])
        #expect(login.status == 1, "\(login)")
        #expect(login.error.contains("holds a login of the API \"\(setup.api.url)/mcp\""))
    }

    @Test func `can be checked before anybody logs in, and nothing is registered`() throws {
        let setup = try McpSetup()
        let before = try setup.home.run(["check", "--online"])
        #expect(before.output.contains("gives tokens for \(setup.api.url)/mcp"), "\(before)")
        #expect(
            before.output.contains("will be registered at \(setup.server.origin)/register"),
            "\(before)")
        #expect(setup.server.registrations.isEmpty)
        try setup.logIn()
        let after = try setup.home.run(["check", "--online"])
        #expect(after.output.contains("\"dcr-1\", registered"), "\(after)")
        #expect(setup.server.registrations.count == 1)
    }

    @Test func `that says nothing is told so, with what to do`() throws {
        let api = try FakeUpstream(answering: { _ in FakeResponse(404, body: "nothing here") })
        let home = try ProxyHome(
            configuration: YAML.short(
                upstream: api.url + "/mcp", credential: ["discover: true"]))
        let result = try home.run(["login", "--print-url"])
        #expect(result.status == 78)
        #expect(result.error.contains("does not say who gives tokens for it"))
        #expect(result.error.contains("/.well-known/oauth-protected-resource/mcp"))
        #expect(result.error.contains("write the provider's issuer"))
    }
}
