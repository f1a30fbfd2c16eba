// Azure AD B2C as learn.microsoft.com describes it: the policy in every address, no access token
// without a scope of an API, and an issuer that is not where the metadata is.

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Preset: Azure AD B2C` {
    @Test(arguments: ["azure_b2c", "azure_b2c_query"])
    func `sends the ID token as the credential`(preset: String) throws {
        let signer = TokenSigner(.rs256)
        let issuer = "https://contoso.b2clogin.com/00000000-0000-0000-0000-000000000000/v2.0/"
        let isInPath = preset == "azure_b2c"
        let base = "/contoso.onmicrosoft.com" + (isInPath ? "/B2C_1_signin" : "")
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = base + "/oauth2/v2.0/authorize"
        manner.tokenPath = base + "/oauth2/v2.0/token"
        manner.documents = [base + "/discovery/v2.0/keys": signer.keySet()]
        if !isInPath { manner.wantedParameters = ["p": "B2C_1_signin"] }
        manner.answer = { granted in
            // No access token: none was asked for.
            let token = signer.claims(
                issuer: issuer, audience: granted.clientID,
                nonce: granted.isRefresh ? nil : granted.nonce,
                more: [("tfp", "\"B2C_1_signin\""), ("jti", jsonText(granted.access))])
            let refresh = granted.refresh.map { ",\"refresh_token\":\(jsonText($0))" } ?? ""
            return .json(
                """
                {"id_token":\(jsonText(token)),"token_type":"Bearer","not_before":1790000000,
                "id_token_expires_in":3600,"profile_info":"e30","scope":""\(refresh),
                "refresh_token_expires_in":1209600}
                """)
        }
        let provider = ScriptedProvider(manner)
        let tokenPath = manner.tokenPath
        let world = try PresetWorld(
            preset,
            [
                "contoso.b2clogin.com": { request in
                    if !isInPath && request.path == tokenPath
                        && request.query != "p=B2C_1_signin"
                    {
                        provider.noteFault("the policy is not in \(request.target)")
                    }
                    return try provider.answer(request)
                },
                "api.example.com": { request in
                    let words = (request.value("Authorization") ?? "").components(separatedBy: " ")
                    guard words.count == 2, words[0] == "Bearer",
                        let claims = verified(words[1], by: signer.key, as: .rs256),
                        let id = claims.components(separatedBy: "\"jti\":\"").last?
                            .components(separatedBy: "\"").first,
                        provider.accepts(id)
                    else { return .invalidToken }
                    return .ok("hello")
                },
            ])
        try world.logIn()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange().body == "hello")
        provider.endAccessTokens()
        #expect(try proxy.exchange().body == "hello")
        #expect(provider.tokenRequests.count == 2)
        #expect(provider.faults.filter { !$0.hasPrefix("a query") } == [])
    }
}
