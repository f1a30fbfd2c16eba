// A login on another device (RFC 8628): a code for a person, and polls until they have consented, said
// no, or let the code expire. A network that fails slows the polls down and ends nothing.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

/// Polls from its start until it succeeds, fails or is cancelled.
actor DeviceAttempt: LoginUnderWay {
    typealias Outcome = Result<Login, LoginFailure>

    nonisolated let url: String
    nonisolated let device: DevicePrompt?
    nonisolated var urlUntil: BootTime? { nil }

    private let code: SecretBytes
    private let acceptance: LoginAcceptance
    private let endpoint: TokenEndpoint
    private let surroundings: Surroundings

    /// What the provider gave, stored or not.
    private(set) var obtained: Login?
    private var outcome: Outcome?
    private var waiting: [CheckedContinuation<Outcome, Never>] = []
    private var poller: Task<Void, Never>?

    static func start(
        _ id: CredentialID, _ settings: OAuthSettings, _ terms: LoginAttempt.Terms,
        discovery: DiscoveryDesk, in surroundings: Surroundings,
        onEvent: @escaping @Sendable (LoginEvent) -> Void
    ) async throws(LoginFailure) -> DeviceAttempt {
        await discovery.lookAgain(settings)
        // A key for each login: what is granted is bound to it.
        let proofs = settings.requiresProof ? ProofSession(.fresh(), in: surroundings) : nil
        let endpoint = TokenEndpoint(
            id: id, settings: settings, discovery: discovery, surroundings: surroundings,
            proofs: proofs)
        let authorization: DeviceAuthorization
        let issuer: String?
        do throws(ExchangeError) {
            (authorization, issuer) = try await endpoint.authorizeDevice(scopes: terms.scopes)
        } catch {
            throw error.loginFailure
        }
        let acceptance = LoginAcceptance(
            id: id, settings: settings, terms: terms,
            question: IdentityCheck.Question(issuer: issuer), endpoint: endpoint, onEvent: onEvent)
        let attempt = DeviceAttempt(authorization, acceptance, endpoint, surroundings)
        await attempt.poll(
            DevicePolling(intervalSeconds: authorization.intervalSeconds),
            for: min(authorization.expiresInSeconds * 1000, terms.timeoutMilliseconds))
        return attempt
    }

    private init(
        _ authorization: DeviceAuthorization, _ acceptance: LoginAcceptance,
        _ endpoint: TokenEndpoint, _ surroundings: Surroundings
    ) {
        url = authorization.completeURI ?? authorization.verificationURI
        device = DevicePrompt(
            verificationURI: authorization.verificationURI, userCode: authorization.userCode,
            expiresInSeconds: authorization.expiresInSeconds)
        code = authorization.deviceCode
        self.acceptance = acceptance
        self.endpoint = endpoint
        self.surroundings = surroundings
    }

    // MARK: Callers

    func result() async throws(LoginFailure) -> Login {
        if let outcome { return try outcome.get() }
        return try await withCheckedContinuation { waiting.append($0) }.get()
    }

    func freshURL() async -> String { url }

    /// Nothing comes back to a browser in this flow.
    func paste(_ text: String) async throws(CallbackError) { throw .otherRedirect }

    func cancel() { end(.failure(.cancelled)) }

    func close() async {
        cancel()
        await poller?.value
    }

    // MARK: Polling

    private func poll(_ polling: DevicePolling, for milliseconds: UInt64) {
        let deadline = surroundings.time.bootTime().advanced(byMilliseconds: milliseconds)
        let time = surroundings.time
        // It keeps itself alive: a person may be at it when nobody here waits any more.
        poller = Task.detached {
            var polling = polling
            var wait = polling.first
            while await self.outcome == nil {
                let now = time.bootTime()
                let left = deadline.milliseconds - min(deadline.milliseconds, now.milliseconds)
                guard (try? await time.sleep(milliseconds: min(wait, left))) != nil else { return }
                guard wait < left else {
                    return await self.end(.failure(.deviceCodeExpired))
                }
                guard let next = await self.ask(&polling) else { return }
                wait = next
            }
        }
    }

    /// One poll: how long to wait for the next, nil at the end.
    private func ask(_ polling: inout DevicePolling) async -> UInt64? {
        guard outcome == nil else { return nil }
        let response: TokenResponse
        do throws(ExchangeError) {
            response = try await endpoint.exchange(.deviceCode(code))
        } catch {
            return step(after: error, &polling)
        }
        do throws(LoginFailure) {
            end(.success(try await acceptance.take(response) { login in await self.note(login) }))
        } catch {
            end(.failure(error))
        }
        return nil
    }

    private func note(_ login: Login) { obtained = login }

    private func step(after error: ExchangeError, _ polling: inout DevicePolling) -> UInt64? {
        let failure: TokenFailure
        switch error {
        case .token(let refusal): failure = refusal
        case .endpoint(.unreachable): failure = TokenFailure(.notHTTP)
        case .endpoint, .clientSecret:
            end(.failure(error.loginFailure))
            return nil
        }
        switch polling.step(after: failure) {
        case .wait(let milliseconds): return milliseconds
        case .expired: end(.failure(.deviceCodeExpired))
        case .end: end(.failure(.token(failure)))
        }
        return nil
    }

    /// The first end counts.
    private func end(_ result: Outcome) {
        guard outcome == nil else { return }
        outcome = result
        poller?.cancel()
        for continuation in waiting { continuation.resume(returning: result) }
        waiting = []
    }
}

extension TokenEndpoint {
    /// Asks for a code (RFC 8628 section 3.1). Nothing is spent by asking, so that a refused scope
    /// and a lost answer are the caller's to repeat.
    fileprivate func authorizeDevice(
        scopes: [String]
    ) async throws(ExchangeError) -> (DeviceAuthorization, issuer: String?) {
        let endpoints: Endpoints
        do throws(DiscoveryError) {
            endpoints = try await discovery.endpoints(of: settings)
        } catch {
            throw .endpoint(error)
        }
        guard let place = endpoints.deviceAuthorization else {
            throw .endpoint(
                .metadata(
                    MetadataProblem(
                        message: "the provider metadata has no device_authorization_endpoint")))
        }
        let client = try await client(endpoints, to: place)
        var additions: FormAdditions
        do throws(SecretError) {
            additions = try await settings.read(additionsTo: .device, in: surroundings)
        } catch {
            throw .clientSecret(error)
        }
        // Whom the token is for (RFC 8707 section 2).
        additions.parameters += settings.authorization.resources.map {
            FormParameter("resource", $0)
        }
        let request = DeviceAuthorization.request(
            endpoint: place, scopes: scopes, client: client, additions: additions)
        do throws(TokenFailure) {
            let answer: InboundResponse
            do throws(FetchError) {
                answer = try await surroundings.fetcher.fetch(
                    request.outbound(certificate: settings.clientCertificate))
            } catch {
                throw TokenFailure(error)
            }
            return (
                try DeviceAuthorization.read(
                    answer, to: request, quirks: settings.quirks,
                    now: surroundings.time.wallTime()), endpoints.issuer
            )
        } catch {
            throw .token(error)
        }
    }
}
