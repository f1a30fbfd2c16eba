// Who is logged in, with the real binary: ID tokens that are checked, `proxy whoami`, and ID tokens as
// the credential.

import Support
import Testing

@Suite(.ownThread) struct `Identity` {
    private func policy(
        _ change: (inout FakeAuthorizationServer.IdentityPolicy) -> Void = { _ in }
    ) -> FakeAuthorizationServer.Policy {
        var policy = FakeAuthorizationServer.Policy()
        policy.identity.subject = "user-1"
        change(&policy.identity)
        return policy
    }

    @Test func `F48 whoami shows the ID token and userinfo, and no token`() throws {
        let setup = try LoginSetup(
            policy {
                $0.claims = ["email": "\"ann@example.com\""]
                $0.userInfo = ["name": "\"Ann \\u001b[2J\""]
            }, scopes: ["openid", "api"])
        try setup.logIn()
        let shown = try setup.home.run(["whoami"])
        #expect(shown.status == 0)
        let lines = shown.output.split(separator: "\n").map(String.init)
        #expect(lines.first == "default  user-1")
        #expect(lines.contains { $0.contains("ID token: signed by the provider, expires in") })
        #expect(lines.contains("           email: ann@example.com"))
        // What a provider says cannot steer the terminal.
        #expect(lines.contains(#"           name: Ann \u{1b}[2J"#))
        let json = try setup.home.run(["whoami", "--json"])
        #expect(json.output.contains(#""subject":"user-1""#))
        #expect(json.output.contains(#""verified":true,"problem":null"#))
        #expect(json.output.contains(#""userinfo":{"signed":false"#))
        for secret in setup.server.secrets {
            #expect(!shown.output.contains(secret) && !shown.error.contains(secret))
        }
        #expect(setup.server.keyRequests == 1)
    }

    @Test func `F48 whoami fails when userinfo speaks of another person`() throws {
        let setup = try LoginSetup(
            policy {
                $0.userInfo = [:]
                $0.userInfoSubject = "user-2"
            }, scopes: ["openid", "api"])
        try setup.logIn()
        let shown = try setup.home.run(["whoami"])
        #expect(shown.status == 1)
        #expect(shown.output.isEmpty)
        #expect(shown.error.contains("another person"))
    }

    @Test func `whoami needs a login, and says so`() throws {
        let setup = try LoginSetup(policy())
        let shown = try setup.home.run(["whoami"])
        #expect(shown.status == 3)
        #expect(shown.error.contains("proxy login"))
    }

    @Test func `F45 a login whose ID token is signed by another key is none`() throws {
        let setup = try LoginSetup(
            policy { $0.published = [TokenSigner()] }, scopes: ["openid", "api"])
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status == 1)
        #expect(result.error.contains("its signature is not the provider's"))
        #expect(try setup.home.run(["status"]).status == 3)
    }

    @Test func `F46 a refresh for another person ends the login, nothing is sent in their name`()
        throws
    {
        let setup = try LoginSetup(policy(), scopes: ["openid", "api"])
        setup.server.set { $0.accessSeconds = 1 }
        try setup.logIn()
        setup.server.set { $0.identity.subject = "user-2" }
        let proxy = try setup.home.serve()
        try waited(for: "the end of the login", within: .seconds(20)) {
            try proxy.exchange().isOurs(503, "login_required") ? () : nil
        }
        #expect(try setup.home.run(["status"]).output.contains("id_token_mismatch"))
    }

    @Test func `F50 an ID token is the credential where the API wants it`() throws {
        let server = try FakeAuthorizationServer(
            policy {
                $0.omitsAccessToken = true
                $0.idTokenSeconds = 3
            })
        let api = try FakeUpstream { request in
            let parts = (request.value("Authorization") ?? "").split(separator: ".")
            return parts.count == 3 ? .ok() : .invalidToken
        }
        let setup = try LoginSetup(
            server, api, credential: ["inject: id_token"], scopes: ["openid"])
        try setup.logIn()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        let first = api.requests.last?.value("Authorization")
        #expect(first?.hasPrefix("Bearer ey") == true)
        // The next one comes before the first expires.
        try waited(for: "a fresh ID token", within: .seconds(20)) {
            let status = try proxy.exchange().status
            #expect(status == 200)
            return api.requests.last?.value("Authorization") != first ? () : nil
        }
        #expect(server.refreshRequests.count >= 1)
        #expect(!api.requests.isEmpty && api.requests.allSatisfy { $0.has("Authorization") })
    }

    @Test func `F40 the missing ID token is named`() throws {
        let setup = try LoginSetup(
            FakeAuthorizationServer.Policy(), credential: ["inject: id_token"], scopes: ["openid"])
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status == 1)
        #expect(result.error.contains("holds no ID token"))
    }
}
