// One exchange with a token endpoint: where it is, who we are, one request, what came of it. It
// keeps nothing and tries nothing twice, but for a refresh whose answer was lost.

import Bytes
import Diagnostics
import OAuth
import Vocabulary

/// Why an exchange gave no token.
enum ExchangeError: Error {
    case endpoint(DiscoveryError)
    case clientSecret(SecretError)
    case token(TokenFailure)
}

/// A client at its authorization server.
struct TokenEndpoint: Sendable {
    var settings: OAuthSettings
    let discovery: DiscoveryDesk
    let surroundings: Surroundings

    /// Redeems a code. It is sent at most once (RFC 6749 section 4.1.2).
    func redeem(
        _ code: SecretBytes, for request: AuthorizationRequest
    ) async throws(ExchangeError) -> TokenResponse {
        try await exchange(
            .authorizationCode(
                code, redirectURI: request.redirectURI, verifier: request.pkce.verifier),
            mayRepeat: false)
    }

    /// Refreshes. Where the server may have acted and the answer was lost, the same token is sent
    /// once more: many servers tolerate that for some seconds, and waiting only loses them.
    func refresh(_ token: SecretBytes) async throws(ExchangeError) -> TokenResponse {
        try await exchange(.refresh(token), mayRepeat: true)
    }

    private func exchange(
        _ grant: TokenGrant, mayRepeat: Bool
    ) async throws(ExchangeError) -> TokenResponse {
        let endpoints: Endpoints
        do throws(DiscoveryError) {
            endpoints = try await discovery.endpoints(for: settings.endpoints)
        } catch {
            throw .endpoint(error)
        }
        // Read for each request: secrets are rotated under running processes.
        var secret: SecretBytes?
        do throws(SecretError) {
            secret = try await settings.clientSecret?.read(in: surroundings)
        } catch {
            throw .clientSecret(error)
        }
        let request = TokenRequest(
            endpoint: endpoints.token, grant: grant,
            client: ClientAuthentication(
                clientID: settings.clientID, secret: secret, method: settings.clientAuthentication,
                supported: endpoints.authenticationMethods),
            extras: settings.tokenParameters)
        do throws(TokenFailure) {
            let answer = try await send(request.outbound, mayRepeat: mayRepeat)
            return try TokenResponse.read(
                answer, to: request, now: surroundings.time.wallTime())
        } catch {
            throw .token(error)
        }
    }

    private func send(
        _ request: OutboundRequest, mayRepeat: Bool
    ) async throws(TokenFailure) -> InboundResponse {
        do throws(FetchError) {
            return try await surroundings.fetcher.fetch(request)
        } catch {
            guard mayRepeat, error.mayHaveArrived, error != .cancelled else {
                throw TokenFailure(error)
            }
        }
        surroundings.log.warning("the answer to a refresh was lost, sending it once more")
        do throws(FetchError) {
            return try await surroundings.fetcher.fetch(request)
        } catch {
            throw TokenFailure(error)
        }
    }
}
