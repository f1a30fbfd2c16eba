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
        var parameters = [
            FormParameter("grant_type", "refresh_token"), FormParameter("refresh_token", token),
        ]
        if let scopes, !scopes.isEmpty {
            parameters.append(FormParameter("scope", scopes.joined(separator: " ")))
        }
        return TokenGrant(parameters: parameters, secrets: [token])
    }
}

/// One request to a token endpoint.
package struct TokenRequest: Sendable {
    /// Long enough for a slow server: breaking off may lose a rotated refresh token.
    package static let timeoutMilliseconds: UInt64 = 60_000

    /// What an extra parameter may not be called.
    package static let reservedParameters: Set<String> = [
        "grant_type", "code", "redirect_uri", "code_verifier", "refresh_token", "client_id",
        "client_secret", "client_assertion", "client_assertion_type",
    ]

    package let endpoint: String
    let grant: TokenGrant
    let client: ClientAuthentication
    let extras: [(name: String, value: String)]

    /// - Parameter extras: sent with every request of the client, `resource` for one; those with
    ///   the name of a parameter that the grant sets are left out.
    package init(
        endpoint: String, grant: TokenGrant, client: ClientAuthentication,
        extras: [(name: String, value: String)] = []
    ) {
        self.endpoint = endpoint
        self.grant = grant
        self.client = client
        self.extras = extras
    }

    /// The message to send.
    package var outbound: OutboundRequest {
        var parameters = grant.parameters + client.parameters
        let names = Set(parameters.map(\.name)).union(TokenRequest.reservedParameters)
        parameters += extras.filter { !names.contains($0.name) }
            .map { FormParameter($0.name, $0.value) }
        return OutboundRequest(
            .post, endpoint,
            fields: [
                .init("Content-Type", "application/x-www-form-urlencoded"),
                .init("Accept", "application/json"),
            ] + client.fields,
            body: FormEncoding.encode(parameters),
            timeoutMilliseconds: TokenRequest.timeoutMilliseconds)
    }

    /// Values that no message may repeat.
    var secrets: [SecretBytes] { grant.secrets + client.secrets }
}
