// Mastodon: each server is a provider of its own, where the client registers itself by a form; tokens
// do not expire (docs.joinmastodon.org, "Obtaining client app access").

extension Preset {
    static let mastodon = Preset(
        name: "mastodon", title: "Mastodon",
        parameters: [
            Parameter("host", example: "mastodon.social")
        ],
        keys: """
            authorization_endpoint: https://{host}/oauth/authorize
            token_endpoint: https://{host}/oauth/token
            revocation_endpoint: https://{host}/oauth/revoke
            client_authentication: client_secret_post
            registration: { form: mastodon, endpoint: "https://{host}/api/v1/apps" }
            """,
        starter: """
            # Your account at a Mastodon server: curl http://localhost:8080/accounts/verify_credentials
            #
            # Nothing has to be registered by hand: `proxy login` does it, once for the server.
            upstream: https://mastodon.social/api/v1
            credential:
              provider: mastodon
              host: mastodon.social
              redirect_uri: http://127.0.0.1:8765/callback
              scopes: [read]

            """)
}
