// From a token response that a person has consented to, to the login in the store: whose it is, what
// was granted, and that it replaces nobody else's. Every flow ends here.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

struct LoginAcceptance: Sendable {
    let id: CredentialID
    let settings: OAuthSettings
    let terms: LoginAttempt.Terms
    /// What the ID token, if any, must answer.
    let question: IdentityCheck.Question
    let endpoint: TokenEndpoint
    let onEvent: @Sendable (LoginEvent) -> Void

    private var surroundings: Surroundings { endpoint.surroundings }

    /// The login as it was stored.
    ///
    /// - Parameter noting: gets it before it is stored, which may fail.
    func take(
        _ response: TokenResponse, noting: @Sendable (Login) async -> Void
    ) async throws(LoginFailure) -> Login {
        let now = surroundings.time.wallTime()
        let identity = IdentityCheck(
            settings: settings, discovery: endpoint.discovery, surroundings: surroundings)
        let person = try await identity.admit(response, asked: question)
        if settings.quirks.contains(.atproto) {
            do throws(AccountError) {
                try await AccountCheck(surroundings: surroundings).verify(
                    response, from: question.issuer)
            } catch {
                throw .account(error)
            }
        }
        var login = Login(
            response, clientID: settings.clientID, issuer: question.issuer,
            requestedScopes: terms.scopes, at: now,
            fallbackLifetimeSeconds: settings.fallbackLifetimeSeconds)
        login.resource = settings.discoveredFor
        // Also where metadata say it: the same endpoint may be written by hand later.
        let endpoints = try? await endpoint.discovery.endpoints(of: settings)
        login.tokenEndpoint = settings.tokenEndpointByHand ?? endpoints?.token
        await login.bind(by: endpoint.proofs)
        login.loginHint = terms.keptHint
        let missing = login.missingScopes
        if !missing.isEmpty {
            if terms.authorization.isScopeStrict { throw .scopesRefused(missing) }
            onEvent(.scopesMissing(missing))
        }
        login.subject = person?.subject
        await noting(login)
        login = try await save(login)
        await ChallengeBook.clear(id, in: surroundings)
        return login
    }

    private func save(_ fresh: Login) async throws(LoginFailure) -> Login {
        let held: HeldLogin
        do throws(StoreError) {
            held = try await surroundings.store.lock(id)
        } catch {
            throw .store(error)
        }
        defer { held.release() }
        var login = fresh
        if let known = try? await held.load() {
            if !terms.switchesUser,
                let foreign = known.foreign(to: terms.configured, id, in: surroundings)
            {
                throw .foreignLogin(foreign)
            }
            if !terms.switchesUser, let other = known.otherPerson(in: login) {
                throw .otherPerson(known: other.known, received: other.received)
            }
            // Some providers give a refresh token only with the first consent. One that is bound to
            // a key is no use with another.
            if login.refreshToken == nil, login.dpopKey == nil, known.rejection == nil,
                known.belongs(to: terms.configured), known.isSamePerson(as: login)
            {
                login.refreshToken = known.refreshToken
            }
        }
        do throws(StoreError) {
            return try await held.save(login)
        } catch {
            throw .store(error)
        }
    }
}
