// Google: a refresh token comes only with offline access and only with consent, and a refresh brings
// none (developers.google.com, "OAuth 2.0 for Mobile and Desktop Apps" and "... Service Accounts").

extension Preset {
    static let google = Preset(
        name: "google", title: "Google",
        parameters: [],
        keys: """
            issuer: https://accounts.google.com
            authorization_params: { access_type: offline, include_granted_scopes: "true" }
            quirks: [consent_without_refresh_token]
            """,
        starter: """
            # A Google API as yourself: curl http://localhost:8080/about?fields=user
            #
            # Create an OAuth client of the type "Desktop app" (https://console.cloud.google.com/apis/credentials).
            upstream: https://www.googleapis.com/drive/v3
            credential:
              provider: google
              client_id: 1234567890-abc.apps.googleusercontent.com
              client_secret: { file: google.secret }
              scopes: [openid, email, "https://www.googleapis.com/auth/drive.readonly"]

            """)

    static let googleServiceAccount = Preset(
        name: "google_service_account", title: "a Google service account",
        parameters: [],
        keys: """
            grant: jwt_bearer
            token_endpoint: https://oauth2.googleapis.com/token
            """,
        starter: """
            # A Google API as a service account; no person takes part.
            #
            # Create a key of the account, of the type JSON, and keep it where only this user can read it.
            upstream: https://storage.googleapis.com
            credential:
              provider: google_service_account
              service_account: { file: service-account.json }
              scopes: ["https://www.googleapis.com/auth/devstorage.read_only"]

            """)
}
