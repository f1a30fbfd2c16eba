// Token revocation (RFC 7009): the request, and what its answer means for a token that is to die. A
// server that does not know the token has nothing left to revoke, which is success.

package import Bytes
package import Vocabulary

/// One token at a revocation endpoint.
package enum Revocation {
    /// `token_type_hint` (section 2.1).
    package enum Kind: String, Sendable {
        case refreshToken = "refresh_token"
        case accessToken = "access_token"
    }

    package enum Outcome: Sendable {
        case revoked
        /// The server does not revoke tokens of this kind (section 2.2.1).
        case unsupported
        /// The token still exists; the server is to be asked again.
        case later(retryAfterSeconds: Int64?, TokenFailure)
        case failed(TokenFailure)
    }

    /// The request to the endpoint, with the client's usual authentication (section 2.1).
    package static func post(
        _ token: SecretBytes, _ kind: Kind, at endpoint: String, by client: ClientAuthentication,
        adding additions: FormAdditions = FormAdditions()
    ) -> FormPost {
        let parameters = [
            FormParameter("token", token), FormParameter("token_type_hint", kind.rawValue),
        ]
        return FormPost(endpoint: endpoint, parameters, by: client, additions: additions)
    }

    /// - Parameters:
    ///   - token: the one that was sent, which no message may repeat.
    ///   - now: the local time, for a Retry-After that names a date.
    package static func read(
        _ response: InboundResponse, token: SecretBytes, to post: FormPost, now: WallTime
    ) -> Outcome {
        // The body of a success means nothing (section 2.2).
        if (200..<300).contains(response.status) { return .revoked }
        let reader = AnswerReader(
            response: response, secrets: [token] + post.secrets, now: now)
        do throws(TokenFailure) {
            _ = try reader.members()
            return .revoked
        } catch {
            return outcome(of: error)
        }
    }

    /// What a failure means, that of the network included.
    package static func outcome(of failure: TokenFailure) -> Outcome {
        var failure = failure
        failure.subject = "the revocation endpoint"
        switch failure.reason {
        case .code("unsupported_token_type"): return .unsupported
        // One large provider says so of a token that is dead already.
        case .code("invalid_token") where failure.status == 400: return .revoked
        default: break
        }
        guard case .transient(let retryAfter) = failure.verdict else { return .failed(failure) }
        return .later(retryAfterSeconds: retryAfter, failure)
    }
}
