import Configuration
import Testing
import Vocabulary

@Suite struct `Settings of authorization requests` {
    @Test func `read every key`() throws {
        let oauth = try settings(
            short(
                credential: """
                    pushed_authorization_request_endpoint: https://login.example.com/par
                    revocation_endpoint: https://login.example.com/revoke?p=x
                    end_session_endpoint: https://login.example.com/logout
                    par: true
                    require_pkce_metadata: true
                    strict_scope: true
                    resource: [https://api.example.com/v1, "urn:example:files"]
                    vtr: Cl.Cm P2
                    ui_locales: [cy, en-GB]
                    login_hint: ann@example.com
                    prompt: login consent
                    audience: https://api.example.com/
                    acr_values: phr phrh
                    max_age: 0s
                    response_mode: query
                    refresh_scope: granted
                    post_logout_redirect_uri: http://localhost:8123/bye
                    """)
        ).oauth
        #expect(
            oauth.endpointsByHand == [
                "pushed_authorization_request_endpoint": "https://login.example.com/par",
                "revocation_endpoint": "https://login.example.com/revoke?p=x",
                "end_session_endpoint": "https://login.example.com/logout",
            ])
        let authorization = oauth.authorization
        #expect(authorization.isPushed)
        #expect(authorization.requiresPKCEMetadata)
        #expect(authorization.isScopeStrict)
        #expect(authorization.resources == ["https://api.example.com/v1", "urn:example:files"])
        #expect(authorization.vectorsOfTrust == ["Cl.Cm", "P2"])
        #expect(authorization.locales == ["cy", "en-GB"])
        #expect(authorization.loginHint == "ann@example.com")
        #expect(authorization.prompts == ["login", "consent"])
        #expect(authorization.audience == "https://api.example.com/")
        #expect(authorization.contextClasses == ["phr", "phrh"])
        #expect(authorization.maxAgeSeconds == 0)
        #expect(authorization.responseMode == "query")
        #expect(oauth.refreshScope == .granted)
        #expect(oauth.afterLogout == LoopbackAddress(host: "localhost", port: 8123, path: "/bye"))
    }

    @Test func `ask for nothing by themselves`() throws {
        let oauth = try settings(short()).oauth
        #expect(oauth.endpointsByHand.isEmpty)
        #expect(!oauth.authorization.isPushed && !oauth.authorization.requiresPKCEMetadata)
        #expect(oauth.authorization.resources.isEmpty && oauth.authorization.prompts.isEmpty)
        #expect(oauth.refreshScope == .none)
        #expect(oauth.afterLogout == nil)
    }

    @Test(arguments: [
        ("none", OAuthSettings.RefreshScope.none), ("granted", .granted),
        ("a b", .list(["a", "b"])),
        ("[a, none]", .list(["a", "none"])),
    ])
    func `say what a refresh says of scopes`(
        text: String, scope: OAuthSettings.RefreshScope
    ) throws {
        let oauth = try settings(short(credential: "refresh_scope: \(text)")).oauth
        #expect(oauth.refreshScope == scope)
    }

    @Test(arguments: [
        ("resource: api.example.com", "\"api.example.com\" is no resource"),
        ("resource: \"https://a/#b\"", "\"https://a/#b\" is no resource"),
        ("vtr: [\"Cl Cm!\"]", "\"Cm!\" is not a vector of trust"),
        ("ui_locales: en_GB", "\"en_GB\" is not a language"),
        ("prompt: none login", "\"none\" goes with no other prompt"),
        ("max_age: 12", "\"max_age\" must be a duration"),
        ("response_mode: fragment", "\"fragment\" is no value for \"response_mode\""),
        ("response_mode: form_post", "\"form_post\" is no value for \"response_mode\""),
        ("par: maybe", "\"par\" must be true or false"),
        ("revocation_endpoint: http://login.example.com/r", "\"http://login.example.com/r\" would"),
        ("end_session_endpoint: \"https://a/#b\"", "an endpoint has no fragment"),
        ("post_logout_redirect_uri: https://a.example/", "\"https://a.example/\" is no address on"),
        (
            "prompt: login\nauthorization_params: { prompt: consent }",
            "the parameter \"prompt\" is given twice"
        ),
        (
            "resource: https://a/\ntoken_params: { resource: https://b/ }",
            "the parameter \"resource\" is given twice"
        ),
        (
            "authorization_params: { response_mode: query }",
            "the parameter \"response_mode\" is made"
        ),
    ])
    func `are refused with the reason`(text: String, expected: String) {
        let found = problems(short(credential: text))
        #expect(found.count == 1, "\(found)")
        #expect(found.first?.contains(": \(expected)") == true, "\(found)")
    }
}
