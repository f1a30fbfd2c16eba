// One exchange with a token endpoint: where it is, who we are, one request, what came of it. It
// keeps nothing, and repeats a request only where the answer names what was missing, or where a
// refresh's answer was lost; each reason counts once.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

/// Why an exchange gave no token.
enum ExchangeError: Error {
    case endpoint(DiscoveryError)
    /// The client's secret or key, or something that is added to its requests.
    case clientSecret(SecretError)
    case token(TokenFailure)
}

/// A client at its authorization server.
struct TokenEndpoint: Sendable {
    /// Whose requests these are.
    let id: CredentialID
    var settings: OAuthSettings
    let discovery: DiscoveryDesk
    let surroundings: Surroundings
    /// What its requests are proven with, where the configuration demands it.
    var proofs: ProofSession?

    /// For the client and server that the login belongs to. A refresh went by the same settings; should they be gone
    /// meanwhile, nothing that it brought is lost for that.
    func identityCheck(of login: Login) async -> IdentityCheck {
        IdentityCheck(
            settings: (try? await discovery.client(settings, continuing: login)) ?? settings,
            discovery: discovery, surroundings: surroundings)
    }

    /// Redeems a code. It is sent at most once (RFC 6749 section 4.1.2), unless the server says that
    /// it looked at the client's proof only.
    func redeem(
        _ code: SecretBytes, for request: AuthorizationRequest
    ) async throws(ExchangeError) -> TokenResponse {
        try await exchange(
            .authorizationCode(
                code, redirectURI: request.redirectURI, verifier: request.pkce.verifier))
    }

    /// Refreshes. Where the server may have acted and the answer was lost, the same token is sent
    /// once more: many servers tolerate that for some seconds, and waiting only loses them.
    ///
    /// - Parameter scopes: what to ask for; nil leaves it to the server. One that it calls invalid is
    ///   left out then.
    func refresh(
        _ token: SecretBytes, scopes: [String]? = nil
    ) async throws(ExchangeError) -> TokenResponse {
        try await exchange(.refresh(token, scopes: scopes), as: .refresh, repeatsLost: true)
    }

    /// Any other grant.
    func exchange(_ grant: TokenGrant) async throws(ExchangeError) -> TokenResponse {
        try await exchange(grant, as: .token)
    }

    /// What has been tried; each at most once.
    private struct Attempts {
        var grant: TokenGrant
        var challenge: String?
        var hasRepeated = false
        var hasAnswered = false
        var hasProvenAgain = false
        var hasMoved = false
    }

    private func exchange(
        _ grant: TokenGrant, as kind: RequestKind = .token, repeatsLost: Bool = false
    ) async throws(ExchangeError) -> TokenResponse {
        var endpoints: Endpoints
        do throws(DiscoveryError) {
            endpoints = try await discovery.endpoints(of: settings)
        } catch {
            throw .endpoint(error)
        }
        try await prime(grant, as: kind, at: endpoints)
        var attempts = Attempts(grant: grant)
        while true {
            let request = try await request(attempts, as: kind, at: endpoints)
            var answer: InboundResponse?
            let sent = surroundings.time.bootTime()
            do throws(TokenFailure) {
                let received = try await send(request)
                answer = received
                let response = try TokenResponse.read(
                    received, to: request, now: surroundings.time.wallTime())
                count(nil, since: sent)
                return response
            } catch {
                count(error, since: sent)
                if error.saysNothingIsThere, !attempts.hasMoved,
                    let others = await discovery.endpoints(of: settings, insteadOf: endpoints)
                {
                    surroundings.log.info(
                        "the provider's token endpoint has moved", ("to", .text(others.token)))
                    (endpoints, attempts.hasMoved) = (others, true)
                    continue
                }
                guard prepare(&attempts, after: error, answer, repeatsLost: repeatsLost) else {
                    throw .token(error)
                }
            }
        }
    }

