// Never bare, never known-expired (peers.md requirement 4; cases C044, C106).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 4: never bare, never known-expired` {
    @Test func `without a login nothing reaches the upstream and the answer says what to do`()
        throws
    {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        let start = ContinuousClock.now
        let response = try proxy.exchange()
        #expect(response.isOurs(503, "login_required"), "\(response)")
        #expect(response.has("Retry-After"))
        #expect(response.body.contains("proxy login"))
        #expect(response.member("login_url")?.hasPrefix(setup.server.origin) == true, "\(response)")
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(setup.api.connectionCount == 0)
    }

    @Test func `an expired token is not sent while the token endpoint is down (C044)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -600)
        // Before the start, which begins a refresh by itself.
        setup.server.goDown()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange("GET", "/v1/me")
        #expect(response.isOurs(503, "token_endpoint_unreachable"), "\(response)")
        #expect(response.has("Retry-After"))
        #expect(setup.api.connectionCount == 0)
        try setup.server.comeUp()
        try waited(for: "recovery without help", within: .seconds(60)) {
            if try proxy.exchange("GET", "/v1/me").status == 200 { return () }
            pause(.milliseconds(250))
            return nil
        }
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test func `a valid token is used while the provider is down (C106)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin()
        setup.server.goDown()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
    }

    @Test func `starts without the provider and recovers by itself (C106)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.goDown()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange()
        #expect(response.status == 503)
        #expect(response.has("Proxy-Status"))
        try setup.server.comeUp()
        try waited(for: "recovery", within: .seconds(60)) {
            if try proxy.exchange().status == 200 { return () }
            pause(.milliseconds(250))
            return nil
        }
    }

    @Test(arguments: [
        TokenFault.nullToken, .noToken, .emptyToken, .splittingToken, .emptyOK, .truncatedJSON,
        .htmlOK, .okWithError, .oversized, .cutShort,
    ])
    func `an unusable token answer is never sent on (C042)`(fault: TokenFault) throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let before = try Files.read(setup.home.loginFile())
        setup.server.failAlways(fault)
        let proxy = try setup.home.serve()
        let response = try proxy.exchange(within: .seconds(40))
        #expect([502, 503].contains(response.status), "\(response)")
        #expect(response.has("Proxy-Status"))
        #expect(setup.api.connectionCount == 0)
        #expect(!response.body.contains("X-Evil"))
        // okWithError is a refusal by name; all others say nothing about the login.
        if case .answer(let answer) = fault, answer.body.contains("bad_verification_code") {
            return
        }
        #expect(try Files.read(setup.home.loginFile()) == before)
    }
}
