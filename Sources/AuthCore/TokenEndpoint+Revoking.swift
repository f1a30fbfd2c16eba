// Ends tokens at the provider (RFC 7009). A provider that is busy is asked again, a few times and not
// for long: somebody waits for the end of a log-out.

import Bytes
import OAuth
import Vocabulary

/// What became of one token.
enum RevocationResult: Sendable {
    case revoked
    /// The provider revokes no such tokens, or none at all.
    case unsupported(String)
    case failed(String)
    case interrupted
}

extension TokenEndpoint {
    private static let attemptsMax = 3
    /// A provider that wants more time than this is not waited for.
    private static let pauseSecondsMax: Int64 = 10

    func revoke(_ token: SecretBytes, _ kind: Revocation.Kind) async -> RevocationResult {
        var attempts = 0
        while true {
            attempts += 1
            let outcome: Revocation.Outcome?
            do throws(ExchangeError) {
                outcome = try await revokeOnce(token, kind)
            } catch {
                return .failed(error.text)
            }
            switch outcome {
            case nil: return .unsupported("the provider names no revocation endpoint")
            case .revoked: return .revoked
            case .unsupported: return .unsupported("the provider revokes no such tokens")
            case .failed(let failure): return result(failure)
            case .later(let retryAfter, let failure):
                let pause = retryAfter ?? Int64(attempts)
                // Without an answer there is nobody to wait for.
                guard failure.status > 0, attempts < Self.attemptsMax, pause <= Self.pauseSecondsMax
                else { return result(failure) }
                do {
                    try await surroundings.time.sleep(milliseconds: UInt64(max(1, pause)) * 1000)
                } catch {
                    return .interrupted
                }
            }
        }
    }

    private func result(_ failure: TokenFailure) -> RevocationResult {
        failure.reason == .fetch(.cancelled) ? .interrupted : .failed(failure.description)
    }

    /// Nil where there is no endpoint.
    private func revokeOnce(
        _ token: SecretBytes, _ kind: Revocation.Kind
    ) async throws(ExchangeError) -> Revocation.Outcome? {
        let (endpoints, url) = try await place(of: .revocation)
        guard let url else { return nil }
        let post = Revocation.post(
            token, kind, at: url, by: try await client(endpoints, to: url),
            adding: try await additions(.revocation))
        do throws(TokenFailure) {
            let answer = try await answer(to: post)
            return Revocation.read(
                answer, token: token, to: post, now: surroundings.time.wallTime())
        } catch {
            return Revocation.outcome(of: error)
        }
    }
}

extension ExchangeError {
    /// One line without a secret.
    var text: String {
        switch self {
        case .endpoint(let error): error.message
        case .clientSecret(let error): error.message
        case .token(let failure): failure.description
        }
    }
}
