// Tokens that a client asks for without a person. What was got is kept in the store, so that another
// process or the next start need not ask, and asked for under the store's lock, so that several ask
// once. Nothing here can be lost: a token that is gone is asked for again.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

actor MachineSource: CredentialSource {
    private let id: CredentialID
    private let settings: OAuthSettings
    private let grant: any MachineGrant
    private let discovery: DiscoveryDesk
    private let surroundings: Surroundings
    private var store: FileLoginStore { surroundings.store }

    /// What we go by: for `purpose`, and on disk unless it could not be written.
    private var login: Login?
    private var isOnDisk = false
    /// What requests are proven with, where tokens are bound to a key (RFC 9449).
    private var proofs: ProofSession?
    /// What tokens are wanted for, as far as it is known.
    private var purpose: String?
    private var stamp: FileStamp?
    private var hasLooked = false
    /// When `login`'s token came to ourselves, by the clock that nobody sets.
    private var arrival: (token: SecretBytes, boot: BootTime)?
    /// Refusals that no table knows, in a row.
    private var unfamiliarCount = 0
    private var warned: Set<String> = []

    init(
        _ id: CredentialID, _ settings: OAuthSettings, _ grant: any MachineGrant,
        discovery: DiscoveryDesk, in surroundings: Surroundings
    ) {
        self.id = id
        self.settings = settings
        self.grant = grant
        self.discovery = discovery
        self.surroundings = surroundings
    }

    nonisolated var secretStamps: [FileStamp?] { settings.secretStamps }

    func accept(_ login: Login) async {}
    func finish() async {}

    // MARK: Looking

    func look() async -> Look {
        if let wanted = await grant.purpose(), wanted != purpose {
            purpose = wanted
            hasLooked = false
        }
        // Taken before reading, so that a change in between is seen next time.
        let stamp = await store.stamp(id)
        guard !hasLooked || stamp != self.stamp else { return .unchanged }
        do throws(StoreError) {
            let found = try await store.load(id)
            hasLooked = true
            self.stamp = stamp
            return adopt(found) ? .changed(supply) : .unchanged
        } catch {
            // Whatever is wrong with the store, a token can be asked for.
            warnOnce(error)
            return adopt(nil) ? .changed(supply) : .unchanged
        }
    }

    /// Takes over what the disk holds, where it is for our purpose.
    private func adopt(_ found: Login?) -> Bool {
        let known = login
        if let found, isForUs(found) {
            login = found
            isOnDisk = true
        } else if isOnDisk || !(login.map(isForUs) ?? true) {
            login = nil
            isOnDisk = false
        }
        return known?.accessToken != login?.accessToken
    }

    private func isForUs(_ login: Login) -> Bool {
        guard let purpose, login.accessToken != nil, login.bindingObstacle(settings) == nil else {
            return false
        }
        return login.purpose == purpose
    }

    private var supply: Supply { Supply(token: login.flatMap { token(of: $0) }, obstacle: nil) }

    private func token(of login: Login) -> Token? {
        if let arrival, arrival.token == login.accessToken {
            return login.token(
                wallMilliseconds: login.obtainedAt.milliseconds, boot: arrival.boot)
        }
        return login.token(
            wallMilliseconds: surroundings.time.wallMilliseconds(),
            boot: surroundings.time.bootTime())
    }

    // MARK: Renewing

    func renew(rejected: SecretBytes?, isUrgent: Bool) async throws(Lack) -> Supply {
        let endpoints: Endpoints
        do throws(DiscoveryError) {
            endpoints = try await discovery.endpoints(of: settings)
        } catch {
            throw error.lack
        }
        // Before the lock: a part may have to wait for a person.
        guard let request = try await grant.request(at: endpoints, after: nil) else {
            preconditionFailure("there is always a first request")
        }
        purpose = request.purpose
        let held = try await lock()
        defer { held?.release() }
        if let held, let found = try? await held.load(), isForUs(found),
            let token = token(of: found),
            token.sparesRenewal(
                rejected: rejected, isUrgent: isUrgent, at: surroundings.time.bootTime(),
                leadSeconds: settings.refreshLeadSeconds)
        {
            // Somebody else has just asked.
            _ = adopt(found)
            return supply
        }
        let (response, purpose) = try await ask(request, at: endpoints)
        await keep(response, for: purpose, from: endpoints.issuer, under: held)
        return supply
    }

    /// Nil where nothing can be locked: then everybody asks for themselves.
    private func lock() async throws(Lack) -> HeldLogin? {
        do throws(StoreError) {
            return try await store.lock(id)
        } catch {
            warnOnce(error)
            if case .busy = error {
                throw .transient(retryAfterSeconds: nil, reason: error.message)
            }
            return nil
        }
    }

    private func ask(
        _ first: MachineRequest, at endpoints: Endpoints
    ) async throws(Lack) -> (TokenResponse, purpose: String) {
        let endpoint = TokenEndpoint(
            id: id, settings: settings, discovery: discovery, surroundings: surroundings,
            proofs: await session())
        var request = first
        while true {
            do throws(ExchangeError) {
                let response = try await endpoint.exchange(request.grant)
                do throws(TokenFailure) {
                    try grant.check(response)
                } catch {
                    throw .token(error)
                }
                return (response, request.purpose)
            } catch {
                // What went into it was taken back since: once more with newer parts.
                guard request.parts == first.parts, error.mayMeanTheSubject,
                    let next = try await grant.request(at: endpoints, after: request)
                else { throw lack(error) }
                request = next
                purpose = next.purpose
            }
        }
    }

    /// With the key of the last token, which the next start finds in the store; else with a new one.
    private func session() async -> ProofSession? {
        guard settings.requiresProof else { return nil }
        if let login { proofs = await ProofSession.continuing(login, proofs, in: surroundings) }
        let session = proofs ?? ProofSession(.fresh(), in: surroundings)
        proofs = session
        return session
    }

    /// No refusal ends anything here: there is nothing that a person could consent to again.
    private func lack(_ error: ExchangeError) -> Lack {
        switch error {
        case .endpoint(let error): return error.lack
        case .clientSecret(let error): return error.lack
        case .token(let failure):
            if failure.verdict != .unfamiliar { unfamiliarCount = 0 }
            let reason = failure.description
            switch failure.verdict {
            case .transient(let seconds):
                return .transient(retryAfterSeconds: seconds, reason: reason)
            case .malformed: return .transient(retryAfterSeconds: nil, reason: reason)
            case .needsLogin, .misconfigured, .dropScope, .answerChallenge, .denied:
                return .misconfigured(reason: reason)
            case .unfamiliar:
                unfamiliarCount += 1
                return unfamiliarCount < TokenFailure.unfamiliarMax
                    ? .transient(retryAfterSeconds: nil, reason: reason)
                    : .misconfigured(reason: reason)
            }
        }
    }

    // MARK: Keeping

    private func keep(
        _ response: TokenResponse, for purpose: String, from issuer: String?,
        under held: HeldLogin?
    ) async {
        unfamiliarCount = 0
        let boot = surroundings.time.bootTime()
        var fresh = Login(
            response, clientID: settings.clientID, issuer: issuer,
            requestedScopes: settings.scopes, at: surroundings.time.wallTime(),
            fallbackLifetimeSeconds: settings.fallbackLifetimeSeconds)
        fresh.purpose = purpose
        // The grant itself is the way to the next token (RFC 6749 section 4.4.3).
        fresh.refreshToken = nil
        await fresh.bind(by: proofs)
        if let token = fresh.accessToken { arrival = (token, boot) }
        login = fresh
        isOnDisk = false
        guard let held else { return }
        if let found = (try? await held.load()) ?? nil,
            let foreign = found.foreign(to: settings, id, in: surroundings)
        {
            // A person's login is not to be had again; this token is.
            return warnOnce("\(foreign.message); \(foreign.advice)")
        }
        do throws(StoreError) {
            try await held.save(fresh)
            isOnDisk = true
            hasLooked = true
            stamp = await store.stamp(id)
        } catch {
            warnOnce(error)
        }
    }

    private func warnOnce(_ error: StoreError) { warnOnce(error.reason) }

    private func warnOnce(_ reason: String) {
        guard warned.insert(reason).inserted else { return }
        surroundings.log.warning(
            "the login store has a problem", ("credential", .text(id.name)),
            ("reason", .text(reason)))
    }
}

extension ExchangeError {
    /// Servers call a subject or actor token that they do not take an invalid request (RFC 8693
    /// section 2.2.2), and some an invalid grant or token.
    fileprivate var mayMeanTheSubject: Bool {
        guard case .token(let failure) = self, case .code(let code) = failure.reason else {
            return false
        }
        return ["invalid_request", "invalid_grant", "invalid_token"].contains(code)
    }
}

extension OAuthSettings {
    /// Nil where a person has to take part.
    func machineGrant(
        roster: KeeperRoster, in surroundings: Surroundings
    ) -> (any MachineGrant)? {
        switch grant {
        case .authorizationCode, .deviceCode: nil
        case .clientCredentials: ClientCredentialsGrant(settings: self)
        case .jwtBearer(let assertion): AssertionGrant(self, assertion, in: surroundings)
        case .tokenExchange(let exchange):
            ExchangeGrant(self, exchange, roster: roster, in: surroundings)
        }
    }
}
