import Bytes
import Crossing
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// What the provider answers, and what `proxy status` calls that.
struct StatusCase: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let result: Result<InboundResponse, FetchError>
    let state: CredentialState

    init(
        _ name: String, _ result: Result<InboundResponse, FetchError>,
        _ state: CredentialState
    ) {
        testDescription = name
        self.result = result
        self.state = state
    }
}

@Suite struct `Status classes` {
    private func facts(
        _ ground: Ground, _ settings: OAuthSettings = Ground.settings
    ) async -> CredentialStatus {
        await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(settings)))
    }

    static let cases = [
        StatusCase("503", .page(503), .failing),
        StatusCase("no connection", .failure(.connectionRefused(host: "x")), .failing),
        StatusCase("an unknown code", .error("strange_thing"), .failing),
        StatusCase("invalid_client", .error("invalid_client", status: 401), .misconfigured),
        StatusCase("invalid_target", .error("invalid_target"), .misconfigured),
        StatusCase("access_denied", .error("access_denied"), .denied),
        StatusCase("access_denied with 403", .error("access_denied", status: 403), .denied),
        StatusCase("invalid_grant", .error("invalid_grant"), .loginRequired),
        StatusCase("consent_required", .error("consent_required"), .loginRequired),
    ]

    @Test(arguments: cases)
    func `tell who has to do what, once the token has expired (F89, I70, C094)`(
        answer: StatusCase
    ) async throws {
        let ground = try Ground(ScriptedFetcher([answer.result]))
        try await ground.save(secondsLeft: -1)
        #expect(await facts(ground).state == .renewable)
        let keeper = ground.keeper()
        await #expect(throws: Refusal.self) { try await keeper.text() }
        try await eventually("it is noted") { await facts(ground).state == answer.state }
        let status = await facts(ground)
        #expect(status.failingSince == ground.now)
        #expect(status.lastError != nil)
        #expect((status.hint != nil) == [.loginRequired, .denied].contains(answer.state))
        // A new login ends all of it, whoever made it.
        ground.clock.advance(seconds: 5)
        try await ground.save("AT2", secondsLeft: 300)
        let after = await facts(ground)
        #expect(after.state == .usable)
        #expect(after.lastError == nil)
    }

    @Test(arguments: cases)
    func `call a token usable that is, and tell what failed`(answer: StatusCase) async throws {
        let ground = try Ground(ScriptedFetcher([answer.result]))
        try await ground.save(secondsLeft: 20)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it is noted") { await facts(ground).lastError != nil }
        #expect(await facts(ground).state == .usable)
    }

    @Test func `call no token usable that was refused with its grant dead`() async throws {
        let ground = try Ground(ScriptedFetcher([.error("invalid_grant")]))
        try await ground.save(secondsLeft: 250)
        let keeper = ground.keeper()
        let credential = try await keeper.credential(newerThan: .none)
        await #expect(throws: Refusal.self) {
            try await keeper.credential(newerThan: credential.generation)
        }
        try await eventually("the login is marked") {
            try await ground.store.load(github)?.rejection?.tokenWasRefused == true
        }
        let status = await facts(ground)
        #expect(status.state == .loginRequired)
        #expect(status.hint == "proxy login github")
        // Where only the refresh ahead failed, the token has its time.
        let other = try Ground(ScriptedFetcher([.error("invalid_grant")]))
        try await other.save(secondsLeft: 20)
        let second = other.keeper()
        let running = Task { await second.run() }
        defer { running.cancel() }
        try await eventually("the login is marked") {
            try await other.store.load(github)?.rejection != nil
        }
        #expect(await facts(other).state == .usable)
        other.clock.advance(seconds: 20)
        #expect(await facts(other).state == .loginRequired)
    }

    @Test func `say when it is tried again`() async throws {
        let ground = try Ground(ScriptedFetcher([.page(429, [("Retry-After", "45")])]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        await #expect(throws: Refusal.self) { try await keeper.text() }
        try await eventually("it is noted") { await facts(ground).failingSince != nil }
        #expect(await facts(ground).nextRefreshAt == ground.now.advanced(by: 45))
    }

    @Test(arguments: [Int64(90), Int64(-4000), Int64(3), Int64(0)])
    func `know how far the clock is from the provider's (C048, I18)`(ahead: Int64) async throws {
        // 2023-11-14T22:13:20Z is the ground's now.
        let date = [
            "Tue, 14 Nov 2023 22:11:50 GMT", "Tue, 14 Nov 2023 23:20:00 GMT",
            "Tue, 14 Nov 2023 22:13:17 GMT", "Tue, 14 Nov 2023 22:13:20 GMT",
        ][[90, -4000, 3, 0].firstIndex(of: ahead)!]
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(
            ScriptedFetcher { _, number in
                .json(
                    200, #"{"access_token":"AT\#(number)","expires_in":300}"#, [("Date", date)])
            }, log: log)
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        _ = try await keeper.text()
        try await eventually("it is noted") { await facts(ground).lastRefreshAt != nil }
        let status = await facts(ground)
        #expect(status.clockDifference == ahead)
        #expect(status.clockIsOff == (abs(ahead) > 60))
        #expect(status.document.asObject?["clock_difference"]?.asNumber?.asInteger == ahead)
        // No expiry is corrected by it.
        #expect(status.expiresAt == ground.now.advanced(by: 300))
        #expect(try messages().contains("clock") == (abs(ahead) > 60))
    }

    @Test func `name the scopes that are missing`() async throws {
        let ground = try Ground()
        var settings = Ground.settings
        settings.scopes = ["openid", "offline_access", "api.read", "api.write"]
        var login = ground.login()
        login.scope = "api.read"
        login.idToken = SecretBytes("e30.e30.")
        try await ground.store.save(login, github)
        let status = await facts(ground, settings)
        #expect(status.scope == "api.read")
        #expect(status.missingScopes == ["api.write"])
    }
}

@Suite struct `End of a login` {
    private func facts(_ ground: Ground) async -> CredentialStatus {
        await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Ground.settings)))
    }

    @Test(arguments: [
        (#""refresh_token_expires_in":86400"#, Int64?(86_400)),
        (#""refresh_token_expires_in":"86400""#, 86_400),
        (#""refresh_expires_in":1800"#, 1800),
        (#""x_refresh_token_expires_in":8726400"#, 8_726_400),
        (#""refresh_token_expires_at":1700100000"#, 100_000),
        // Keycloak's "never", and nonsense.
        (#""refresh_expires_in":0"#, nil), (#""refresh_expires_in":-1"#, nil),
        (#""refresh_token_expires_in":"soon""#, nil), (#""refresh_token_expires_in":null"#, nil),
        (#""refresh_token_expires_at":1e300"#, nil), (#""refresh_token_expires_at":{}"#, nil),
    ])
    func `is what the provider says of the refresh token (F58)`(
        member: String, seconds: Int64?
    ) async throws {
        let ground = try Ground(
            ScriptedFetcher([
                .json(
                    200,
                    #"{"access_token":"AT2","refresh_token":"RT2","expires_in":300,\#(member)}"#)
            ]))
        try await ground.save(secondsLeft: -1)
        _ = try await ground.keeper().text()
        let login = try #require(try await ground.store.load(github))
        #expect(login.refreshExpiresAt == seconds.map(ground.now.advanced))
        #expect(login.extras.members.isEmpty, "\(login.extras.members.map(\.name))")
        #expect(await facts(ground).refreshTokenExpiresAt == login.refreshExpiresAt)
    }

    @Test func `moves with each answer and is forgotten with the token that it was of`()
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher([
                .json(200, #"{"access_token":"AT2","expires_in":10,"refresh_expires_in":100}"#),
                .json(200, #"{"access_token":"AT3","expires_in":10}"#),
                .json(200, #"{"access_token":"AT4","expires_in":10,"refresh_token":"RT4"}"#),
            ]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        var ends: [WallTime?] = []
        let start = ground.now
        for _ in 0..<3 {
            _ = try await keeper.text()
            ends.append(try await ground.store.load(github)?.refreshExpiresAt)
            ground.clock.advance(seconds: 11)
        }
        #expect(ends == [start.advanced(by: 100), start.advanced(by: 100), nil])
    }

    @Test func `is warned of in status and in the log, once, in its last tenth (I04)`() async throws
    {
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(log: log)
        var login = ground.login(secondsLeft: nil)
        login.refreshExpiresAt = ground.now.advanced(by: 36_000)
        login.refreshObtainedAt = ground.now
        try await ground.store.save(login, github)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it looked") { ground.published.tokens == ["AT1"] }
        ground.clock.advance(seconds: 32_300)
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        #expect(await !facts(ground).endsSoon)
        #expect(try !messages().contains("ends soon"))
        for _ in 0..<5 {
            ground.clock.advance(seconds: 200)
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        }
        #expect(await facts(ground).endsSoon)
        #expect(try messages().components(separatedBy: "ends soon").count == 2)
        #expect(try messages().contains("proxy login github"))
    }

    @Test func `asks for a login, and yet the provider has the last word`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        var login = ground.login(secondsLeft: -100)
        login.refreshExpiresAt = ground.now.advanced(by: -1)
        try await ground.store.save(login, github)
        #expect(await facts(ground).state == .loginRequired)
        #expect(try await ground.keeper().text() == "AT2")
        #expect(await facts(ground).state == .usable)
    }
}

@Suite struct `Keep-alive` {
    private static let hours: UInt64 = 3600

    private func settings(_ seconds: Int64?) -> OAuthSettings {
        var settings = Ground.settings
        settings.keepAliveSeconds = seconds
        return settings
    }

    @Test(arguments: [nil, Int?(30 * 86_400)])
    func `refreshes a login that lies idle, and only then (F58, I04)`(expiresIn: Int?) async throws
    {
        let ground = try Ground(
            ScriptedFetcher { _, number in
                .tokens("AT\(number + 1)", refresh: "RT\(number + 1)", expiresIn: expiresIn)
            })
        var login = ground.login(secondsLeft: nil)
        login.expiresAt = expiresIn.map { ground.now.advanced(by: Int64($0)) }
        try await ground.store.save(login, github)
        let keeper = ground.keeper(settings(12 * 3600))
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        for day in 1...4 {
            for _ in 0..<11 {
                try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
                ground.clock.advance(seconds: Self.hours)
            }
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
            #expect(ground.fetcher.count == day - 1)
            ground.clock.advance(seconds: Self.hours)
            try await eventually("it was refreshed") { ground.fetcher.count == day }
        }
        try await eventually("it came") { ground.published.tokens.last == "AT5" }
    }

    @Test func `counts a refresh of anybody's, and survives a restart`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", expiresIn: nil)]))
        var login = ground.login(secondsLeft: nil)
        login.obtainedAt = ground.now.advanced(by: -11 * 3600)
        try await ground.store.save(login, github)
        let keeper = ground.keeper(settings(12 * 3600))
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        #expect(ground.fetcher.count == 0)
        ground.clock.advance(seconds: 3600)
        try await eventually("it was refreshed") { ground.fetcher.count == 1 }
    }

    @Test(arguments: [Int64(31_536_000), Int64(-31_536_000)])
    func `does not spin after the wall clock was set`(step: Int64) async throws {
        let ground = try Ground(
            ScriptedFetcher { _, number in .tokens("AT\(number + 1)", expiresIn: nil) })
        try await ground.store.save(ground.login(secondsLeft: nil), github)
        let keeper = ground.keeper(settings(3600))
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it looked") { ground.published.tokens.count == 1 }
        ground.clock.stepWall(seconds: step)
        for _ in 0..<60 {
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
            ground.clock.advance(seconds: 60)
        }
        try await eventually("it was refreshed") { ground.fetcher.count > 0 }
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        #expect(ground.fetcher.count <= 2, "\(ground.fetcher.count)")
    }

    @Test func `is not for a login that cannot be refreshed`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(refresh: nil, secondsLeft: nil)
        let keeper = ground.keeper(settings(60))
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it looked") { ground.published.tokens == ["AT1"] }
        ground.clock.advance(seconds: 3600)
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        #expect(ground.fetcher.count == 0)
    }
}

@Suite struct `Absurd lifetime` {
    @Test(arguments: [
        "0", "-1", "-9223372036854775808", "1", "0.4", "99999999999999", "1e300", "\"1e9\"",
        "\"abc\"", "true", "[]",
    ])
    func `brings no storm of refreshes and no trap (C039, C041)`(value: String) async throws {
        let ground = try Ground(
            ScriptedFetcher { _, number in
                .json(
                    200,
                    #"{"access_token":"AT\#(number + 1)","refresh_token":"RT\#(number + 1)","expires_in":\#(value)}"#
                )
            })
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        for _ in 0..<40 {
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
            // What a request is told while tokens die at once is a matter of its own.
            _ = try? await keeper.text()
            ground.clock.advance(milliseconds: 250)
        }
        // Ten seconds: once a second is what a token of a second needs.
        #expect(ground.fetcher.count <= 12, "\(ground.fetcher.count)")
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Ground.settings)))
        #expect(status.document.asObject != nil)
    }
}
