// PlusAuth: plain OpenID Connect on a host for each tenant (docs.plusauth.com).

extension Preset {
    static let plusauth = Preset(
        name: "plusauth", title: "PlusAuth",
        parameters: [
            Parameter("tenant", example: "acme")
        ],
        keys: """
            issuer: https://{tenant}.plusauth.com
            scopes: [openid, profile, offline_access]
            """,
        starter: """
            # An API behind PlusAuth.
            #
            # Create a client of the type "Native" (https://dashboard.plusauth.com) with the redirect URI and
            # the redirect URI after log-out below.
            upstream: https://api.example.com
            credential:
              provider: plusauth
              tenant: acme
              client_id: 0123456789abcdef
              redirect_uri: http://127.0.0.1:8765/callback
              post_logout_redirect_uri: http://127.0.0.1:8766/logged-out
              scopes: [openid, profile, offline_access]

            """)
}
