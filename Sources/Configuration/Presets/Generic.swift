// Any other provider: what its own documentation says stands in the configuration.

extension Preset {
    static let oidc = Preset(
        name: "oidc", title: "any OpenID Connect provider",
        parameters: [],
        keys: """
            scopes: [openid, offline_access]
            """,
        starter: """
            # An API behind an OpenID Connect provider, which publishes its endpoints.
            upstream: https://api.example.com
            credential:
              provider: oidc
              issuer: https://login.example.com          # exactly as the provider writes it
              client_id: my-cli
              # client_secret: { file: client.secret }   # where the provider gave one
              scopes: [openid, offline_access, api.read]

            """)

    static let oauth = Preset(
        name: "oauth", title: "any OAuth provider",
        parameters: [],
        keys: """
            client_authentication: none
            """,
        starter: """
            # An API behind an OAuth provider that publishes nothing: its endpoints are written out.
            upstream: https://api.example.com
            credential:
              provider: oauth
              authorization_endpoint: https://login.example.com/authorize
              token_endpoint: https://login.example.com/token
              client_id: my-cli
              # client_secret: { file: client.secret }
              # client_authentication: client_secret_post
              scopes: [api.read]

            """)
}
