// What a 401 of the upstream's leads to (peers.md requirement 1; oauth.md table 2.1; cases C007, C098,
// C101).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 1: 401 recovery` {
    @Test func `a revoked token is refreshed and the request sent once more (C098)`() throws {
        let setup = try LoginSetup()
        let old = try setup.importLogin()
        setup.server.revokeAccessTokens()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange("GET", "/v1/me?q=1", fields: [("X-A", "1")])
        #expect(response.status == 200)
        #expect(response.body == "ok")
        let requests = setup.api.requests
        #expect(requests.map(\.target) == ["/v1/me?q=1", "/v1/me?q=1"])
        #expect(requests.map { $0.values("X-A") } == [["1"], ["1"]])
        #expect(try requests.item(0).values("Authorization") == ["Bearer \(old.access)"])
        #expect(try requests.item(1).values("Authorization").count == 1)
        #expect(try setup.server.accepts(requests.item(1)))
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test func `the second 401 is passed on as it came (C007)`() throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream { request in
            FakeResponse(
                401, reason: "Nope",
                fields: [("WWW-Authenticate", "Bearer realm=\"x\""), ("X-Mark", "theirs")],
                body: Octets("no: \(request.target)"))
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange("GET", "/admin")
        #expect(response.status == 401)
        #expect(response.values("WWW-Authenticate") == ["Bearer realm=\"x\""])
        #expect(response.values("X-Mark") == ["theirs"])
        #expect(response.body == "no: /admin")
        #expect(api.requests.count == 2)
        #expect(server.tokenRequests.count == 1)
    }

    @Test func `polling a URL that always says 401 causes no storm of refreshes (C007)`() throws {
        let server = try FakeAuthorizationServer()
        let setup = try LoginSetup(server, FakeUpstream { _ in .invalidToken })
        try setup.importLogin()
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        for _ in 0..<40 { #expect(try client.exchange("GET", "/admin").status == 401) }
        #expect(server.tokenRequests.count <= 2, "\(server.tokenRequests.count) refreshes")
        #expect(setup.api.requests.count <= 80, "each was sent twice at the most")
    }

    @Test func `one upstream's 401s leave the login usable for others`() throws {
        let setup = try LoginSetup { request in request.path == "/bad" ? .invalidToken : .ok() }
        try setup.importLogin()
        let proxy = try setup.home.serve()
        for _ in 0..<5 { #expect(try proxy.exchange("GET", "/bad").status == 401) }
        #expect(try proxy.exchange("GET", "/good").status == 200)
    }

    @Test(arguments: [
        "Basic realm=\"x\"", "Negotiate", "Bearer error=\"invalid_request\"",
    ])
    func `challenges that a new token cannot answer are passed on`(challenge: String) throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream { _ in
            FakeResponse(401, fields: [("WWW-Authenticate", challenge)])
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        let response = try setup.home.serve().exchange()
        #expect(response.status == 401)
        #expect(api.requests.count == 1)
        #expect(server.tokenRequests.isEmpty)
    }

    @Test(arguments: [
        [("WWW-Authenticate", "Basic realm=\"x, y\", Bearer error=\"invalid_token\"")],
        [("WWW-Authenticate", "Basic realm=\"x\""), ("WWW-Authenticate", "bearer")],
        [("WWW-Authenticate", "Bearer")], [("X-None", "1")],
    ])
    func `a Bearer challenge among others, or none at all, causes a refresh`(
        fields: [(String, String)]
    ) throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream { request in
            server.accepts(request) ? .ok() : FakeResponse(401, fields: fields)
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        server.revokeAccessTokens()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(server.tokenRequests.count == 1)
    }

    @Test func `insufficient scope is passed on and no reason to refresh (C101)`() throws {
        let setup = try LoginSetup { _ in
            FakeResponse(
                403,
                fields: [
                    (
                        "WWW-Authenticate",
                        "Bearer error=\"insufficient_scope\", scope=\"events:write\""
                    )
                ], body: "more scope")
        }
        try setup.importLogin()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange()
        #expect(response.status == 403)
        #expect(response.body == "more scope")
        #expect(setup.api.requests.count == 1)
        #expect(setup.server.tokenRequests.isEmpty)
        try proxy.waitForLog("events:write")
    }

    @Test func `HEAD is refreshed and sent again too (C024)`() throws {
        let setup = try LoginSetup { request in
            FakeResponse(fields: [("ETag", "\"x\"")], body: Octets(repeating: 0x61, count: 9757))
        }
        try setup.importLogin()
        setup.server.revokeAccessTokens()
        let client = try setup.home.serve().connect()
        let response = try client.exchange("HEAD", "/blob")
        #expect(response.status == 200)
        #expect(response.values("Content-Length") == ["9757"])
        #expect(try client.exchange("GET", "/blob").body.count == 9757)
        #expect(setup.api.requests.map(\.method) == ["HEAD", "HEAD", "GET"])
    }

    @Test func `while refreshing fails, the upstream's own 401 comes back or a 503 says why`()
        throws
    {
        let setup = try LoginSetup()
        try setup.importLogin()
        setup.server.revokeAccessTokens()
        setup.server.failAlways(.unavailable)
        let proxy = try setup.home.serve()
        let response = try proxy.exchange()
        #expect(response.isOurs(503, "token_endpoint_unreachable") || response.status == 401)
        setup.server.failAlways(nil)
        let answer = try waited(for: "recovery", within: .seconds(30)) {
            let response = try proxy.exchange()
            if response.status != 200 { pause(.milliseconds(200)) }
            return response.status == 200 ? response : nil
        }
        #expect(answer.body == "ok")
    }
}
