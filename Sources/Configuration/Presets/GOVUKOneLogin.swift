// GOV.UK One Login: vectors of trust, assertions signed by the client's key and meant for the token
// endpoint, no refresh tokens (docs.sign-in.service.gov.uk).

extension Preset {
    static let govukOneLogin = Preset(
        name: "govuk_one_login", title: "GOV.UK One Login",
        parameters: [
            Parameter(
                "host", fallback: "oidc.account.gov.uk", example: "oidc.integration.account.gov.uk")
        ],
        keys: """
            issuer: https://{host}/
            client_authentication: private_key_jwt
            assertion_audience: token_endpoint
            scopes: [openid]
            vtr: [Cl.Cm]
            id_token_signed_response_alg: [ES256, RS256]
            """,
        starter: """
            # A service behind GOV.UK One Login, as a user of the integration environment.
            #
            # Register a client (https://admin.sign-in.service.gov.uk) with the public key of private_key and
            # the redirect URI below.
            upstream: https://api.example.service.gov.uk
            credential:
              provider: govuk_one_login
              host: oidc.integration.account.gov.uk
              client_id: "0123456789abcdef"
              private_key: { file: one-login.pem }
              redirect_uri: http://localhost:8765/callback
              scopes: [openid, email]
              vtr: [Cl.Cm]
              ui_locales: [en]
              # Attestation of the application, made anew for each token request:
              # token_headers:
              #   OAuth-Client-Attestation: { command: [attest] }
              #   OAuth-Client-Attestation-PoP: { command: [attest, --pop] }

            """)
}
