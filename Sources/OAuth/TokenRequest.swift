// The request to a token endpoint (RFC 6749 section 3.2): a POST with a form body, never a query. A
// grant is a set of parameters, so that further grants are further functions.

package import Bytes
package import Vocabulary

/// What is exchanged for a token.
package struct TokenGrant: Sendable {
    /// `grant_type` and what belongs to it.
    let parameters: [FormParameter]
    /// Values that no message may repeat.
    let secrets: [SecretBytes]

    /// RFC 6749 section 4.1.3 with RFC 7636 section 4.5. `redirectURI` is the one that was sent.
    package static func authorizationCode(
        _ code: SecretBytes, redirectURI: String, verifier: SecretBytes
    ) -> TokenGrant {
        TokenGrant(
            parameters: [
                FormParameter("grant_type", "authorization_code"), FormParameter("code", code),
                FormParameter("redirect_uri", redirectURI),
                FormParameter("code_verifier", verifier),
            ], secrets: [code, verifier])
    }

    /// RFC 6749 section 6. Without `scopes` the server keeps to the granted ones.
    package static func refresh(_ token: SecretBytes, scopes: [String]? = nil) -> TokenGrant {
        TokenGrant(
            parameters: [
                FormParameter("grant_type", "refresh_token"), FormParameter("refresh_token", token),
            ] + scope(scopes), secrets: [token])
    }

    var isRefresh: Bool { parameters.contains { $0.name == "refresh_token" } }

    /// `scope`, where there is one to ask for (RFC 6749 section 3.3).
    static func scope(_ scopes: [String]?) -> [FormParameter] {
        guard let scopes, !scopes.isEmpty else { return [] }
        return [FormParameter("scope", scopes.joined(separator: " "))]
    }

    /// The same without `scope`, after a server has called it invalid; nil where there is none.
    package var withoutScope: TokenGrant? {
        let rest = parameters.filter { $0.name != "scope" }
        guard rest.count < parameters.count else { return nil }
        return TokenGrant(parameters: rest, secrets: secrets)
    }

    /// The same without anything that could be spent: it can only be refused.
    package var hollow: TokenGrant {
        TokenGrant(parameters: parameters.filter { $0.name == "grant_type" }, secrets: [])
    }
}

/// One request to a token endpoint.
package struct TokenRequest: Sendable {
    /// Long enough for a slow server: breaking off may lose a rotated refresh token.
    package static let timeoutMilliseconds: UInt64 = 60_000

    /// What an extra parameter may not be called.
    package static let reservedParameters: Set<String> = [
        "grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "client_id",
        "client_secret", "client_assertion", "client_assertion_type", "device_code", "assertion",
        "subject_token", "subject_token_type", "actor_token", "actor_token_type",
    ]

    package let endpoint: String
    let grant: TokenGrant
    let client: ClientAuthentication
    let additions: FormAdditions
    let certificate: ClientCertificate?
    /// What the server does that no specification allows.
    let quirks: ProviderQuirks
    /// Whether the token must be bound to the key of the request's proof (RFC 9449 section 5).
    let isBound: Bool
    /// What an answer without is no good; a refresh may bring either.
    package var demand = Demand.accessToken

    package enum Demand: Sendable {
        case accessToken, idToken, either
    }

    /// - Parameters:
    ///   - additions: what the configuration adds; parameters with the name of one that the grant
    ///     sets or that is reserved are left out.
    ///   - certificate: shown to the server in the TLS handshake.
    package init(
        endpoint: String, grant: TokenGrant, client: ClientAuthentication,
        additions: FormAdditions = FormAdditions(), certificate: ClientCertificate? = nil,
        isBound: Bool = false, quirks: ProviderQuirks = []
    ) {
        self.endpoint = endpoint
        self.grant = grant
        self.client = client
        var additions = additions
        additions.parameters.removeAll { TokenRequest.reservedParameters.contains($0.name) }
        self.additions = additions
        self.certificate = certificate
        self.quirks = quirks
        self.isBound = isBound
    }

    private var post: FormPost {
        FormPost(endpoint: endpoint, grant.parameters, by: client, additions: additions)
    }

    /// The message to send.
    package var outbound: OutboundRequest {
        post.outbound(
            certificate: certificate, timeoutMilliseconds: TokenRequest.timeoutMilliseconds)
    }

    /// Values that no message may repeat.
    var secrets: [SecretBytes] { grant.secrets + post.secrets }
}
