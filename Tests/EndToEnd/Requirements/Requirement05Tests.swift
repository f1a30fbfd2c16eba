// Failure classes of the token endpoint (peers.md requirement 5; oauth.md 2.1; cases C021, C094, C095,
// C097, C099).

import Support
import Testing

/// A fault under a name.
struct NamedFault: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fault: TokenFault

    init(_ name: String, _ fault: TokenFault) {
        testDescription = name
        self.fault = fault
    }
}

@Suite(.ownThread) struct `Requirement 5: failure classes` {
    static let transient: [NamedFault] = [
        .init("reset", .reset), .init("408", .requestTimeout),
        .init("429", .tooManyRequests(retryAfter: 1)), .init("503", .unavailable),
        .init("500 saying invalid_grant", .serverErrorSayingInvalidGrant),
        .init("403 HTML", .webApplicationFirewall), .init("404 HTML", .notFoundPage),
        .init("200 HTML", .htmlOK), .init("200 empty", .emptyOK),
        .init("truncated JSON", .truncatedJSON), .init("cut short", .cutShort),
        .init("temporarily_unavailable", .error(400, "temporarily_unavailable")),
        .init("an unknown code", .error(400, "weird_new_code")),
    ]

    @Test(arguments: transient)
    func `a transient failure changes nothing on disk and passes (C021, C094, C095)`(
        named: NamedFault
    ) throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let before = try #require(try Files.read(setup.home.loginFile()))
        setup.server.failAlways(named.fault)
        let proxy = try setup.home.serve()
        let response = try proxy.exchange(within: .seconds(45))
        #expect(response.status == 503 || response.status == 502, "\(response)")
        #expect(response.problemCode != "login_required")
        #expect(response.problemCode?.hasPrefix("token_endpoint") == true, "\(response)")
        #expect(response.has("Retry-After"))
        #expect(try Files.read(setup.home.loginFile()) == before)
        #expect(setup.server.authorizations.isEmpty)
        setup.server.failAlways(nil)
        try waited(for: "recovery", within: .seconds(60)) {
            if try proxy.exchange(within: .seconds(45)).status == 200 { return () }
            pause(.milliseconds(200))
            return nil
        }
        #expect(setup.server.reuses == 0)
    }

    @Test func `status tells of a temporary failure (C094)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.unavailable)
        let proxy = try setup.home.serve()
        _ = try proxy.exchange()
        let status = try setup.home.run(["status", "--json"])
        #expect(status.output.contains("\"renewable\":true"), "\(status)")
        #expect(!status.output.contains("\"login_required\":true"), "\(status)")
    }

    @Test(arguments: ["invalid_grant"])
    func `a dead grant requires a login (C095)`(code: String) throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.error(400, code))
        let proxy = try setup.home.serve()
        let response = try proxy.exchange()
        #expect(response.isOurs(503, "login_required"), "\(response)")
        // Asking again does not ask the provider again.
        for _ in 0..<5 { #expect(try proxy.exchange().problemCode == "login_required") }
        #expect(setup.server.refreshRequests.count == 1)
        let status = try setup.home.run(["status"])
        #expect(status.status == 3, "\(status)")
        // The login is marked, not deleted.
        #expect(Files.exists(setup.home.loginFile()))
    }

    @Test(arguments: [
        "invalid_client", "unauthorized_client", "unsupported_grant_type", "invalid_request",
    ])
    func `a refused client is a matter of the configuration (C097)`(code: String) throws {
        let setup = try LoginSetup()
        let login = try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.error(code == "invalid_client" ? 401 : 400, code))
        let proxy = try setup.home.serve()
        for _ in 0..<5 {
            let response = try proxy.exchange()
            #expect([502, 503].contains(response.status))
            #expect(response.problemCode != "login_required", "\(response)")
        }
        #expect(setup.server.refreshRequests.count == 1, "no loop")
        let stored = try #require(try Files.read(setup.home.loginFile()))
        #expect(stored.contains(Octets(try #require(login.refresh))), "the grant is kept")
    }

    @Test func `Retry-After is honoured (C095)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.tooManyRequests(retryAfter: 30))
        let proxy = try setup.home.serve()
        for _ in 0..<10 {
            let response = try proxy.exchange()
            #expect(response.status == 503)
            let seconds = try #require(response.value("Retry-After").flatMap { Int($0) })
            #expect((20...31).contains(seconds))
        }
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test func `a lost answer with a tolerant server goes on (C099)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.reuseTolerance = .seconds(30)
        let setup = try LoginSetup(policy)
        try setup.importLogin(expiresIn: -10)
        setup.server.failNext(.lostAnswer)
        let proxy = try setup.home.serve()
        try waited(for: "recovery", within: .seconds(30)) {
            if try proxy.exchange().status == 200 { return () }
            pause(.milliseconds(200))
            return nil
        }
        #expect(setup.server.refreshRequests.count == 2)
    }

    @Test func `a lost answer with a strict server ends in a clean login required (C099)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failNext(.lostAnswer)
        let proxy = try setup.home.serve()
        try waited(for: "login required", within: .seconds(30)) {
            if try proxy.exchange().problemCode == "login_required" { return () }
            pause(.milliseconds(200))
            return nil
        }
        for _ in 0..<5 { _ = try proxy.exchange() }
        #expect(setup.server.refreshRequests.count == 2, "one re-send at most")
        #expect(setup.api.connectionCount == 0)
    }

    @Test func `a silent token endpoint is waited for longer than a client waits (C099)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.silence)
        let proxy = try setup.home.serve()
        let (impatient, patient) = (try proxy.connect(), try proxy.connect())
        for client in [impatient, patient] { try client.send(client.request()) }
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        let start = ContinuousClock.now
        #expect(try impatient.stream.isQuiet(for: .seconds(2)))
        impatient.stream.reset()
        let response = try patient.stream.readResponse(within: .seconds(40))
        #expect(response.isOurs(503, "credential_timeout"), "\(response)")
        #expect(response.has("Retry-After"))
        #expect(ContinuousClock.now - start > .seconds(20))
        #expect(setup.server.refreshRequests.count == 1, "the refresh goes on")
    }

    @Test func `a redirect of the token endpoint is not followed`() throws {
        let thief = try FakeUpstream { _ in .json("{\"access_token\":\"stolen\"}") }
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.redirect(to: "\(thief.url)/token"))
        let response = try setup.home.serve().exchange()
        #expect([502, 503].contains(response.status))
        #expect(thief.connectionCount == 0)
        #expect(setup.api.connectionCount == 0)
    }

    @Test func `a failed early refresh leaves the token in use (C100)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.accessSeconds = 20
        let setup = try LoginSetup(policy, credential: ["refresh_before: 18s"])
        try setup.importLogin()
        setup.server.failAlways(.unavailable)
        let proxy = try setup.home.serve()
        try waited(for: "the early refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        #expect(try proxy.exchange().status == 200)
    }
}
