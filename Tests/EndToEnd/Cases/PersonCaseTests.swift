// Whose login it is, and what the provider is told at its end, with the real binary (features F19, F49,
// F83, F84).

import Support
import Testing

@Suite(.ownThread) struct `Cases: the person of a login` {
    private func setup(
        _ change: (inout FakeAuthorizationServer.Policy) -> Void = { _ in }
    ) throws -> LoginSetup {
        var policy = FakeAuthorizationServer.Policy()
        policy.identity.subject = "user-1"
        policy.identity.claims = ["email": "\"ann@example.com\""]
        change(&policy)
        return try LoginSetup(policy, scopes: ["openid", "api"])
    }

    @Test func `another person is refused, until they are let in (F19, F84)`() throws {
        let setup = try setup()
        try setup.logIn()
        setup.server.set { $0.identity.subject = "user-2" }
        let other = try LoginVisit(setup.home)
        #expect(other.query["login_hint"] == "ann@example.com")
        let page = try other.visit(other.consent(at: setup.server))
        #expect(page.body.text.contains("Login failed"))
        let refused = try other.result()
        #expect(refused.status == 1, "\(refused)")
        #expect(refused.error.contains("--switch-user"))
        #expect(try setup.home.run(["whoami"]).output.hasPrefix("default  user-1"))

        let switched = try LoginVisit(setup.home, ["--switch-user"])
        #expect(switched.query["login_hint"] == nil)
        try switched.visit(switched.consent(at: setup.server))
        let done = try switched.result()
        #expect(done.status == 0, "\(done)")
        #expect(try setup.home.run(["whoami"]).output.hasPrefix("default  user-2"))
    }

    @Test func `the ID token goes to the browser at the end, and nowhere else (F49, F83)`() throws {
        let setup = try setup {
            $0.sessions.announcesEndSession = true
            $0.sessions.announcesRevocation = true
            $0.identity.refreshesIDToken = false
        }
        try setup.logIn()
        #expect(try setup.home.run(["refresh", "--force"]).status == 0)
        #expect(setup.server.refreshRequests.count == 1)
        let words = setup.home.directory.path("words")
        try setup.home.install(
            "echo \"$*\" > \"\(words)\"; exec curl -sSL --max-time 30 -o /dev/null -- \"$1\"",
            as: "browse")
        let result = try setup.home.run(["logout", "--browser", "browse"])
        #expect(result.status == 0, "\(result)")
        let query = try #require(setup.server.endedSessions.first)
        let hint = try #require(query["id_token_hint"])
        #expect(hint.split(separator: ".").count == 3)
        #expect(query["client_id"] == setup.server.policy.clientID)
        let seen = setup.home.printed().map(\.text) + [try Files.read(words)?.text ?? ""]
        #expect(!seen.contains { $0.contains(hint) })
        #expect(setup.server.revocations.count == 2)
    }
}
