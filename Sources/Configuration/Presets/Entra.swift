// Microsoft Entra ID: for the tenants common, organizations and consumers the metadata names its issuer
// by a template (learn.microsoft.com, "OpenID Connect on the Microsoft identity platform").

extension Preset {
    static let entra = Preset(
        name: "entra", title: "Microsoft Entra ID",
        parameters: [
            Parameter("tenant", fallback: "common", example: "contoso.onmicrosoft.com")
        ],
        keys: """
            issuer: https://login.microsoftonline.com/{tenant}/v2.0
            redirect_uri: http://localhost
            refresh_scope: [granted]
            quirks: [issuer_template]
            """,
        starter: """
            # Microsoft Graph as yourself: curl http://localhost:8080/me
            #
            # Register an application (https://entra.microsoft.com, App registrations) with the platform
            # "Mobile and desktop applications" and the redirect URI http://localhost.
            upstream: https://graph.microsoft.com/v1.0
            credential:
              provider: entra
              tenant: contoso.onmicrosoft.com
              client_id: 00000000-0000-0000-0000-000000000000
              scopes: [openid, offline_access, User.Read]

            """)
}
