// GOV.UK One Login as its technical documentation describes it: assertions for the token endpoint,
// vectors of trust, signed ID tokens with `vot`, userinfo, no refresh tokens; and headers of attestation
// as its app sends them.

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Preset: GOV.UK One Login` {
    private static let base = "https://oidc.integration.account.gov.uk"

    private static func provider(
        _ key: SigningKey, vot: String = "Cl.Cm"
    ) -> ScriptedProvider {
        let signer = TokenSigner(.es256)
        var manner = ScriptedProvider.Manner()
        manner.documents = [
            "/.well-known/openid-configuration": """
            {"issuer":"\(base)/","authorization_endpoint":"\(base)/authorize",
            "token_endpoint":"\(base)/token","userinfo_endpoint":"\(base)/userinfo",
            "jwks_uri":"\(base)/.well-known/jwks.json","end_session_endpoint":"\(base)/logout",
            "code_challenge_methods_supported":["S256"],
            "id_token_signing_alg_values_supported":["ES256","RS256"],
            "token_endpoint_auth_methods_supported":["private_key_jwt","client_secret_post"],
            "claims_supported":["sub","email","email_verified"]}
            """,
            "/.well-known/jwks.json": signer.keySet(),
        ]
        manner.wantedParameters = [
            "vtr": "[\"Cl.Cm\"]", "ui_locales": "en", "scope": "openid email",
        ]
        manner.givesRefreshToken = { _ in false }
        manner.clientFault = { request, form in
            guard
                form["client_assertion_type"]
                    == "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
                let assertion = form["client_assertion"]
            else { return "no assertion" }
            let claims =
                verified(assertion, by: key, as: .ps256) ?? verified(assertion, by: key, as: .rs256)
            guard let claims else { return "the signature" }
            for (name, value) in [
                ("iss", "0123456789abcdef"), ("sub", "0123456789abcdef"), ("aud", base + "/token"),
            ] where !claims.contains("\"\(name)\":\(jsonText(value))") {
                return "\(name) in \(claims)"
            }
            return claims.contains("\"jti\":") && claims.contains("\"exp\":") ? nil : "jti or exp"
        }
        manner.answer = { granted in
            let token = signer.claims(
                issuer: base + "/", audience: granted.clientID, nonce: granted.nonce,
                more: [
                    ("vot", jsonText(vot)), ("vtm", "\"https://oidc.account.gov.uk/trustmark\""),
                ])
            return .json(
                granted.document([("expires_in", "180"), ("id_token", jsonText(token))]))
        }
        manner.other = { request, provider in
            request.path == "/userinfo"
                ? provider.api(request) { _ in
                    .json("{\"sub\":\"ada-4711\",\"email\":\"ada@example.test\"}")
                } : nil
        }
        return ScriptedProvider(manner)
    }

    private func world(
        _ provider: ScriptedProvider, _ key: SigningKey, changes: [(String, String)] = []
    ) throws -> PresetWorld {
        try PresetWorld(
            "govuk_one_login",
            [
                "oidc.integration.account.gov.uk": { try provider.answer($0) },
                "api.example.service.gov.uk": { provider.api($0) },
            ], changes: changes, files: ["one-login.pem": pemText(of: key)])
    }

    @Test func `proves the client by its key, and shows who logged in`() throws {
        let key = SigningKey.generate(.rs256)
        let provider = Self.provider(key)
        let world = try world(provider, key)
        try world.logIn()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange().status == 200)
        let who = try world.home.run(["whoami"])
        #expect(who.status == 0, "\(who)")
        #expect(who.output.contains("ada@example.test"))
        #expect(provider.faults == [])
    }

    @Test func `refuses less trust than was asked for`() throws {
        let key = SigningKey.generate(.rs256)
        let world = try world(Self.provider(key, vot: "Cl"), key)
        let result = try world.home.run(["login", "--browser", world.browser()])
        #expect(result.status == 1)
        #expect(result.error.contains("vot"), "\(result.error)")
    }

    @Test func `sends attestation made anew for each token request`() throws {
        let key = SigningKey.generate(.rs256)
        let provider = Self.provider(key)
        let world = try world(
            provider, key,
            changes: [
                ("  # token_headers:", "  token_headers:"),
                (
                    "  #   OAuth-Client-Attestation: { command: [attest] }",
                    "    OAuth-Client-Attestation: { command: [attest] }"
                ),
                (
                    "  #   OAuth-Client-Attestation-PoP: { command: [attest, --pop] }",
                    "    OAuth-Client-Attestation-PoP: { command: [attest, --pop] }"
                ),
            ])
        let count = world.home.directory.path("count")
        try world.home.install(
            "echo x >> \"\(count)\"; echo \"proof$1-$(wc -l < \"\(count)\" | tr -d ' ')\"",
            as: "attest")
        try world.logIn()
        try world.logIn()
        let fields = provider.tokenRequests.map { $0.message.value("OAuth-Client-Attestation-PoP") }
        #expect(fields.count == 2)
        #expect(try fields.item(0)?.hasPrefix("proof--pop-") == true)
        #expect(try fields.item(0) != fields.item(1))
        let others = world.internet.requests.filter { $0.path != "/token" }
        #expect(!others.isEmpty)
        #expect(!others.contains { $0.has("OAuth-Client-Attestation") })
    }
}
