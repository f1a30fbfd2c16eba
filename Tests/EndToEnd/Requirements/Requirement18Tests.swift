// Expiry arithmetic (peers.md requirement 18; cases C037, C039, C047).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 18: expiry arithmetic` {
    private func login(
        expiresIn text: String?, lifetime seconds: Int64 = 3600
    ) throws -> LoginSetup {
        var policy = FakeAuthorizationServer.Policy()
        policy.expiresInText = text
        policy.accessSeconds = seconds
        let setup = try LoginSetup(policy)
        try setup.importLogin(expiresIn: -10)
        return setup
    }

    @Test(arguments: ["\"3599\"", "3599.0", "3.6e3", "3599.7", "99999999999999999", "\"3600.5\""])
    func `numbers in every form are lifetimes (C037)`(text: String) throws {
        let setup = try login(expiresIn: text)
        let proxy = try setup.home.serve()
        for _ in 0..<20 { #expect(try proxy.exchange().status == 200) }
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test(arguments: ["", "\"abc\"", "null", "[]", "\"\"", "true"])
    func `a lifetime that cannot be read counts as none (C037, C039)`(text: String) throws {
        let setup = try login(expiresIn: text)
        let proxy = try setup.home.serve()
        for _ in 0..<100 { #expect(try proxy.exchange().status == 200) }
        #expect(setup.server.refreshRequests.count == 1)
        // Until the API says otherwise.
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange().status == 200)
        #expect(setup.server.refreshRequests.count == 2)
    }

    @Test(arguments: ["-1", "0"])
    func `a lifetime that is over at once causes no loop of refreshes (C037)`(text: String) throws {
        let setup = try login(expiresIn: text)
        let proxy = try setup.home.serve()
        for _ in 0..<50 {
            let status = try proxy.exchange().status
            #expect([200, 502, 503].contains(status))
        }
        #expect(setup.server.refreshRequests.count <= 5, "\(setup.server.refreshRequests.count)")
    }

    @Test func `a token of five seconds neither spins nor is sent dead`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.accessSeconds = 5
        let server = try FakeAuthorizationServer(policy)
        let refused = SharedValue(0)
        let api = try FakeUpstream { request in
            if server.accepts(request) { return .ok() }
            refused.change { $0 += 1 }
            return .invalidToken
        }
        let setup = try LoginSetup(server, api)
        // An imported token's time began before the import: the first one is got by a refresh.
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        let end = Deadline.after(.seconds(12))
        while !end.hasPassed {
            #expect(try client.exchange().status == 200)
            pause(.milliseconds(20))
        }
        #expect((2...6).contains(server.refreshRequests.count), "\(server.refreshRequests.count)")
        #expect(refused.value == 0)
        #expect(server.reuses == 0)
    }

    @Test func `a long-expired token with a refresh token is refreshed on request (C047)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -7200)
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test func `the store keeps an absolute time`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: 3000)
        let record = try #require(try Files.read(setup.home.loginFile())).text
        #expect(record.contains("\"expires_at\""))
        #expect(!record.contains("\"expires_in\""))
    }

    @Test func `while the token is valid a refresh ahead of expiry delays nobody`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.accessSeconds = 30
        policy.tokenDelay = .seconds(3)
        let setup = try LoginSetup(policy, credential: ["refresh_before: 14s"])
        try setup.importLogin(expiresIn: 15)
        let proxy = try setup.home.serve()
        try waited(for: "the early refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        let start = ContinuousClock.now
        for _ in 0..<10 { #expect(try proxy.exchange().status == 200) }
        #expect(ContinuousClock.now - start < .seconds(2))
        #expect(setup.server.refreshRequests.count == 1)
    }
}
