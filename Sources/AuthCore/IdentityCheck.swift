// Whom a login is of. At a login an ID token is believed whole or the login fails; at a refresh it is
// believed or left out, and only another person's or server's ends the login. Which checks there are
// is IDTokenPolicy's business; this knows what was asked for.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

/// One client's, at one provider.
struct IdentityCheck: Sendable {
    /// Whole: with a client's name and a server.
    let settings: OAuthSettings
    let discovery: DiscoveryDesk
    let surroundings: Surroundings

    /// What came of the ID token of a refresh.
    enum Verdict: Sendable {
        /// There was none; the earlier one stays.
        case absent
        /// Keys must be fetched first: whoever holds something that must not be lost saves it now.
        case undecided
        case accepted(IDToken)
        /// It is not kept. Whether the login is still good, `isOfAnotherPerson` says.
        case refused(IDTokenError)
    }

    // MARK: Logins

    /// What a login asked for, which its ID token must answer.
    struct Question: Sendable {
        /// Whom it was sent to.
        var issuer: String?
        /// Nil in flows that have no request which could carry one.
        var nonce: String?
        var code: SecretBytes?
        var wishes = AuthorizationSettings()
    }

    /// The ID token of a login, believed; nil where the answer has none.
    ///
    /// Keys that cannot be had fail the login: nothing is lost yet, and one may try again. Where the
    /// provider names no keys at all, TLS to the token endpoint stands in for the signature (OpenID
    /// Connect Core section 3.1.3.7, 6).
    func admit(
        _ response: TokenResponse, asked: Question
    ) async throws(LoginFailure) -> IDToken? {
        guard let bytes = response.idToken else { return nil }
        let token: IDToken
        do throws(IDTokenError) { token = try IDToken(bytes) } catch { throw .idToken(error) }
        var policy = policy(
            issuer: expected(asked.issuer, by: token), keys: try await keysForLogin(of: token))
        policy.issuedAtWindowSeconds = settings.identity.issuedAtWindowSeconds
        policy.nonce = asked.nonce
        policy.accessToken = response.accessToken
        policy.code = asked.code
        policy.maxAgeSeconds = asked.wishes.maxAgeSeconds
        policy.contextClasses = asked.wishes.contextClasses
        policy.vectorsOfTrust = asked.wishes.vectorsOfTrust
        do throws(IDTokenError) {
            try token.validate(policy, now: surroundings.time.wallTime())
        } catch {
            throw .idToken(error)
        }
        return token
    }

    private func keysForLogin(of token: IDToken) async throws(LoginFailure) -> IDTokenPolicy.Keys {
        do throws(IdentityError) {
            return try await keys { token.isVerified(by: $0) }
        } catch {
            switch error {
            case .discovery(let error): throw .discovery(error)
            case .keys(let error): throw .keys(error)
            }
        }
    }

    // MARK: Refreshes

    /// OpenID Connect Core section 12.2. Of time only the expiry is looked at. Keys that cannot be
    /// had stop nothing: the answer came from the same endpoint, over TLS, as at the login.
    ///
    /// - Parameter mayFetch: without it, nobody is asked.
    func judge(
        _ response: TokenResponse, continuing login: Login, mayFetch: Bool
    ) async -> Verdict {
        guard let bytes = response.idToken else { return .absent }
        let token: IDToken
        do throws(IDTokenError) { token = try IDToken(bytes) } catch { return .refused(error) }
        let earlier = login.idToken.flatMap { try? IDToken($0) }
        if let error = difference(token, login, earlier) { return .refused(error) }
        let keys: IDTokenPolicy.Keys
        if mayFetch {
            keys = (try? await self.keys { token.isVerified(by: $0) }) ?? .unavailable
        } else if let known = await knownKeys(verifying: token) {
            keys = known
        } else {
            return .undecided
        }
        var policy = policy(issuer: expected(login.issuer, by: token), keys: keys)
        policy.clientID = login.clientID
        policy.issuedAtWindowSeconds = nil
        policy.accessToken = response.accessToken
        policy.earlier = earlier
        do throws(IDTokenError) {
            try token.validate(policy, now: surroundings.time.wallTime())
            return .accepted(token)
        } catch {
            return .refused(error)
        }
    }

    /// Keys that need no request; nil where only a request can tell.
    private func knownKeys(verifying token: IDToken) async -> IDTokenPolicy.Keys? {
        do throws(DiscoveryError) {
            guard let url = try await discovery.url(of: .keys, for: settings) else {
                return .unavailable
            }
            return await discovery.keys.known(at: url) { token.isVerified(by: $0) }
                .map { .set($0) }
        } catch {
            return nil
        }
    }

    /// Looked at before all else: what comes with another person's token is not ours to use, signed
    /// well or not.
    private func difference(
        _ token: IDToken, _ login: Login, _ earlier: IDToken?
    ) -> IDTokenError? {
        if let earlier {
            guard token.issuer.isIdentical(to: earlier.issuer) else { return .issuerChanged }
            guard token.subject.isIdentical(to: earlier.subject) else { return .subjectChanged }
        }
        if let subject = login.subject, !token.subject.isIdentical(to: subject) {
            return .subjectChanged
        }
        return nil
    }

    // MARK: Policy and keys

    /// A server that an upstream named, not the configuration, leads to no address inside.
    var reach: OutboundRequest.Reach {
        settings.discoveredFor.map(DiscoveryDesk.reach) ?? .anywhere
    }

    /// The issuer, its tenant filled in where the provider writes a template: the token names it, and
    /// the signature says that the provider wrote the token.
    func expected(_ issuer: String?, by token: IDToken) -> String? {
        guard settings.quirks.contains(.issuerTemplate), let issuer,
            let tenant = token.claims["tid"]?.asString
        else { return issuer }
        return IssuerDifference.filled(issuer, tenant: tenant) ?? issuer
    }

    func policy(issuer: String?, keys: IDTokenPolicy.Keys) -> IDTokenPolicy {
        var policy = IDTokenPolicy(issuer: issuer, clientID: settings.clientID, keys: keys)
        policy.allowOnly(settings.identity.algorithms)
        policy.trustedAudiences = settings.identity.trustedAudiences
        policy.skewSeconds = settings.identity.skewSeconds
        return policy
    }

    /// The provider's keys; `.unavailable` where it names none.
    func keys(
        sufficing suffices: @Sendable (JSONWebKeySet) -> Bool
    ) async throws(IdentityError) -> IDTokenPolicy.Keys {
        let url: String?
        do throws(DiscoveryError) {
            url = try await discovery.url(of: .keys, for: settings)
        } catch {
            throw .discovery(error)
        }
        guard let url else {
            surroundings.log.warning(
                "no jwks_uri is known, so the signature of ID tokens is not checked",
                ("client", .text(settings.clientID)))
            return .unavailable
        }
        do throws(KeysError) {
            return .set(
                try await discovery.keys.keys(at: url, reach: reach, suffices: suffices))
        } catch {
            throw .keys(error)
        }
    }
}

/// Why a provider's keys are not to be had.
enum IdentityError: Error {
    case discovery(DiscoveryError)
    case keys(KeysError)
}
