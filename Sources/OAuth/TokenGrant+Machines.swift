// The grants that need no person at the time of the request: the client's own account (RFC 6749
// section 4.4), a signed statement (RFC 7523 section 2.1), another token (RFC 8693), a device's code
// (RFC 8628 section 3.4).

package import Bytes
package import Vocabulary

extension TokenGrant {
    package static func clientCredentials(scopes: [String]) -> TokenGrant {
        TokenGrant(
            parameters: [FormParameter("grant_type", "client_credentials")] + scope(scopes),
            secrets: [])
    }

    package static func jwtBearer(_ assertion: SecretBytes, scopes: [String]) -> TokenGrant {
        TokenGrant(
            parameters: [
                FormParameter("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
                FormParameter("assertion", assertion),
            ] + scope(scopes), secrets: [assertion])
    }

    package static func deviceCode(_ code: SecretBytes) -> TokenGrant {
        TokenGrant(
            parameters: [
                FormParameter("grant_type", "urn:ietf:params:oauth:grant-type:device_code"),
                FormParameter("device_code", code),
            ], secrets: [code])
    }

    /// `actor` and its type go together or not at all (RFC 8693 section 2.1).
    package static func tokenExchange(
        _ settings: TokenExchangeSettings, subject: SecretBytes, actor: SecretBytes?,
        scopes: [String]
    ) -> TokenGrant {
        var parameters = [
            FormParameter("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            FormParameter("subject_token", subject),
            FormParameter("subject_token_type", settings.subject.type),
        ]
        if let actor, let type = settings.actor?.type {
            parameters.append(FormParameter("actor_token", actor))
            parameters.append(FormParameter("actor_token_type", type))
        }
        parameters += settings.resources.map { FormParameter("resource", $0) }
        parameters += settings.audiences.map { FormParameter("audience", $0) }
        if let type = settings.requestedType {
            parameters.append(FormParameter("requested_token_type", type))
        }
        return TokenGrant(
            parameters: parameters + scope(scopes), secrets: [subject] + (actor.map { [$0] } ?? []))
    }
}

extension TokenResponse {
    /// What a token exchange gave (RFC 8693 section 2.2.1): a token of the wanted kind, and of one
    /// that an API can be called with. A server that names no kind has said `Bearer`, which is one.
    package func checkIssuedType(_ settings: TokenExchangeSettings) throws(TokenFailure) {
        guard let issued = extras["issued_token_type"]?.asRevealedString else { return }
        let isUsable = !TokenExchangeSettings.unusableTypes.contains(issued)
        guard isUsable, settings.requestedType.map({ $0 == issued }) ?? true else {
            throw TokenFailure(
                .malformed, .unsupportedTokenType(DisplayText.clean(issued, lettersMax: 128)),
                status: 200)
        }
    }
}