    /// Made anew each time: no assertion, proof or secret is older than its request.
    private func request(
        _ attempts: Attempts, as kind: RequestKind, at endpoints: Endpoints
    ) async throws(ExchangeError) -> TokenRequest {
        let client = try await client(endpoints, to: endpoints.token)
        do throws(SecretError) {
            var additions = try await settings.read(
                additionsTo: kind, answering: attempts.challenge, in: surroundings)
            // Whom the token is for, said each time (RFC 8707 section 2.2).
            additions.parameters += settings.authorization.resources.map {
                FormParameter("resource", $0)
            }
            var request = TokenRequest(
                endpoint: endpoints.token, grant: attempts.grant, client: client,
                additions: additions, certificate: settings.clientCertificate,
                isBound: proofs != nil, quirks: settings.quirks)
            // A refresh without an ID token may be good for something else (OpenID Connect Core
            // section 12.2); whoever needs one looks.
            if settings.injected == .idToken {
                request.demand = kind == .refresh ? .either : .idToken
            }
            return request
        } catch {
            throw .clientSecret(error)
        }
    }

    /// Who we are, for one request to this one of the provider's endpoints.
    func client(
        _ endpoints: Endpoints, to url: String
    ) async throws(ExchangeError) -> ClientAuthentication {
        do throws(SecretError) {
            return try await ClientIdentity(settings: settings, surroundings: surroundings)
                .authentication(at: endpoints, to: url)
        } catch {
            throw .clientSecret(error)
        }
    }

    /// Makes sure that the server's nonce is fresh before anything is spent on it: some servers spend
    /// first and ask for the nonce then.
    private func prime(
        _ grant: TokenGrant, as kind: RequestKind, at endpoints: Endpoints
    ) async throws(ExchangeError) {
        guard let proofs, await proofs.needsPriming(for: endpoints.token) else { return }
        let request = try await request(Attempts(grant: grant.hollow), as: kind, at: endpoints)
        do throws(FetchError) {
            _ = try await proofs.send(request.outbound)
        } catch {
            throw .token(TokenFailure(error))
        }
    }

    private func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        guard let proofs else { return try await surroundings.fetcher.fetch(request) }
        return try await proofs.send(request)
    }

    private func send(_ request: TokenRequest) async throws(TokenFailure) -> InboundResponse {
        do throws(FetchError) {
            return try await fetch(request.outbound)
        } catch {
            throw TokenFailure(error)
        }
    }

    private func count(_ failure: TokenFailure?, since sent: BootTime) {
        let now = surroundings.time.bootTime()
        surroundings.tally.requestedToken(
            id, milliseconds: now.milliseconds - min(sent, now).milliseconds, failure)
    }

    /// Whether the request is worth one more attempt, which is changed as the failure asks for.
    private func prepare(
        _ attempts: inout Attempts, after failure: TokenFailure, _ answer: InboundResponse?,
        repeatsLost: Bool
    ) -> Bool {
        if case .fetch(let error) = failure.reason {
            guard repeatsLost, !attempts.hasRepeated, error.mayHaveArrived, error != .cancelled
            else { return false }
            attempts.hasRepeated = true
            surroundings.log.warning("the answer to a refresh was lost, sending it once more")
            return true
        }
        switch failure.verdict {
        case .dropScope:
            guard let grant = attempts.grant.withoutScope else { return false }
            attempts.grant = grant
            return true
        case .answerChallenge where failure.reason == .code(ProofNonce.errorCode):
            guard proofs != nil, !attempts.hasProvenAgain,
                answer.flatMap({ ProofNonce.value(in: $0) }) != nil
            else { return false }
            attempts.hasProvenAgain = true
            return true
        case .answerChallenge:
            guard !attempts.hasAnswered else { return false }
            let challenge = answer?.field(Self.challengeField).flatMap {
                $0.isVisibleASCII ? $0 : nil
            }
            switch failure.reason {
            case .code("use_attestation_challenge"):
                guard let challenge else { return false }
                attempts.challenge = challenge
            case .code("use_fresh_attestation"):
                // What programs make is fresh with each request.
                attempts.challenge = challenge ?? attempts.challenge
            default: return false
            }
            attempts.hasAnswered = true
            return true
        case .transient, .needsLogin, .misconfigured, .denied, .unfamiliar, .malformed:
            return false
        }
    }

    private static let challengeField = "OAuth-Client-Attestation-Challenge"
}

extension TokenFailure {
    /// Whether no token endpoint is where it was, so that nothing was spent there.
    fileprivate var saysNothingIsThere: Bool {
        if case .fetch(.nameNotResolved) = reason { return true }
        return [404, 405, 410].contains(status) || (300..<400).contains(status)
    }
}

extension String {
    /// Fit for a variable of a program's environment.
    fileprivate var isVisibleASCII: Bool {
        !isEmpty && utf8.count <= 4096 && utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
