// Azure AD B2C: the policy is part of every address, in the path or in the query, the issuer names the
// tenant by a number, and the ID token is often the credential (learn.microsoft.com, "OpenID Connect in
// Azure Active Directory B2C").

extension Preset {
    static let azureB2C = Preset(
        name: "azure_b2c", title: "Azure AD B2C",
        parameters: [
            Parameter("tenant", example: "contoso"),
            Parameter("policy", example: "B2C_1_signin"),
        ],
        keys: """
            authorization_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/{policy}/oauth2/v2.0/authorize
            token_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/{policy}/oauth2/v2.0/token
            end_session_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/{policy}/oauth2/v2.0/logout
            jwks_uri: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/{policy}/discovery/v2.0/keys
            redirect_uri: http://localhost
            inject: id_token
            """,
        starter: """
            # An API that takes Azure AD B2C's ID token as its credential: B2C gives an access token only where a
            # scope of an API, or the client itself, is asked for.
            upstream: https://api.example.com
            credential:
              provider: azure_b2c
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

    static let azureB2CByQuery = Preset(
        name: "azure_b2c_query", title: "Azure AD B2C, the policy in the query",
        parameters: [
            Parameter("tenant", example: "contoso"),
            Parameter("policy", example: "B2C_1_signin"),
        ],
        keys: """
            authorization_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/oauth2/v2.0/authorize?p={policy}
            token_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/oauth2/v2.0/token?p={policy}
            end_session_endpoint: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/oauth2/v2.0/logout?p={policy}
            jwks_uri: https://{tenant}.b2clogin.com/{tenant}.onmicrosoft.com/discovery/v2.0/keys?p={policy}
            redirect_uri: http://localhost
            inject: id_token
            """,
        starter: """
            # An API that takes Azure AD B2C's ID token as its credential: B2C gives an access token only where a
            # scope of an API, or the client itself, is asked for.
            upstream: https://api.example.com
            credential:
              provider: azure_b2c_query
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
