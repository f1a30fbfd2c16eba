import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let issuer = "https://login.example.com"

@Suite struct `The same person` {
    private func token(_ subject: String, nonce: String, more: String = "") -> String {
        let claims =
            #"{"iss":"\#(issuer)","sub":"\#(subject)","aud":"my-cli","exp":1700000300,"#
            + #""iat":1700000000,"nonce":"\#(nonce)"\#(more)}"#
        return Ground.provider.token(claims)
    }

    private var settings: OAuthSettings {
        var settings = Ground.settings
        settings.scopes = ["openid"]
        return settings
    }

    private func stored(_ ground: Ground, subject: String, more: String = "") async throws {
        var login = ground.login("OLD", refresh: "RT0")
        login.idToken = SecretBytes(token(subject, nonce: "x", more: more))
        login.extras["leftover"] = .string("of the old one")
        try await ground.store.save(login, github)
    }

    private func logIn(
        _ ground: Ground, as subject: String, _ options: LoginOptions = LoginOptions(.printURL)
    ) async throws -> (page: LoginPage, result: Result<Login, LoginFailure>) {
        let session = try await ground.desk(settings).begin(github, options)
        let page = session.page
        let fresh = token(subject, nonce: page.parameters["nonce"] ?? "")
        ground.fetcher.answer { _, _ in
            .json(200, #"{"access_token":"NEW","refresh_token":"RT1","id_token":"\#(fresh)"}"#)
        }
        try await blocking { _ = try page.visit(try page.success()) }
        let result: Result<Login, LoginFailure>
        do throws(LoginFailure) {
            result = .success(try await session.result())
        } catch {
            result = .failure(error)
        }
        await session.close()
        return (page, result)
    }

    @Test func `logs in again, with a hint of who it was (F19)`() async throws {
        for (more, hint) in [
            (#","email":"ann@example.com""#, "ann@example.com"),
            (#","email":"x","preferred_username":"ann""#, "ann"),
            (#","preferred_username":"x","login_hint":"O.CiRh""#, "O.CiRh"), ("", nil),
        ] as [(String, String?)] {
            let ground = try Ground()
            try await stored(ground, subject: "s", more: more)
            let (page, result) = try await logIn(ground, as: "s")
            #expect(page.parameters["login_hint"] == hint)
            #expect(try result.get().access == "NEW")
        }
    }

    @Test func `is told the hint that worked before`() async throws {
        let ground = try Ground()
        var options = LoginOptions(.printURL)
        options.loginHint = "ann@example.com"
        _ = try await logIn(ground, as: "s", options).result.get()
        // From the store, with another process.
        let (page, result) = try await logIn(try Ground(sharing: ground), as: "s")
        #expect(page.parameters["login_hint"] == "ann@example.com")
        #expect(try result.get().loginHint == "ann@example.com")
        // What the configuration says for itself wins.
        var other = settings
        other.additions[.authorization] = RequestAdditions(parameters: [
            NamedValue("login_hint", "configured")
        ])
        let session = try await ground.desk(other).begin(github, LoginOptions(.printURL))
        #expect(session.page.parameters["login_hint"] == "configured")
        await session.close()
    }

    @Test func `is refused in another's place (F19)`() async throws {
        let ground = try Ground()
        try await stored(ground, subject: "ann")
        let before = try ground.recordBytes()
        let (_, result) = try await logIn(ground, as: "bob")
        let failure = #expect(throws: LoginFailure.self) { try result.get() }
        guard case .otherPerson("ann", "bob") = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(failure?.hint?.contains("--switch-user") == true)
        #expect(try ground.recordBytes() == before)
    }

    @Test func `may be switched, and nothing of the old one is left (F84)`() async throws {
        let ground = try Ground()
        try await stored(ground, subject: "ann", more: #","email":"ann@example.com""#)
        var options = LoginOptions(.printURL)
        options.switchesUser = true
        let (page, result) = try await logIn(ground, as: "bob", options)
        #expect(page.parameters["login_hint"] == nil)
        #expect(try result.get().access == "NEW")
        let login = try #require(try await ground.store.load(github))
        #expect(login.refresh == "RT1")
        #expect(login.extras.members.isEmpty)
    }

    @Test func `is refused when traffic asked for the login, too`() async throws {
        let ground = try Ground()
        try await stored(ground, subject: "ann")
        let desk = ground.desk(settings)
        guard case .refused(.loginRequired(let url?, _, _, _), _) = await desk.demand(github) else {
            Issue.record("no login was started")
            return
        }
        let page = LoginPage(url)
        let fresh = token("bob", nonce: page.parameters["nonce"] ?? "")
        ground.fetcher.answer { _, _ in
            .json(200, #"{"access_token":"NEW","id_token":"\#(fresh)"}"#)
        }
        try await blocking {
            let text = try page.visit(try page.success()).body.text
            #expect(text.contains("Login failed"))
        }
        #expect(try await ground.store.load(github)?.access == "OLD")
        await desk.close()
    }

    @Test func `is nobody's business at another provider`() async throws {
        let ground = try Ground()
        var login = ground.login("OLD", refresh: "RT0")
        login.issuer = "https://other.example.com"
        let claims = #"{"iss":"https://other.example.com","sub":"ann","aud":"my-cli"}"#
        login.idToken = SecretBytes(Ground.provider.token(claims))
        try await ground.store.save(login, github)
        var options = LoginOptions(.printURL)
        options.switchesUser = true
        #expect(try await logIn(ground, as: "bob", options).result.get().access == "NEW")
    }
}
