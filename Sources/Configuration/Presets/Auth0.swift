// Auth0: the issuer ends with a slash, and without an audience the access token opens only userinfo
// (auth0.com/docs).

extension Preset {
    static let auth0 = Preset(
        name: "auth0", title: "Auth0",
        parameters: [
            Parameter("domain", example: "acme.eu.auth0.com")
        ],
        keys: """
            issuer: https://{domain}/
            scopes: [openid, profile, offline_access]
            quirks: [forbidden_grant]
            """,
        starter: """
            # An API behind Auth0.
            #
            # Create an application of the type "Native" with the callback URL below; allow offline access in
            # the settings of the API.
            upstream: https://api.example.com
            credential:
              provider: auth0
              domain: acme.eu.auth0.com
              client_id: 0123456789abcdef
              audience: https://api.example.com
              redirect_uri: http://127.0.0.1:8765/callback
              scopes: [openid, profile, offline_access]

            """)
}
