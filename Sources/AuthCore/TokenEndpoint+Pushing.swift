// Hands an authorization request to the provider before a browser is sent there (RFC 9126), with the
// client's usual proof. What fails is judged as at the token endpoint.

import Bytes
import OAuth
import Vocabulary

extension TokenEndpoint {
    /// A reference to the request, for one use.
    func push(
        _ request: AuthorizationRequest
    ) async throws(ExchangeError) -> PushedAuthorization {
        let (endpoints, url) = try await place(of: .pushedAuthorization)
        guard let url else {
            let name = ServerMetadata.Endpoint.pushedAuthorization.rawValue
            throw .endpoint(.metadata(MetadataProblem(.missingEndpoint(name: name))))
        }
        // Once more where the server wants another nonce; then the client's own proof is new too.
        for mayRepeat in [proofs != nil, false] {
            let client = try await client(endpoints, to: url)
            let post = PushedAuthorization.post(
                request, at: url, by: client, adding: try await additions(.pushedAuthorization))
            do throws(TokenFailure) {
                let answer = try await provenAnswer(to: post)
                if mayRepeat, ProofNonce.isDemanded(by: answer) { continue }
                let pushed = try PushedAuthorization.read(
                    answer, to: post, now: surroundings.time.wallTime())
                if proofs != nil, settings.quirks.contains(.atproto) {
                    try ProofNonce.require(in: answer)
                }
                return pushed
            } catch {
                throw .token(PushedAuthorization.failure(error))
            }
        }
        preconditionFailure("the last turn returns or throws")
    }

    private func provenAnswer(to post: FormPost) async throws(TokenFailure) -> InboundResponse {
        guard let proofs else { return try await answer(to: post) }
        do throws(FetchError) {
            return try await proofs.send(post.outbound(certificate: settings.clientCertificate))
        } catch {
            throw TokenFailure(error)
        }
    }

    /// Where everything is, and one endpoint in particular.
    func place(
        of endpoint: ServerMetadata.Endpoint
    ) async throws(ExchangeError) -> (Endpoints, String?) {
        do throws(DiscoveryError) {
            let endpoints = try await discovery.endpoints(of: settings)
                .used(by: settings)
            return (endpoints, try endpoints.url(of: endpoint, for: settings))
        } catch {
            throw .endpoint(error)
        }
    }

    /// What the configuration adds to such a request.
    func additions(_ kind: RequestKind) async throws(ExchangeError) -> FormAdditions {
        do throws(SecretError) {
            return try await settings.read(additionsTo: kind, in: surroundings)
        } catch {
            throw .clientSecret(error)
        }
    }

    func answer(to post: FormPost) async throws(TokenFailure) -> InboundResponse {
        do throws(FetchError) {
            return try await surroundings.fetcher.fetch(
                post.outbound(certificate: settings.clientCertificate))
        } catch {
            throw TokenFailure(error)
        }
    }
}
