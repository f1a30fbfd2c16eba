import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let ours = "https://ours.example.com"

/// Two configurations of one user with one state directory, who call their credentials the same.
@Suite struct `Another configuration's login` {
    private var settings: OAuthSettings {
        OAuthSettings(endpoints: .issuer(ours), clientID: "cb")
    }

    private func byHand(_ token: String, issuer: String? = nil) -> OAuthSettings {
        OAuthSettings(
            endpoints: .fixed(authorization: nil, token: token, issuer: issuer), clientID: "my-cli")
    }

    private func isOurs(
        _ settings: OAuthSettings, _ change: (inout Login) -> Void = { _ in }
    ) throws -> Bool {
        var login = try Ground().login()
        login.issuer = ours
        change(&login)
        return login.belongs(to: settings)
    }

    @Test func `is of another issuer or another client`() throws {
        var settings = OAuthSettings(endpoints: .issuer(ours), clientID: "my-cli")
        #expect(try isOurs(settings))
        #expect(try !isOurs(settings) { $0.issuer = ours + "/" })
        #expect(try !isOurs(settings) { $0.issuer = nil })
        #expect(try !isOurs(settings) { $0.clientID = "other" })
        // Who registers has the name that the server gave.
        (settings.clientID, settings.registration) = ("", RegistrationSettings())
        #expect(try isOurs(settings))
        settings.clientID = "registered-anew"
        #expect(try isOurs(settings))
        #expect(try !isOurs(settings) { $0.issuer = "https://theirs.example.com" })
    }

    @Test func `is told by a tenant's template too`() throws {
        var settings = OAuthSettings(
            endpoints: .issuer("https://login.example.com/common/v2.0"), clientID: "my-cli")
        let template = "https://login.example.com/{tenantid}/v2.0"
        #expect(try !isOurs(settings) { $0.issuer = template })
        settings.quirks = [.issuerTemplate]
        #expect(try isOurs(settings) { $0.issuer = template })
        #expect(try !isOurs(settings) { $0.issuer = "https://evil.example/{tenantid}/v2.0" })
    }

