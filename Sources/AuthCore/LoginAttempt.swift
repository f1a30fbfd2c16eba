// One attempt at a login (RFC 6749 section 4.1 with RFC 7636 and RFC 8252): from the URL that a
// person opens to the record in the store. The code is redeemed once, whatever arrives how often.

import Bytes
import Diagnostics
import LoopbackServer
package import OAuth
import TokenStore
import Vocabulary

/// What happens on the way, for whoever shows it.
package enum LoginEvent: Sendable {
    /// Something came to the callback that is not this login's answer; the login goes on.
    case ignoredCallback(CallbackError)
    /// The browser spoke TLS to the callback: it, or something before it, insists on https.
    case callbackSpokeTLS
    /// The provider granted less than was asked for.
    case scopesMissing([String])
    /// The address is good for one use within so many seconds (RFC 9126 section 2.2).
    case addressExpires(seconds: Int64)
}

/// Waits from its start until it succeeds, fails, times out or is cancelled.
actor LoginAttempt: LoginUnderWay {
    typealias Outcome = Result<Login, LoginFailure>

    /// What a person opens; http or https, checked.
    struct Address: Sendable {
        let url: String
        /// A reference to a pushed request lapses; nil where nothing does.
        let until: BootTime?
    }

    /// The address at the start, and how long it is good for.
    nonisolated let url: String
    nonisolated let urlUntil: BootTime?
    nonisolated var device: DevicePrompt? { nil }

    private let id: CredentialID
    private let settings: OAuthSettings
    private let terms: Terms
    private let request: AuthorizationRequest
    private var address: Address
    private var pushing: Task<Address?, Never>?
    private let endpoint: TokenEndpoint
    private let surroundings: Surroundings
    private let listener: CallbackListener?
    private let onEvent: @Sendable (LoginEvent) -> Void

    /// What the provider gave, stored or not.
    private(set) var obtained: Login?
    private var usedCode: SecretBytes?
    private var exchange: Task<Outcome, Never>?
    private var timer: Task<Void, Never>?
    private var outcome: Outcome?
    private var waiting: [CheckedContinuation<Outcome, Never>] = []

    /// A day: no server keeps a pushed request for longer.
    private static let addressSecondsMax: Int64 = 86_400
    /// How long pages can still be reloaded after the end.
    private static let lingerMilliseconds: UInt64 = 10_000

    static func start(
        _ id: CredentialID, _ settings: OAuthSettings, _ terms: Terms, discovery: DiscoveryDesk,
        in surroundings: Surroundings,
        onEvent: @escaping @Sendable (LoginEvent) -> Void
    ) async throws(LoginFailure) -> LoginAttempt {
        await discovery.lookAgain(settings)
        let endpoints: Endpoints
        do throws(DiscoveryError) {
            endpoints = try await discovery.endpoints(of: settings)
        } catch {
            throw .discovery(error)
        }
        guard let authorization = endpoints.authorization else { throw .noAuthorizationEndpoint }
        if terms.authorization.requiresPKCEMetadata {
            let methods = endpoints.metadata?.codeChallengeMethods ?? []
            guard methods.contains(PKCE.method) else { throw .noPKCE }
        }
        var extras = terms.extras(try await extras(settings, surroundings))
        if settings.quirks.contains(.consentWithoutRefreshToken),
            !extras.contains(where: { $0.name == "prompt" }),
            !terms.mayKeepRefreshToken
        {
            extras.append(("prompt", "consent"))
        }
        let listener = try listen(settings, terms) { onEvent(.callbackSpokeTLS) }
        // A key for each login: what is granted is bound to it.
        let proofs = settings.requiresProof ? ProofSession(.fresh(), in: surroundings) : nil
        let endpoint = TokenEndpoint(
            id: id, settings: settings, discovery: discovery, surroundings: surroundings,
            proofs: proofs)
        do throws(LoginFailure) {
            var wish = AuthorizationRequest.Wish(
                endpoint: authorization, clientID: settings.clientID,
                redirectURI: redirectURI(settings, port: listener?.port), scopes: terms.scopes,
                extras: extras, issuer: endpoints.issuer,
                issuerIsPromised: endpoints.promisesIssuer)
            wish.resources = terms.authorization.resources
            wish.proofThumbprint = proofs?.key.thumbprint
            let request = try fresh(wish)
            var address = Address(url: request.url, until: nil)
            let isPushed =
                terms.authorization.isPushed
                || endpoints.metadata?.requiresPushedRequests ?? false
            if isPushed { address = try await push(request, endpoint) }
            let attempt = LoginAttempt(
                id, settings, terms, request, address, endpoint, listener, surroundings, onEvent)
            listener?.receive { query in await attempt.arrived(query) }
            await attempt.startTimer(terms.timeoutMilliseconds)
            return attempt
        } catch {
            await listener?.close()
            throw error
        }
    }

    private static func fresh(
        _ wish: AuthorizationRequest.Wish
    ) throws(LoginFailure) -> AuthorizationRequest {
        do throws(AuthorizationRequestError) {
            return try .fresh(wish)
        } catch {
            throw .request(error)
        }
    }

    private static func push(
        _ request: AuthorizationRequest, _ endpoint: TokenEndpoint
    ) async throws(LoginFailure) -> Address {
        do throws(ExchangeError) {
            let pushed = try await endpoint.push(request)
            let now = endpoint.surroundings.time.bootTime()
            let seconds = UInt64(clamping: min(pushed.expiresInSeconds, addressSecondsMax))
            return Address(
                url: request.pushed(as: pushed.requestURI).url,
                until: now.advanced(byMilliseconds: seconds * 1000))
        } catch {
            throw error.loginFailure
        }
    }

    private init(
        _ id: CredentialID, _ settings: OAuthSettings, _ terms: Terms,
        _ request: AuthorizationRequest, _ address: Address, _ endpoint: TokenEndpoint,
        _ listener: CallbackListener?, _ surroundings: Surroundings,
        _ onEvent: @escaping @Sendable (LoginEvent) -> Void
    ) {
        self.id = id
        self.settings = settings
        self.terms = terms
        self.request = request
        self.endpoint = endpoint
        self.listener = listener
        self.surroundings = surroundings
        self.onEvent = onEvent
        self.address = address
        url = address.url
        urlUntil = address.until
    }

    /// What the configuration adds to the URL. It goes through the browser, so nothing in it is a
    /// secret, wherever it was read from.
    private static func extras(
        _ settings: OAuthSettings, _ surroundings: Surroundings
    ) async throws(LoginFailure) -> [(name: String, value: String)] {
        do throws(SecretError) {
            return try await settings.read(additionsTo: .authorization, in: surroundings)
                .parameters.map { parameter in
                    (
                        parameter.name,
                        parameter.value.withBytes { String(decoding: $0, as: UTF8.self) }
                    )
                }
        } catch {
            throw .clientSecret(error)
        }
    }

    private static func listen(
        _ settings: OAuthSettings, _ terms: Terms, onTLS: @escaping @Sendable () -> Void
    ) throws(LoginFailure) -> CallbackListener? {
        do throws(ServerError) {
            return try CallbackListener(
                port: settings.callbackPort, path: settings.callbackPath, onTLS: onTLS)
        } catch {
            if settings.callbackPortIsPreferred {
                var settings = settings
                settings.callbackPort = nil
                settings.callbackPortIsPreferred = false
                return try listen(settings, terms, onTLS: onTLS)
            }
            guard terms.needsListener else { return nil }
            switch error {
            case .portInUse(let port): throw .portInUse(port)
            case .cannotListen(let code): throw .cannotListen(code: code)
            }
        }
    }

    /// RFC 8252 section 7.3. Without a listener any port will do: nobody is meant to answer there.
    private static func redirectURI(_ settings: OAuthSettings, port: UInt16?) -> String {
        let host = settings.callbackHost
        let literal = host.contains(":") && !host.hasPrefix("[") ? "[\(host)]" : host
        let port = port ?? settings.callbackPort ?? 49_152
        return "http://\(literal):\(port)\(settings.callbackPath)"
    }

    // MARK: Callers

    /// The login as it was stored, or why there is none.
    func result() async throws(LoginFailure) -> Login {
        if let outcome { return try outcome.get() }
        return try await withCheckedContinuation { waiting.append($0) }.get()
    }

    /// An address that can be opened now: a request whose reference has lapsed is pushed again. Where
    /// that fails the last one will have to do.
    func freshURL() async -> String {
        guard let until = address.until, until <= surroundings.time.bootTime() else {
            return address.url
        }
        let task =
            pushing
            ?? Task { [request, endpoint] in
                do throws(LoginFailure) {
                    return try await Self.push(request, endpoint)
                } catch {
                    return nil
                }
            }
        pushing = task
        if let fresh = await task.value { address = fresh }
        pushing = nil
        return address.url
    }

    /// Takes the URL that a person copied from the browser, with the same checks as the callback.
    /// An error that `endsLogin` is the outcome too; after any other, one may paste again.
    func paste(_ text: String) async throws(CallbackError) {
        do throws(CallbackError) {
            _ = try await redeem(try AuthorizationResponse.read(pasted: text, for: request))
        } catch {
            if error.endsLogin, exchange == nil { end(.failure(.callback(error))) }
            throw error
        }
    }

    func cancel() {
        end(.failure(.cancelled))
    }

    /// Waits until the port is free again.
    func close() async {
        cancel()
        await listener?.close()
    }

    // MARK: The answer

    private func arrived(_ query: String) async -> CallbackPage {
        do throws(CallbackError) {
            return switch try await redeem(read(query)) {
            case .success: .loggedIn(to: id.name, returningTo: terms.returnURL)
            case .failure(.cancelled), .failure(.timedOut): .over
            case .failure(.store(let error)) where terms.keepsUnwritten && obtained != nil:
                .loggedInUnwritten(to: id.name, error.message)
            case .failure(.foreignLogin(let foreign)):
                failedPage(foreign.message, command: foreign.command)
            case .failure(let failure): failedPage(failure.message)
            }
        } catch {
            if let outcome {
                // A page that is reloaded says the same again.
                guard case .failure(.callback(error)) = outcome else { return .over }
                return failedPage(error)
            }
            guard error.endsLogin, exchange == nil else {
                onEvent(.ignoredCallback(error))
                return .ignored(error.text)
            }
            end(.failure(.callback(error)))
            return failedPage(error)
        }
    }

    private func failedPage(_ error: CallbackError) -> CallbackPage {
        // Nothing of an answer whose sender is in doubt is shown (RFC 9207 section 2.4).
        if case .refused = error { return failedPage(error.text) }
        return failedPage("the answer did not come from the provider")
    }

    private func failedPage(_ reason: String, command: String? = nil) -> CallbackPage {
        .failed(
            reason, command: command ?? surroundings.loginCommand(id), backTo: terms.returnURL)
    }

    private func read(_ query: String) throws(CallbackError) -> AuthorizationResponse {
        // `withUnsafeBytes` of an array rethrows without a type.
        try Array(query.utf8).withUnsafeBytes { bytes in
            Result { () throws(CallbackError) in
                try AuthorizationResponse.read(query: bytes, for: request)
            }
        }.get()
    }

    /// The first code starts the exchange; the same one again, by a reload say, shares its end. Another
    /// code with the same state is nobody we know.
    private func redeem(_ response: AuthorizationResponse) async throws(CallbackError) -> Outcome {
        if let exchange {
            guard response.code == usedCode else { throw .stateMismatch }
            return await exchange.value
        }
        if let outcome { return outcome }
        usedCode = response.code
        // Not a child of the browser's connection: that may close while the code is redeemed.
        let task = Task.detached { await self.redeemOnce(response.code) }
        exchange = task
        let result = await task.value
        end(result)
        return result
    }

    private func redeemOnce(_ code: SecretBytes) async -> Outcome {
        do throws(LoginFailure) {
            let response: TokenResponse
            do throws(ExchangeError) {
                response = try await endpoint.redeem(code, for: request)
            } catch {
                throw error.loginFailure
            }
            let question = IdentityCheck.Question(
                issuer: request.issuer, nonce: request.nonce, code: code,
                wishes: terms.authorization)
            let acceptance = LoginAcceptance(
                id: id, settings: settings, terms: terms, question: question, endpoint: endpoint,
                onEvent: onEvent)
            let login = try await acceptance.take(response) { login in await self.note(login) }
            return .success(login)
        } catch {
            return .failure(error)
        }
    }

    private func note(_ login: Login) { obtained = login }

    // MARK: The end

    private func startTimer(_ milliseconds: UInt64) {
        let time = surroundings.time
        timer = Task { [weak self] in
            guard (try? await time.sleep(milliseconds: milliseconds)) != nil else { return }
            await self?.timeOut(seconds: Int(milliseconds / 1000))
        }
    }

    private func timeOut(seconds: Int) {
        // A code that is being redeemed has a time limit of its own.
        if exchange == nil { end(.failure(.timedOut(seconds: seconds))) }
    }

    /// The first end counts.
    private func end(_ result: Outcome) {
        guard outcome == nil else { return }
        outcome = result
        timer?.cancel()
        for continuation in waiting { continuation.resume(returning: result) }
        waiting = []
        guard let listener else { return }
        let hasVisitor =
            switch result {
            case .failure(.timedOut), .failure(.cancelled): false
            case .success, .failure: true
            }
        let time = surroundings.time
        Task {
            // A page that is reloaded says the same again.
            if hasVisitor { try? await time.sleep(milliseconds: Self.lingerMilliseconds) }
            await listener.close()
        }
    }
}

extension ExchangeError {
    var loginFailure: LoginFailure {
        switch self {
        case .endpoint(let error): .discovery(error)
        case .clientSecret(let error): .clientSecret(error)
        case .token(let failure): .token(failure)
        }
    }
}
