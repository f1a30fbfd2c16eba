// Bluesky and other services of the AT Protocol: pushed requests, proofs of possession with nonces, and
// accounts whose own records say who may speak for them (atproto.com, "OAuth").

extension Preset {
    static let bluesky = Preset(
        name: "bluesky", title: "Bluesky",
        parameters: [
            Parameter("host", fallback: "bsky.social", example: "bsky.social")
        ],
        keys: """
            issuer: https://{host}
            par: true
            dpop: true
            quirks: [atproto]
            """,
        starter: """
            # Your Bluesky account: curl http://localhost:8080/xrpc/app.bsky.actor.getProfile?actor=HANDLE
            #
            # The upstream is the server that keeps your account (PDS): https://bsky.app, Settings, Account.
            # A client needs no registration: it is known by the address of a document that describes it, or,
            # while you develop, by http://localhost with its scopes and callback as a query.
            upstream: https://example.us-east.host.bsky.network
            credential:
              provider: bluesky
              # host: pds.example.com        # where the authorization server is not Bluesky's
              client_id: "http://localhost?redirect_uri=http%3A%2F%2F127.0.0.1%2Fcallback&scope=atproto%20transition%3Ageneric"
              scopes: [atproto, "transition:generic"]
              # login_hint: alice.bsky.social

            """)
}