    @Test func `is of another token endpoint where endpoints are given by hand`() throws {
        let token = ours + "/token"
        #expect(try isOurs(byHand(token)) { ($0.issuer, $0.tokenEndpoint) = (nil, token) })
        #expect(try !isOurs(byHand(token)) { ($0.issuer, $0.tokenEndpoint) = (nil, ours) })
        // An issuer that both name says it, wherever its endpoint has moved.
        #expect(try isOurs(byHand(token, issuer: ours)) { $0.tokenEndpoint = ours })
        #expect(
            try !isOurs(byHand(token, issuer: "https://x.example")) { $0.tokenEndpoint = token })
        // A record of an earlier release does not say where it is from.
        #expect(try isOurs(byHand(token)) { $0.issuer = nil })
        #expect(try isOurs(byHand(token, issuer: ours)) { $0.issuer = nil })
        #expect(try !isOurs(byHand(token)))
    }

    @Test func `goes to no API, no token endpoint and no browser`() async throws {
        let ground = try Ground()
        for secondsLeft in [200, -10] as [Int64] {
            try await ground.save("SECRET-OF-A", refresh: "RT-OF-A", secondsLeft: secondsLeft)
            let before = try ground.recordBytes()
            let keeper = ground.keeper(
                settings, desk: ground.desk(settings, person: .present(browser: ["false"])))
            for rejected in [Generation.none, Generation(7)] {
                let refusal = try await #require(throws: Refusal.self) {
                    try await keeper.text(newerThan: rejected)
                }
                guard case .credentialUnavailable(let hint) = refusal else {
                    Issue.record("\(refusal)")
                    continue
                }
                #expect(hint.contains(#"issuer "https://login.example.com", client "my-cli""#))
                #expect(hint.contains("proxy login github --switch-user"))
                #expect(hint.contains("state_dir"))
            }
            #expect(try ground.recordBytes() == before)
        }
        #expect(ground.published.tokens.allSatisfy { $0 == nil })
        #expect(ground.fetcher.count == 0)
    }

    @Test func `that comes while ours is used is not used`() async throws {
        let ground = try Ground()
        try await ground.save()
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        var other = ground.login("SECRET-OF-A")
        other.clientID = "ca"
        try ground.overwrite(other)
        await #expect(throws: Refusal.self) { try await keeper.text(newerThan: first.generation) }
        #expect(ground.fetcher.count == 0)
    }

    @Test func `is not replaced by a login, unless that is meant`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("NEW", refresh: "RT2")]))
        try await ground.save("SECRET-OF-A")
        let before = try ground.recordBytes()
        let settings = byHand("https://ours.example.com/token")
        var whole = settings
        whole.endpoints = .fixed(
            authorization: "https://ours.example.com/authorize",
            token: "https://ours.example.com/token", issuer: nil)
        let desk = ground.desk(whole)
        let failure = try await #require(throws: LoginFailure.self) {
            try await desk.begin(github, LoginOptions(.printURL))
        }
        guard case .foreignLogin = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(failure.hint?.contains("--switch-user") == true)
        var options = LoginOptions(.printURL)
        options.switchesUser = true
        let session = try await desk.begin(github, options)
        #expect(try ground.recordBytes() == before)
        try await blocking { _ = try session.page.visit(try session.page.success()) }
        #expect(try await session.result().access == "NEW")
        await session.close()
        let login = try #require(try await ground.store.load(github))
        #expect(login.refresh == "RT2")
        #expect(login.tokenEndpoint == "https://ours.example.com/token")
    }

    @Test func `that comes during a login is not replaced either`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("NEW", refresh: "RT2")]))
        let session = try await ground.desk().begin(github, LoginOptions(.printURL))
        var other = ground.login("SECRET-OF-A")
        other.clientID = "ca"
        try await ground.store.save(other, github)
        try await blocking {
            let answer = try session.page.visit(try session.page.success())
            #expect(answer.body.text.contains("proxy login github --switch-user"))
        }
        guard case .foreignLogin = try await session.failure() else {
            Issue.record("another failure")
            return
        }
        await session.close()
        #expect(try await ground.store.load(github)?.access == "SECRET-OF-A")
    }

    @Test func `is not ended by a log-out, unless that is meant`() async throws {
        let ground = try Ground(
            ScriptedFetcher(metadata: #""revocation_endpoint":"https://login.example.com/r""#) {
                _, _ in .page(200)
            })
        try await ground.save("SECRET-OF-A")
        let desk = LogoutDesk(
            discovery: DiscoveryDesk(in: ground.surroundings), in: ground.surroundings)
        var report = await desk.logOut(github, settings, LogoutOptions(.nobody))
        #expect(report.lines.map(\.outcome) == [.failed, .skipped, .skipped, .skipped])
        #expect(report[.local]?.hint?.contains("--local") == true)
        #expect(try await ground.store.load(github)?.access == "SECRET-OF-A")
        var options = LogoutOptions(.nobody)
        options.isLocal = true
        report = await desk.logOut(github, settings, options)
        #expect(report[.local]?.outcome == .done)
        #expect(try await ground.store.load(github) == nil)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `is not shown as ours`() async throws {
        let ground = try Ground()
        try await ground.save("SECRET-OF-A")
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(settings)))
        #expect(status.state == .unavailable)
        #expect(status.issuer == ours)
        #expect(status.expiresAt == nil)
        #expect(status.hint == "proxy login github --switch-user")
        #expect(status.detail?.contains("client \"my-cli\"") == true)
    }

    @Test func `is not overwritten by a machine's token`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("MACHINE")]))
        try await ground.save("SECRET-OF-A")
        var settings = byHand("https://ours.example.com/token")
        settings.grant = .clientCredentials
        let keeper = CredentialKeeper(
            CredentialSettings(id: github, kind: .oauth(settings)),
            discovery: DiscoveryDesk(in: ground.surroundings), desk: nil, in: ground.surroundings)
        #expect(try await keeper.text() == "MACHINE")
        #expect(try await ground.store.load(github)?.access == "SECRET-OF-A")
    }

    /// The same provider and client, once for a person and once for the client itself.
    private var machine: OAuthSettings {
        var settings = Ground.settings
        settings.grant = .clientCredentials
        return settings
    }

    @Test func `is a person's where the grant has none, and stays when a token is got`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("MACHINE")]))
        try await ground.save("PERSON")
        let before = try ground.recordBytes()
        #expect(try await ground.machineKeeper(machine).text() == "MACHINE")
        #expect(try ground.recordBytes() == before)
        #expect(try await ground.keeper().text() == "PERSON")
    }

    @Test func `is a person's where the grant has none, and is not revoked`() async throws {
        let ground = try Ground(
            ScriptedFetcher(metadata: #""revocation_endpoint":"https://login.example.com/r""#) {
                _, _ in .page(200)
            })
        try await ground.save("PERSON")
        let before = try ground.recordBytes()
        var settings = machine
        settings.endpoints = .issuer("https://login.example.com")
        let desk = LogoutDesk(
            discovery: DiscoveryDesk(in: ground.surroundings), in: ground.surroundings)
        let report = await desk.logOut(github, settings, LogoutOptions(.nobody))
        #expect(report.lines.map(\.outcome) == [.failed, .skipped, .skipped, .skipped])
        #expect(report[.local]?.detail?.contains("a person's login") == true)
        #expect(try ground.recordBytes() == before)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `is not one whose endpoints were only written by hand since`() async throws {
        let ground = try Ground(
            ScriptedFetcher(metadata: "") { _, _ in .tokens("AT1", refresh: "RT1") })
        let settings = OAuthSettings(
            endpoints: .issuer("https://login.example.com"), clientID: "my-cli")
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        try await blocking { _ = try session.page.visit(try session.page.success()) }
        let login = try await session.result()
        await session.close()
        #expect(login.belongs(to: byHand("https://login.example.com/token")))
        #expect(!login.belongs(to: byHand("https://login.example.com/other")))
    }

    @Test func `of an earlier release learns its token endpoint with the next refresh`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        var login = ground.login(secondsLeft: -1)
        login.issuer = nil
        try await ground.store.save(login, github)
        let token = "https://ours.example.com/token"
        #expect(try await ground.keeper(byHand(token)).text() == "AT2")
        #expect(try await ground.store.load(github)?.tokenEndpoint == token)
        #expect(
            await ground.keeper(byHand("https://other.example.com/token")).credentialOrNil() == nil)
    }
}

extension CredentialKeeper {
    fileprivate func credentialOrNil() async -> Credential? {
        try? await credential(newerThan: .none)
    }
}
