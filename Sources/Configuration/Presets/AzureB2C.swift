// Azure AD B2C: the policy is part of every address, in the path or in the query, the issuer names the
// tenant by a number, and the ID token is often the credential (learn.microsoft.com, "OpenID Connect in
// Azure Active Directory B2C").

extension Preset {
    static let azureB2C = azureB2C(
        "azure_b2c", "Azure AD B2C", before: "{policy}/", behind: "")
    static let azureB2CByQuery = azureB2C(
        "azure_b2c_query", "Azure AD B2C, the policy in the query", before: "",
        behind: "?p={policy}")

    /// - Parameters:
    ///   - before: what stands before each endpoint's own path.
    ///   - behind: what stands behind it.
    private static func azureB2C(
        _ name: String, _ title: String, before: String, behind: String
    ) -> Preset {
        let base = "https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/\(before)"
        return Preset(
            name: name, title: title,
            parameters: [
                Parameter("tenant", example: "contoso"),
                Parameter("policy", example: "B2C_1_signin"),
            ],
            keys: """
                authorization_endpoint: \(base)oauth2/v2.0/authorize\(behind)
                token_endpoint: \(base)oauth2/v2.0/token\(behind)
                end_session_endpoint: \(base)oauth2/v2.0/logout\(behind)
                jwks_uri: \(base)discovery/v2.0/keys\(behind)
                redirect_uri: http://localhost
                inject: id_token
                """,
            starter: """
                # An API that takes Azure AD B2C's ID token as its credential: B2C gives an access token only where a
                # scope of an API, or the client itself, is asked for.
                upstream: https://api.example.com
                credential:
                  provider: \(name)
                  tenant: contoso                # https://contoso.b2clogin.com
                  policy: B2C_1_signin
                  # As it stands in the metadata of the policy; ID tokens are compared with it.
                  issuer: https://contoso.b2clogin.com/00000000-0000-0000-0000-000000000000/v2.0/
                  client_id: 11111111-1111-1111-1111-111111111111
                  scopes: [openid, offline_access]
                  # With an API of your own, its access token instead:
                  # inject: access_token
                  # scopes: [openid, offline_access, "https://contoso.onmicrosoft.com/api/read"]

                """)
    }
}
