// The providers that are plain OpenID Connect but for one thing each: the address of the issuer, the
// shape of an answer, what becomes of a refresh token.

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Presets: OpenID Connect` {
    /// What is special about one of them.
    struct Special: Sendable, CustomTestStringConvertible {
        let preset: String
        let host: String
        let issuer: String
        /// Path of the metadata document.
        var document: String
        var paths = ("/authorize", "/token")
        /// As the starter has it.
        var clientID = "0123456789abcdef"
        /// Members of token responses besides the usual ones.
        var members: [(String, String)] = [("expires_in", "3600")]
        var wanted: [String: String] = [:]
        var upstream = "api.example.com"

        var testDescription: String { preset }
    }

    static let all = [
        Special(
            preset: "gitlab", host: "gitlab.com", issuer: "https://gitlab.com",
            document: "/.well-known/openid-configuration",
            paths: ("/oauth/authorize", "/oauth/token"),
            members: [("expires_in", "7200"), ("created_at", "1790000000")],
            upstream: "gitlab.com"),
        Special(
            preset: "auth0", host: "acme.eu.auth0.com", issuer: "https://acme.eu.auth0.com/",
            document: "/.well-known/openid-configuration", paths: ("/authorize", "/oauth/token"),
            members: [("expires_in", "86400")], wanted: ["audience": "https://api.example.com"]),
        Special(
            preset: "okta", host: "acme.okta.com", issuer: "https://acme.okta.com/oauth2/default",
            document: "/.well-known/oauth-authorization-server/oauth2/default",
            paths: ("/oauth2/default/v1/authorize", "/oauth2/default/v1/token"),
            clientID: "0oa0123456789abcdef"),
        Special(
            preset: "keycloak", host: "sso.example.com",
            issuer: "https://sso.example.com/realms/staff",
            document: "/realms/staff/.well-known/openid-configuration",
            paths: (
                "/realms/staff/protocol/openid-connect/auth",
                "/realms/staff/protocol/openid-connect/token"
            ), clientID: "my-cli",
            members: [
                ("expires_in", "300"), ("refresh_expires_in", "1800"), ("not-before-policy", "0"),
                ("session_state", "\"0d2f\""),
            ]),
        Special(
            preset: "plusauth", host: "acme.plusauth.com", issuer: "https://acme.plusauth.com",
            document: "/.well-known/openid-configuration",
            paths: ("/oauth2/authorize", "/oauth2/token")),
        Special(
            preset: "oidc", host: "login.example.com", issuer: "https://login.example.com",
            document: "/.well-known/openid-configuration", clientID: "my-cli"),
        Special(
            preset: "entra", host: "login.microsoftonline.com",
            issuer:
                "https://login.microsoftonline.com/9188040d-6c67-4c5b-b112-36a304b66dad/v2.0",
            document: "/contoso.onmicrosoft.com/v2.0/.well-known/openid-configuration",
            paths: ("/t/oauth2/v2.0/authorize", "/t/oauth2/v2.0/token"),
            clientID: "00000000-0000-0000-0000-000000000000",
            members: [("expires_in", "\"4012\""), ("ext_expires_in", "4012")],
            upstream: "graph.microsoft.com"),
    ]

    private func provider(_ special: Special) -> ScriptedProvider {
        let signer = TokenSigner(.rs256)
        let base = "https://\(special.host)"
        // Entra's document of a tenant that was named by its domain has the tenant's number; that of
        // "common" has a template in its place.
        let issuer =
            special.preset == "entra"
            ? "https://login.microsoftonline.com/{tenantid}/v2.0" : special.issuer
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = special.paths.0
        manner.tokenPath = special.paths.1
        manner.documents = [
            special.document: """
            {"issuer":\(jsonText(issuer)),
            "authorization_endpoint":"\(base)\(special.paths.0)",
            "token_endpoint":"\(base)\(special.paths.1)",
            "end_session_endpoint":"\(base)/logout",
            "revocation_endpoint":"\(base)/revoke",
            "jwks_uri":"\(base)/keys",
            "response_types_supported":["code"],"subject_types_supported":["pairwise"],
            "id_token_signing_alg_values_supported":["RS256"],
            "code_challenge_methods_supported":["S256"],
            "token_endpoint_auth_methods_supported":["none","client_secret_basic"]}
            """,
            "/keys": signer.keySet(),
        ]
        manner.wantedParameters = special.wanted
        manner.clientFault = { request, form in
            if request.has("Authorization") { return "a public client with Authorization" }
            return form["client_id"] == special.clientID ? nil : "client_id"
        }
        manner.answer = { granted in
            let more =
                special.preset == "entra"
                ? [("tid", "\"9188040d-6c67-4c5b-b112-36a304b66dad\""), ("ver", "\"2.0\"")] : []
            var members = special.members + [("scope", jsonText(granted.scope))]
            if granted.scope.contains("openid") {
                members.append(
                    (
                        "id_token",
                        jsonText(
                            signer.claims(
                                issuer: special.issuer, audience: granted.clientID,
                                nonce: granted.isRefresh ? nil : granted.nonce, more: more))
                    ))
            }
            return .json(granted.document(members))
        }
        return ScriptedProvider(manner)
    }

    @Test(arguments: all)
    func `log in, call, refresh on a 401 and rotate`(special: Special) throws {
        let provider = provider(special)
        let isOneHost = special.upstream == special.host
        var hosts: [String: FakeInternet.Responder] = [
            special.host: { request in
                isOneHost && request.path.hasPrefix("/api/")
                    ? provider.api(request) : try provider.answer(request)
            }
        ]
        if !isOneHost { hosts[special.upstream] = { provider.api($0) } }
        let world = try PresetWorld(special.preset, hosts)
        try world.logIn()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", "/me").status == 200)
        let first = try world.stored()
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", "/me").status == 200)
        let second = try world.stored()
        #expect(first != second)
        let refreshes = provider.tokenRequests.filter { $0.form["grant_type"] == "refresh_token" }
        #expect(refreshes.count == 1)
        #expect(try !second.contains(#require(refreshes.item(0).form["refresh_token"])))
        if special.preset == "entra" {
            #expect(try refreshes.item(0).form["scope"] != nil, "Entra wants the scope named")
        }
        #expect(provider.faults == [])
    }
}
