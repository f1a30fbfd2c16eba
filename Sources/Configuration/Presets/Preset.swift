// What the proxy knows of a provider: the keys that one would otherwise write, no more. A preset is
// put under a credential before anything is read, so whatever the credential says itself wins.

/// One provider, or one way of using it.
package struct Preset: Sendable {
    /// A word of the provider's own that its addresses contain: a tenant, a realm.
    struct Parameter: Sendable {
        let key: String
        /// Nil: it must be given.
        let fallback: String?
        let example: String

        init(_ key: String, fallback: String? = nil, example: String) {
            self.key = key
            self.fallback = fallback
            self.example = example
        }
    }

    /// The value of `provider`, and the argument of `proxy init`.
    package let name: String
    /// The provider as people call it.
    package let title: String
    let parameters: [Parameter]
    /// Keys of a credential in YAML; `{key}` stands for a parameter's value.
    let keys: String
    /// A whole configuration to start from, with comments.
    package let starter: String

    package static let all: [Preset] = [
        .github, .gitlab, .google, .googleServiceAccount, .entra, .azureB2C, .azureB2CByQuery,
        .mastodon, .bluesky, .govukOneLogin, .plusauth, .auth0, .okta, .keycloak, .oidc, .oauth,
    ]

    package static func named(_ name: String) -> Preset? { all.first { $0.name == name } }
}
