// What an API's refusals do, and do not, with the real binary (oauth.md 2.1, F65, F69, F70; RFC 9470).

import Support
import Testing

@Suite(.ownThread) struct `Refusals with the real binary` {
    @Test func `one API that refuses for ever harms neither the login nor another API (F69)`()
        throws
    {
        let server = try FakeAuthorizationServer()
        let good = try FakeUpstream(protectedBy: server)
        let bad = try FakeUpstream(answering: { _ in .invalidToken })
        let home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:0"]
                routes:
                  - { path: /good, upstream: "\(good.url)", credential: default }
                  - { path: /bad, upstream: "\(bad.url)", credential: default }
                credentials:
                  default: { issuer: "\(server.issuer)", client_id: \(server.policy.clientID) }
                """)
        let login = server.makeLogin()
        let refresh = try #require(login.refresh)
        let imported = try home.run(
            ["import"],
            input: Octets(
                "{\"access_token\":\"\(login.access)\",\"refresh_token\":\"\(refresh)\","
                    + "\"expires_in\":3600}\n"))
        #expect(imported.status == 0, "\(imported)")
        let proxy = try home.serve()
        for _ in 0..<5 {
            #expect(try proxy.exchange("GET", "/bad/x").status == 401)
            #expect(try proxy.exchange("GET", "/good/x").status == 200)
        }
        // A refusal that a new token does not cure is no reason for another one each time.
        #expect(server.refreshRequests.count < 5)
        let status = try waited(for: "the refusal in the status", within: .seconds(20)) {
            let status = try home.run(["status", "--json"])
            return status.output.contains("\"after_renewal\":true") ? status : nil
        }
        #expect(status.status == 0, "\(status)")
        #expect(status.output.contains("\"state\":\"usable\""), "\(status)")
        #expect(status.output.contains(bad.url) && !status.output.contains(good.url), "\(status)")
    }

    @Test func `the scope that an API wants is in the status (F70)`() throws {
        let setup = try LoginSetup { _ in
            FakeResponse(
                403,
                fields: [
                    (
                        "WWW-Authenticate",
                        "Bearer error=\"insufficient_scope\", scope=\"events:write\""
                    )
                ])
        }
        try setup.importLogin()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 403)
        let status = try waited(for: "the scope in the status", within: .seconds(20)) {
            let status = try setup.home.run(["status"])
            return status.output.contains("events:write") ? status : nil
        }
        #expect(status.output.contains(setup.api.url), "\(status)")
        #expect(setup.server.tokenRequests.isEmpty)
    }

    @Test func `a route may say that its API means something else (F65)`() throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream(answering: { request in
            server.accepts(request)
                ? .ok()
                : FakeResponse(
                    403, fields: [("WWW-Authenticate", "Bearer error=\"token_expired\"")])
        })
        let setup = try LoginSetup(
            server, api,
            settings: ["refusals: [{ status: 403, error: token_expired, then: refresh }]"])
        try setup.importLogin()
        server.revokeAccessTokens()
        #expect(try setup.home.serve().exchange("POST", "/", body: "kept").status == 200)
        #expect(api.requests.map(\.body) == ["kept", "kept"])
        #expect(server.refreshRequests.count == 1)
    }

    @Test func `a route may say that its API wants another login, or keep its refusals back (F65)`()
        throws
    {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream(answering: { request in
            request.target == "/login" ? FakeResponse(403) : FakeResponse(418, body: "canary")
        })
        let setup = try LoginSetup(
            server, api,
            settings: ["refusals: [{ status: 403, then: login }, { status: 418, then: fail }]"])
        try setup.importLogin()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange("GET", "/login").status == 403)
        let kept = try proxy.exchange("GET", "/fail")
        #expect(kept.status == 502)
        #expect(kept.body.text.contains("upstream_refused") && !kept.body.text.contains("canary"))
        let status = try waited(for: "the wish in the status", within: .seconds(20)) {
            let status = try setup.home.run(["status"])
            return status.output.contains("wants another login") ? status : nil
        }
        // The login is as good as it was.
        #expect(status.status == 0, "\(status)")
        #expect(server.refreshRequests.isEmpty)
    }
}
