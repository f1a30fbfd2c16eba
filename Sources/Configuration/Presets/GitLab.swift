// GitLab: OpenID Connect with refresh tokens that are spent by use and tokens of two hours
// (docs.gitlab.com, "OAuth 2.0 identity provider API").

extension Preset {
    static let gitlab = Preset(
        name: "gitlab", title: "GitLab",
        parameters: [
            Parameter("host", fallback: "gitlab.com", example: "gitlab.example.com")
        ],
        keys: """
            issuer: https://{host}
            """,
        starter: """
            # GitLab's API as yourself: curl http://localhost:8080/user
            #
            # Register an application (https://gitlab.com/-/user_settings/applications) that is not
            # confidential, with the redirect URI below.
            upstream: https://gitlab.com/api/v4
            credential:
              provider: gitlab
              # host: gitlab.example.com
              client_id: 0123456789abcdef
              redirect_uri: http://127.0.0.1:8765/callback
              scopes: [openid, read_api]

            """)
}
