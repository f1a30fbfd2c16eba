// GitHub as docs.github.com describes it ("Authorizing OAuth apps", "Refreshing user access tokens"):
// secrets in the body, a comma between scopes, errors with status 200, and for Apps with expiring
// tokens refresh tokens that end the old access token.

import Support
import Testing

@Suite(.ownThread) struct `Preset: GitHub` {
    static func provider(expires: Bool) -> ScriptedProvider {
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = "/login/oauth/authorize"
        manner.tokenPath = "/login/oauth/access_token"
        manner.clientFault = { request, form in
            if request.has("Authorization") { return "an Authorization field" }
            if request.value("Accept") != "application/json" {
                return "no Accept: application/json"
            }
            return form["client_secret"] == "canary-github-secret" ? nil : "client_secret"
        }
        manner.answer = { granted in
            var members = [
                (
                    "scope",
                    jsonText(granted.scope.components(separatedBy: " ").joined(separator: ","))
                )
            ]
            if expires {
                members += [("expires_in", "28800"), ("refresh_token_expires_in", "15897600")]
            }
            return .json(granted.document(members, type: "bearer"))
        }
        manner.refusal = { code in
            let code =
                code == "invalid_grant" ? "bad_refresh_token" : "incorrect_client_credentials"
            return .json("{\"error\":\"\(code)\",\"error_description\":\"The token is bad.\"}")
        }
        manner.givesRefreshToken = { _ in expires }
        return ScriptedProvider(manner)
    }

    private func world(_ provider: ScriptedProvider) throws -> PresetWorld {
        try PresetWorld(
            "github",
            [
                "github.com": { try provider.answer($0) },
                "api.github.com": { provider.api($0) },
            ], files: ["github.secret": "canary-github-secret\n"])
    }

    @Test func `an OAuth app logs in and calls the API`() throws {
        let provider = Self.provider(expires: false)
        let world = try world(provider)
        let result = try world.logIn()
        #expect(!result.error.contains("did not grant"), "\(result.error)")
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", "/user").body == "{\"login\":\"ada\"}")
        #expect(provider.faults == [])
        #expect(provider.authorizations.first?["scope"] == "repo read:org")
        // Nothing renews such a token: a 401 is the API's answer, and then a login is needed.
        provider.endAccessTokens()
        _ = try proxy.exchange("GET", "/user")
        #expect(try proxy.exchange("GET", "/user").status != 200)
        #expect(provider.tokenRequests.count == 1)
    }

    @Test func `an App's expiring token is refreshed on a 401`() throws {
        let provider = Self.provider(expires: true)
        let world = try world(provider)
        try world.logIn()
        let proxy = try world.home.serve()
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", "/user").status == 200)
        #expect(
            provider.tokenRequests.map { $0.form["grant_type"] ?? "" } == [
                "authorization_code", "refresh_token",
            ])
        #expect(provider.faults == [])
    }

    @Test func `an error with status 200 is a refusal, and the login stays until a new one`() throws
    {
        let provider = Self.provider(expires: true)
        let world = try world(provider)
        try world.logIn()
        let proxy = try world.home.serve()
        provider.endRefreshTokens()
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", "/user").isOurs(503, "login_required"))
        #expect(try world.stored().contains("canary-refresh"))
        try world.logIn()
        _ = try waited(for: "the new login to be noticed", within: .seconds(10)) {
            try proxy.exchange("GET", "/user").status == 200 ? () : nil
        }
    }
}
