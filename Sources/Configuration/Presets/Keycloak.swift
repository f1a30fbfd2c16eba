// Keycloak: each realm is an issuer (keycloak.org, "Securing applications").

extension Preset {
    static let keycloak = Preset(
        name: "keycloak", title: "Keycloak",
        parameters: [
            Parameter("host", example: "sso.example.com"),
            Parameter("realm", fallback: "master", example: "staff"),
        ],
        keys: """
            issuer: https://{host}/realms/{realm}
            scopes: [openid, offline_access]
            """,
        starter: """
            # An API behind Keycloak.
            #
            # Create a client of the type OpenID Connect without client authentication, with the redirect URI
            # http://127.0.0.1/callback.
            upstream: https://api.example.com
            credential:
              provider: keycloak
              host: sso.example.com          # with its path where it has one: sso.example.com/auth
              realm: staff
              client_id: my-cli
              scopes: [openid, offline_access]

            """)
}
