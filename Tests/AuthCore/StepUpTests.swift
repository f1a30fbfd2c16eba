import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Stepping up` {
    private func scope(
        _ settings: OAuthSettings, _ options: LoginOptions, on ground: Ground
    ) async throws -> String? {
        let session = try await ground.desk(settings).begin(github, options)
        await session.close()
        return session.page.parameters["scope"]
    }

    @Test func `asks for the union of configured, granted and new (F70)`() async throws {
        var settings = Ground.settings
        settings.scopes = ["openid", "api"]
        let ground = try Ground()
        var login = ground.login()
        login.scope = "api files"
        try await ground.store.save(login, github)
        var options = LoginOptions(.printURL)
        options.additionalScopes = ["admin", "files"]
        #expect(try await scope(settings, options, on: ground) == "openid api files admin")
        // Without a step up a login is what the configuration says.
        #expect(try await scope(settings, LoginOptions(.printURL), on: ground) == "openid api")
        // Scopes by hand are the whole.
        options.scopes = ["api"]
        #expect(try await scope(settings, options, on: ground) == "api admin files")
    }

    private func logIn(
        _ settings: OAuthSettings, _ options: LoginOptions = LoginOptions(.printURL),
        granting scope: String, on ground: Ground, onEvent: @escaping @Sendable (LoginEvent) -> Void
    ) async throws -> Result<Login, any Error> {
        ground.fetcher.answer { _, _ in
            .json(200, #"{"access_token":"AT1","refresh_token":"RT1","scope":"\#(scope)"}"#)
        }
        let session = try await ground.desk(settings).begin(github, options, onEvent: onEvent)
        let page = session.page
        try await blocking { _ = try page.visit(try page.success()) }
        let result: Result<Login, any Error>
        do { result = .success(try await session.result()) } catch { result = .failure(error) }
        await session.close()
        return result
    }

    @Test func `warns of scopes that were not granted, and records them (F42)`() async throws {
        var settings = Ground.settings
        settings.scopes = ["api", "files", "offline_access"]
        let ground = try Ground()
        let missing = Mutex<[String]>([])
        let login = try await logIn(settings, granting: "api", on: ground) { event in
            if case .scopesMissing(let scopes) = event { missing.withLock { $0 = scopes } }
        }.get()
        #expect(missing.withLock { $0 } == ["files"])
        let stored = try #require(try await ground.store.load(github))
        #expect(stored.requestedScope == "api files offline_access")
        #expect(stored.grantedScopes == ["api"])
        // A refresh token proves offline_access.
        #expect(stored.missingScopes == ["files"])
        #expect(login.missingScopes == ["files"])
    }

    @Test(arguments: [true, false]) func `fails for want of a scope where it is told to (F42)`(
        byFlag: Bool
    ) async throws {
        var settings = Ground.settings
        settings.scopes = ["api", "files"]
        settings.authorization.isScopeStrict = !byFlag
        var options = LoginOptions(.printURL)
        options.isScopeStrict = byFlag
        let ground = try Ground()
        try await ground.save("OLD")
        let result = try await logIn(settings, options, granting: "api", on: ground) { _ in }
        let failure = #expect(throws: LoginFailure.self) { try result.get() }
        guard case .scopesRefused(["files"]) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.kind == .denied)
        #expect(try await ground.store.load(github)?.access == "OLD")
        let whole = try await logIn(settings, options, granting: "files api", on: ground) { _ in }
        #expect(try whole.get().access == "AT1")
    }

    @Test(arguments: [
        (OAuthSettings.RefreshScope.none, nil), (.granted, "api files"),
        (.list(["api"]), "api"),
    ])
    func `is kept by refreshes as the configuration says (F59)`(
        scope: OAuthSettings.RefreshScope, sent: String?
    ) async throws {
        var settings = Ground.settings
        settings.refreshScope = scope
        settings.authorization.resources = ["https://api.example.com/", "urn:files"]
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        var login = ground.login(secondsLeft: -1)
        login.scope = "api files"
        try await ground.store.save(login, github)
        #expect(try await ground.keeper(settings).text() == "AT2")
        #expect(ground.fetcher.forms.first?["scope"] == sent)
        // F22
        #expect(
            ground.fetcher.bodies.first?.contains(
                "resource=https%3A%2F%2Fapi.example.com%2F&resource=urn%3Afiles") == true)
    }

    @Test func `leaves an invalid scope out of a refresh once`() async throws {
        var settings = Ground.settings
        settings.refreshScope = .granted
        let ground = try Ground(
            ScriptedFetcher([.error("invalid_scope"), .tokens("AT2", refresh: "RT2")]))
        var login = ground.login(secondsLeft: -1)
        login.scope = "api"
        try await ground.store.save(login, github)
        #expect(try await ground.keeper(settings).text() == "AT2")
        #expect(ground.fetcher.forms.map { $0["scope"] } == ["api", nil])
        #expect(ground.fetcher.spent == ["RT1", "RT1"])
    }
}
