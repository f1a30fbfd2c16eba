// Who is logged in, for a person who asks: what the ID token says, checked once more, and what the
// provider's userinfo says now. It changes nothing and keeps nothing.

package import Bytes
package import OAuth
import TokenStore
package import Vocabulary

/// What is known of a login's person.
package struct Identity: Sendable {
    /// As the provider names the person; nil where neither of the two told.
    package var subject: String?
    package var issuer: String?
    /// Of the ID token; nil without one.
    package var claims: JSONObject?
    /// What is wrong with the ID token, its age aside; nil where nothing is.
    package var flaw: String?
    /// Whether a published key made the ID token's signature.
    package var isVerified = false
    package var expiresAt: WallTime?
    /// Nil where the provider has no such endpoint.
    package var userInfo: UserInfo?
}

/// Why there is none to show.
package enum WhoamiFailure: Error, Sendable {
    /// No OAuth client.
    case noLogin
    case store(StoreFailure)
    case discovery(DiscoveryError)
    case unreachable(url: String, reason: String)
    case userInfo(UserInfoError)
    /// Neither an ID token nor userinfo.
    ///
    /// - Parameter hint: what may bring one.
    case nothingKnown(hint: String?)

    package struct StoreFailure: Sendable {
        package let message: String
        package let hint: String?
    }
}

extension WhoamiFailure {
    /// One line without a full stop.
    package var message: String {
        switch self {
        case .noLogin: "this credential is no login, so it is nobody's"
        case .store(let failure): failure.message
        case .discovery(let error): error.message
        case .unreachable(let url, let reason): "\(url) gives no answer: \(reason)"
        case .userInfo(let error): error.text
        case .nothingKnown:
            "the provider told nothing of the person: there is no ID token and no userinfo_endpoint"
        }
    }

    package var hint: String? {
        switch self {
        case .store(let failure): failure.hint
        case .nothingKnown(let hint): hint
        case .noLogin, .discovery, .unreachable, .userInfo: nil
        }
    }
}

/// Asks for one process.
package struct IdentityDesk: Sendable {
    private let discovery: DiscoveryDesk
    private let surroundings: Surroundings

    package init(discovery: DiscoveryDesk, in surroundings: Surroundings) {
        self.discovery = discovery
        self.surroundings = surroundings
    }

    /// - Parameter credential: the token that requests carry now; refreshed before, where that was
    ///   due.
    package func identity(
        of settings: CredentialSettings, credential: SecretBytes
    ) async throws(WhoamiFailure) -> Identity {
        guard case .oauth(let configured) = settings.kind else { throw .noLogin }
        let login: Login?
        do throws(StoreError) {
            login = try await surroundings.store.load(settings.id)
        } catch {
            throw .store(.init(message: error.message, hint: error.hint))
        }
        var whole = configured
        do throws(DiscoveryError) {
            if let login { whole = try await discovery.client(configured, continuing: login) }
        } catch {
            throw .discovery(error)
        }
        let check = IdentityCheck(
            settings: whole, discovery: discovery, surroundings: surroundings)
        var identity = await Self.identity(in: login, check, now: surroundings.time.wallTime())
        let accessToken = configured.injected == .accessToken ? credential : login?.accessToken
        if let accessToken {
            identity.userInfo = try await userInfo(identity, accessToken, login, check)
        }
        if identity.subject == nil {
            identity.subject = identity.userInfo?.claims["sub"]?.asString
        }
        guard identity.claims != nil || identity.userInfo != nil else {
            throw .nothingKnown(hint: Self.hint(configured, login))
        }
        return identity
    }

    /// OpenID Connect Core section 3.1.2.1: who asks for `openid` gets an ID token.
    private static func hint(_ settings: OAuthSettings, _ login: Login?) -> String? {
        guard settings.scopes.contains("openid") else {
            return "add \"openid\" to the scopes, and log in again"
        }
        let asked = (login?.requestedScope ?? "").split(separator: " ")
        return asked.contains("openid")
            ? nil : "log in again: this login was not asked for \"openid\""
    }

    /// What the store knows.
    private static func identity(
        in login: Login?, _ check: IdentityCheck, now: WallTime
    ) async -> Identity {
        var identity = Identity()
        identity.issuer = login?.issuer
        identity.subject = login?.subject
        guard let login, let token = login.idToken.flatMap({ try? IDToken($0) }) else {
            return identity
        }
        identity.claims = token.claims
        identity.issuer = token.issuer
        identity.subject = identity.subject ?? token.subject
        identity.expiresAt = token.expiry
        let keys = (try? await check.keys { token.isVerified(by: $0) }) ?? .unavailable
        var policy = check.policy(issuer: check.expected(login.issuer, by: token), keys: keys)
        policy.clientID = login.clientID
        policy.issuedAtWindowSeconds = nil
        // It was good when it came; how old it is, `expiresAt` says.
        policy.skewSeconds = .max
        do throws(IDTokenError) {
            try token.validate(policy, now: now)
            if case .set = keys { identity.isVerified = true }
        } catch {
            identity.flaw = error.text
        }
        return identity
    }

    /// OpenID Connect Core section 5.3; nil where the provider has no such endpoint.
    private func userInfo(
        _ identity: Identity, _ accessToken: SecretBytes, _ login: Login?,
        _ check: IdentityCheck
    ) async throws(WhoamiFailure) -> UserInfo? {
        let url: String?
        do throws(DiscoveryError) {
            url = try await discovery.url(of: .userInfo, for: check.settings)
        } catch {
            throw .discovery(error)
        }
        guard let url else { return nil }
        let response: InboundResponse
        do throws(FetchError) {
            response = try await ask(url, accessToken, login, check)
        } catch {
            throw .unreachable(url: url, reason: error.words)
        }
        var keys = IDTokenPolicy.Keys.unavailable
        if UserInfo.isToken(response) {
            let body = response.body
            keys = (try? await check.keys { UserInfo.isVerified(body, by: $0) }) ?? .unavailable
        }
        do throws(UserInfoError) {
            return try UserInfo.read(
                response, subject: identity.subject,
                policy: check.policy(issuer: identity.issuer, keys: keys))
        } catch {
            throw .userInfo(error)
        }
    }

    /// With a proof where the token is bound to a key (RFC 9449 section 7.1).
    private func ask(
        _ url: String, _ accessToken: SecretBytes, _ login: Login?, _ check: IdentityCheck
    ) async throws(FetchError) -> InboundResponse {
        let proofKey = login?.dpopKey.flatMap { ProofKey(stored: $0) }
        var request = UserInfo.request(
            url, accessToken: accessToken, scheme: proofKey == nil ? "Bearer" : "DPoP")
        request.reach = check.reach
        guard let login, let proofKey else {
            return try await surroundings.fetcher.fetch(request)
        }
        return try await ProofSession(
            proofKey, nonces: ServerNonces(login.dpopNonces), in: surroundings
        ).fetch(request, accessToken: accessToken)
    }
}
