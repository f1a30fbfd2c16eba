// Mastodon as docs.joinmastodon.org describes it: the client registers itself by a form, tokens have no
// end, revocation wants the client's secret in the body.

import Support
import Testing

@Suite(.ownThread) struct `Preset: Mastodon` {
    @Test func `registers once, logs in, and revokes at logout`() throws {
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = "/oauth/authorize"
        manner.tokenPath = "/oauth/token"
        manner.givesRefreshToken = { _ in false }
        manner.clientFault = { _, form in
            form["client_id"] == "canary-mastodon-id"
                && form["client_secret"] == "canary-mastodon-secret" ? nil : "\(form.pairs)"
        }
        manner.answer = {
            .json($0.document([("scope", jsonText($0.scope)), ("created_at", "1790000000")]))
        }
        manner.other = { request, provider in
            let form = FormText(reading: request.body.text)
            switch (request.method, request.path) {
            case ("POST", "/api/v1/apps"):
                provider.noteFault("registered")
                guard form["client_name"] != nil, form["scopes"] == "read",
                    form["redirect_uris"]?.hasPrefix("http://127.0.0.1:") == true
                else { return .json("{\"error\":\"Validation failed\"}", status: 422) }
                return .json(
                    """
                    {"id":"1","name":"Credential Proxy","website":null,"scopes":["read"],
                    "redirect_uri":\(jsonText(form["redirect_uris"] ?? "")),
                    "client_id":"canary-mastodon-id","client_secret":"canary-mastodon-secret",
                    "vapid_key":"BCk"}
                    """)
            case ("POST", "/oauth/revoke"):
                provider.noteFault(
                    form["client_secret"] == "canary-mastodon-secret" ? "revoked" : "not revoked")
                provider.endAccessTokens()
                return .json("{}")
            default: return request.path.hasPrefix("/api/v1/") ? provider.api(request) : nil
            }
        }
        let provider = ScriptedProvider(manner)
        let world = try PresetWorld("mastodon", ["mastodon.social": { try provider.answer($0) }])
        try world.logIn()
        do {
            let proxy = try world.home.serve()
            #expect(try proxy.exchange("GET", "/accounts/verify_credentials").status == 200)
        }
        try world.logIn()
        #expect(provider.faults == ["registered"])
        let result = try world.home.run(["logout"])
        #expect(result.status == 0, "\(result)")
        #expect(provider.faults == ["registered", "revoked"])
        #expect(try Files.read(world.home.loginFile()) == nil)
    }
}
