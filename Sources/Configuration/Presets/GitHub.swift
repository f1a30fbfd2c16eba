// GitHub: no OpenID Connect, errors with status 200, refresh tokens only from GitHub Apps whose tokens
// expire (docs.github.com, "Authorizing OAuth apps" and "Refreshing user access tokens").

extension Preset {
    static let github = Preset(
        name: "github", title: "GitHub",
        parameters: [
            Parameter("host", fallback: "github.com", example: "github.example.com")
        ],
        keys: """
            authorization_endpoint: https://{host}/login/oauth/authorize
            token_endpoint: https://{host}/login/oauth/access_token
            device_authorization_endpoint: https://{host}/login/device/code
            client_authentication: client_secret_post
            quirks: [github_errors]
            """,
        starter: """
            # GitHub's API as yourself: curl http://localhost:8080/user
            #
            # Register an OAuth app (https://github.com/settings/developers) with the callback
            # http://127.0.0.1/callback, or a GitHub App, whose tokens expire and are refreshed here.
            upstream: https://api.github.com
            credential:
              provider: github
              # host: github.example.com     # GitHub Enterprise Server; its API is https://HOST/api/v3
              client_id: Iv1.0123456789abcdef
              client_secret: { file: github.secret }
              scopes: [repo, "read:org"]     # a GitHub App has permissions instead: leave the key out

            """)
}
