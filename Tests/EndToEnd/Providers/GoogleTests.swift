// Google as developers.google.com describes it: a refresh token with offline access and consent only,
// none with a refresh, and service accounts that sign their own statements.

import Bytes
import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Preset: Google` {
    static func provider() -> ScriptedProvider {
        let signer = TokenSigner(.rs256)
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = "/o/oauth2/v2/auth"
        manner.tokenPath = "/token"
        manner.documents = [
            "/.well-known/openid-configuration": """
            {"issuer":"https://accounts.google.com",
            "authorization_endpoint":"https://accounts.google.com/o/oauth2/v2/auth",
            "token_endpoint":"https://oauth2.googleapis.com/token",
            "revocation_endpoint":"https://oauth2.googleapis.com/revoke",
            "userinfo_endpoint":"https://openidconnect.googleapis.com/v1/userinfo",
            "jwks_uri":"https://www.googleapis.com/oauth2/v3/certs",
            "id_token_signing_alg_values_supported":["RS256"],
            "token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"],
            "code_challenge_methods_supported":["plain","S256"]}
            """,
            "/oauth2/v3/certs": signer.keySet(),
        ]
        manner.wantedParameters = ["access_type": "offline", "include_granted_scopes": "true"]
        manner.clientFault = { request, form in
            let expected = Base64.encode(
                Array("1234567890-abc.apps.googleusercontent.com:canary-google-secret".utf8),
                .standard)
            return request.value("Authorization") == "Basic \(expected)"
                && form["client_secret"] == nil ? nil : "the client's secret"
        }
        manner.rotates = false
        manner.givesRefreshToken = { $0["prompt"] == "consent" }
        manner.answer = { granted in
            var members = [("expires_in", "3599"), ("scope", jsonText(granted.scope))]
            if granted.scope.contains("openid") && !granted.isRefresh {
                members.append(
                    (
                        "id_token",
                        jsonText(
                            signer.claims(
                                issuer: "https://accounts.google.com", audience: granted.clientID,
                                nonce: granted.nonce))
                    ))
            }
            return .json(granted.document(members))
        }
        return ScriptedProvider(manner)
    }

    private func world(_ provider: ScriptedProvider) throws -> PresetWorld {
        try PresetWorld(
            "google",
            [
                "accounts.google.com": { try provider.answer($0) },
                "oauth2.googleapis.com": { try provider.answer($0) },
                "www.googleapis.com": { request in
                    request.path.hasPrefix("/drive/")
                        ? provider.api(request) : try provider.answer(request)
                },
            ], files: ["google.secret": "canary-google-secret"])
    }

    @Test func `keeps the refresh token that refreshes do not bring`() throws {
        let provider = Self.provider()
        let world = try world(provider)
        try world.logIn()
        let proxy = try world.home.serve()
        let before = try world.stored()
        for _ in 0..<2 {
            provider.endAccessTokens()
            #expect(try proxy.exchange("GET", "/about?fields=user").status == 200)
        }
        let refreshes = provider.tokenRequests.filter { $0.form["grant_type"] == "refresh_token" }
        #expect(refreshes.count == 2)
        let token = try #require(refreshes.item(0).form["refresh_token"])
        #expect(try refreshes.item(1).form["refresh_token"] == token)
        #expect(before.contains(token))
        #expect(try world.stored().contains(token))
        #expect(provider.faults == [])
    }

    @Test func `asks for consent only while there is no refresh token`() throws {
        let provider = Self.provider()
        let world = try world(provider)
        try world.logIn()
        #expect(provider.authorizations.map { $0["prompt"] } == ["consent"])
        let token = try #require(provider.tokenRequests.item(0).form["code"])
        #expect(!token.isEmpty)
        let before = try world.stored()
        try world.logIn()
        #expect(provider.authorizations.map { $0["prompt"] } == ["consent", nil])
        // The second login brought none, and the first one's is still there.
        let kept = try #require(before.components(separatedBy: "canary-refresh").item(1).first)
        #expect(try world.stored().contains("canary-refresh\(kept)"))
    }

    @Test func `a service account signs its own statement`() throws {
        let key = SigningKey.generate(.rs256)
        var manner = ScriptedProvider.Manner()
        manner.other = { request, provider in
            guard request.path == "/token" else { return nil }
            let form = FormText(reading: request.body.text)
            guard form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer",
                let assertion = form["assertion"],
                let claims = verified(assertion, by: key, as: .rs256)
            else {
                provider.noteFault("no good assertion: \(form.pairs)")
                return .json("{\"error\":\"invalid_grant\"}", status: 400)
            }
            let scope = "https://www.googleapis.com/auth/devstorage.read_only"
            for (name, value) in [
                ("iss", "svc@project.iam.gserviceaccount.com"), ("scope", scope),
                ("aud", "https://oauth2.googleapis.com/token"),
            ] where !claims.contains("\"\(name)\":\(jsonText(value))") {
                provider.noteFault("\(name) in \(claims)")
            }
            let granted = provider.grant(scope: scope, clientID: "svc")
            return .json(granted.document([("expires_in", "3599")]))
        }
        let provider = ScriptedProvider(manner)
        let pem = pemText(of: key)
        let file = """
            {"type":"service_account","client_email":"svc@project.iam.gserviceaccount.com",
            "private_key_id":"k1","private_key":\(jsonText(pem)),
            "token_uri":"https://oauth2.googleapis.com/token"}
            """
        let world = try PresetWorld(
            "google_service_account",
            [
                "oauth2.googleapis.com": { try provider.answer($0) },
                "storage.googleapis.com": { provider.api($0) },
            ], files: ["service-account.json": file])
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", "/b").status == 200)
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", "/b").status == 200)
        #expect(provider.faults == [])
    }
}
