// Okta: each organisation has authorization servers of its own, one of them named default
// (developer.okta.com, "Authorization servers").

extension Preset {
    static let okta = Preset(
        name: "okta", title: "Okta",
        parameters: [
            Parameter("domain", example: "acme.okta.com"),
            Parameter("server", fallback: "default", example: "default"),
        ],
        keys: """
            issuer: https://{domain}/oauth2/{server}
            scopes: [openid, profile, offline_access]
            """,
        starter: """
            # An API behind Okta.
            #
            # Create an app integration, "OIDC" and "Native Application", with the grant "Refresh Token" and the
            # redirect URI below.
            upstream: https://api.example.com
            credential:
              provider: okta
              domain: acme.okta.com
              # server: default
              client_id: 0oa0123456789abcdef
              redirect_uri: http://localhost:8765/callback
              scopes: [openid, profile, offline_access]

            """)
}
