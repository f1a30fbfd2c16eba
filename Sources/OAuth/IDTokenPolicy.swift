// What an ID token must be (OpenID Connect Core sections 3.1.3.7 and 12.2; RFC 8485; RFC 8725): one
// list of checks, run in order, the first failure thrown. Whoever calls says what was asked for; which
// checks there are, nobody can say but a test.

package import Bytes
package import Crypto
package import Vocabulary

/// One thing that is looked at. The numbers are of OpenID Connect Core section 3.1.3.7.
package enum IDTokenCheck: CaseIterable, Sendable {
    /// 2: comes first, since what is wrong with another provider's token helps nobody.
    case issuer
    /// RFC 8725 section 3.2: `alg` is not "none".
    case signed
    /// 7: `alg` is on the list.
    case algorithm
    /// RFC 7515 section 4.1.11: nothing here understands any critical header.
    case criticalHeader
    /// RFC 8725 section 3.11.
    case type
    /// The key that it names is the provider's, for signatures, and for that algorithm.
    case key
    /// 6.
    case signature
    /// 3, that we are among them.
    case audience
    /// 3, that nobody else is whom we do not trust.
    case furtherAudiences
    /// 4 and 5.
    case authorizedParty
    /// 9.
    case expiry
    /// RFC 7519 section 4.1.5.
    case notBefore
    /// 10.
    case issuedAt
    /// 11.
    case nonce
    /// Section 3.1.3.8, where the claim is there.
    case accessTokenHash
    /// Section 3.3.2.11, where the claim is there.
    case codeHash
    /// 13.
    case authenticationTime
    /// 12.
    case contextClass
    /// RFC 8485 section 4.
    case vectorOfTrust
    /// Section 12.2, all four.
    case sameIssuer
    case sameSubject
    case sameNonce
    case sameAuthenticationTime
}

/// What one login, or one refresh, expects.
package struct IDTokenPolicy: Sendable {
    package enum Keys: Sendable {
        case set(JSONWebKeySet)
        /// They could not be had: TLS stands in for the signature (section 3.1.3.7, 6).
        case unavailable
    }

    /// Every algorithm that a provider can sign with; never one with a shared secret.
    package static let algorithms = Set(JWSAlgorithm.allCases.filter(\.isAsymmetric))

    /// Nil where the endpoints were given by hand and none is known.
    package var issuer: String?
    package var clientID: String
    package var keys: Keys
    package var algorithms = IDTokenPolicy.algorithms
    /// Besides our own.
    package var trustedAudiences: [String] = []
    /// How far the provider's clock may be behind ours when a token expires.
    package var skewSeconds: Int64 = 60
    /// How far from now, in either direction, a fresh token may have been issued; nil does not ask,
    /// as on a refresh.
    package var issuedAtWindowSeconds: Int64? = 600
    /// What the authorization request said; nil where there was none.
    package var nonce: String?
    package var accessToken: SecretBytes?
    package var code: SecretBytes?
    package var maxAgeSeconds: Int64?
    /// `acr_values`; empty where none were asked for.
    package var contextClasses: [String] = []
    /// `vtr`; empty where none were asked for.
    package var vectorsOfTrust: [String] = []
    /// The token of the login that is refreshed.
    package var earlier: IDToken?
    /// For tests, which prove that each is needed.
    var checks = Set(IDTokenCheck.allCases)

    package init(issuer: String?, clientID: String, keys: Keys) {
        self.issuer = issuer
        self.clientID = clientID
        self.keys = keys
    }

    /// Algorithms by their names; none given leaves all.
    package mutating func allowOnly(_ names: [String]) {
        guard !names.isEmpty else { return }
        algorithms = algorithms.filter { names.contains($0.rawValue) }
    }
}

extension IDToken {
    /// Returns when the token is what the policy wants.
    package func validate(_ policy: IDTokenPolicy, now: WallTime) throws(IDTokenError) {
        for check in IDTokenCheck.allCases where policy.checks.contains(check) {
            try apply(check, policy, now)
        }
    }

    private func apply(
        _ check: IDTokenCheck, _ policy: IDTokenPolicy, _ now: WallTime
    ) throws(IDTokenError) {
        switch check {
        case .issuer:
            if let expected = policy.issuer, !issuer.isIdentical(to: expected) {
                throw .otherIssuer(expected: expected, received: DisplayText.clean(issuer))
            }
        case .signed: if isUnsigned { throw .unsigned }
        case .algorithm: try checkAlgorithm(policy)
        case .criticalHeader: if token.header["crit"] != nil { throw .criticalHeader }
        case .type: try checkType()
        case .key: try checkKey(policy)
        case .signature: try checkSignature(policy)
        case .audience:
            guard let audiences else { throw .missing(claim: "aud") }
            guard audiences.contains(where: { $0.isIdentical(to: policy.clientID) }) else {
                throw .otherAudience
            }
        case .furtherAudiences: try checkFurtherAudiences(policy)
        case .authorizedParty:
            if let party = claims["azp"], party.asString?.isIdentical(to: policy.clientID) != true {
                throw .otherAuthorizedParty
            }
        case .expiry:
            guard let ago = secondsSince("exp", now: now) else { throw .missing(claim: "exp") }
            guard ago < policy.skewSeconds else { throw .expired(secondsAgo: ago) }
        case .notBefore: try checkNotBefore(policy, now)
        case .issuedAt: try checkIssuedAt(policy, now)
        case .nonce:
            guard let nonce = policy.nonce else { return }
            guard let received = claims["nonce"]?.asSecret, received == SecretBytes(nonce) else {
                throw .nonceMismatch
            }
        case .accessTokenHash: try checkHash("at_hash", of: policy.accessToken)
        case .codeHash: try checkHash("c_hash", of: policy.code)
        case .authenticationTime: try checkAuthenticationTime(policy, now)
        case .contextClass:
            let name = claims["acr"]?.asString
            guard !policy.contextClasses.isEmpty else { return }
            guard let name, policy.contextClasses.contains(where: { $0.isIdentical(to: name) })
            else { throw .otherContextClass(name.map { DisplayText.clean($0, lettersMax: 64) }) }
        case .vectorOfTrust: try checkVectorOfTrust(policy)
        case .sameIssuer:
            if let earlier = policy.earlier, !issuer.isIdentical(to: earlier.issuer) {
                throw .issuerChanged
            }
        case .sameSubject:
            if let earlier = policy.earlier, !subject.isIdentical(to: earlier.subject) {
                throw .subjectChanged
            }
        case .sameNonce: try checkUnchanged("nonce", policy)
        case .sameAuthenticationTime: try checkUnchanged("auth_time", policy)
        }
    }

    // MARK: The signature

    private var isUnsigned: Bool { token.algorithmName == "none" }

    private func checkAlgorithm(_ policy: IDTokenPolicy) throws(IDTokenError) {
        guard !isUnsigned else { return }
        guard let algorithm = token.algorithm, policy.algorithms.contains(algorithm) else {
            let name = token.algorithmName ?? ""
            throw .algorithmNotAllowed(DisplayText.clean(name, lettersMax: 32))
        }
    }

    /// Tokens that are explicitly something else: an access token, a logout token, a proof.
    private func checkType() throws(IDTokenError) {
        guard let type = token.header["typ"] else { return }
        let name = type.asString?.lowercased()
        guard let name, !name.hasSuffix("+jwt") || name == "id_token+jwt" else {
            throw .otherType(DisplayText.clean(name ?? "", lettersMax: 32))
        }
    }

    private func checkKey(_ policy: IDTokenPolicy) throws(IDTokenError) {
        guard !isUnsigned, case .set(let keys) = policy.keys else { return }
        guard keys.mayVerify(token) else { throw .unknownKey }
    }

    /// With every key of that name, whatever it is meant for: that is the check before.
    private func checkSignature(_ policy: IDTokenPolicy) throws(IDTokenError) {
        guard !isUnsigned, case .set(let keys) = policy.keys else { return }
        guard let algorithm = token.algorithm,
            keys.candidates(for: token).contains(where: { key in
                token.isSigned(by: key.material, as: algorithm)
            })
        else { throw .badSignature }
    }

    // MARK: Claims

    private func checkFurtherAudiences(_ policy: IDTokenPolicy) throws(IDTokenError) {
        for audience in audiences ?? [] where !audience.isIdentical(to: policy.clientID) {
            guard policy.trustedAudiences.contains(where: { $0.isIdentical(to: audience) }) else {
                throw .untrustedAudience(DisplayText.clean(audience, lettersMax: 128))
            }
        }
        // One that is no text is nobody that we know.
        if case .array(let values) = claims["aud"], values.count != audiences?.count {
            throw .untrustedAudience("")
        }
    }

    /// Providers write the same time into `nbf` and `iat`, so both may be as far off.
    private func checkNotBefore(
        _ policy: IDTokenPolicy, _ now: WallTime
    ) throws(IDTokenError) {
        guard let ago = secondsSince("nbf", now: now) else { return }
        guard ago >= -max(policy.skewSeconds, policy.issuedAtWindowSeconds ?? 0) else {
            throw .notYetValid(secondsAhead: ago == .min ? .max : -ago)
        }
    }

    private func checkIssuedAt(_ policy: IDTokenPolicy, _ now: WallTime) throws(IDTokenError) {
        guard let ago = secondsSince("iat", now: now) else { throw .missing(claim: "iat") }
        guard let window = policy.issuedAtWindowSeconds else { return }
        guard ago >= -window, ago <= window else {
            throw .issuedAtOutsideWindow(secondsAgo: ago)
        }
    }

    /// The left half of a digest (section 3.1.3.6), by the algorithm of the signature.
    private func checkHash(_ claim: String, of value: SecretBytes?) throws(IDTokenError) {
        guard let value, let received = claims[claim], let algorithm = token.algorithm else {
            return
        }
        let digest = value.withBytes { Digest.make(algorithm.digest, of: $0) }
        let expected = Base64.encode(Array(digest[..<(digest.count / 2)]), .url)
        guard received.asSecret == SecretBytes(expected) else {
            throw .hashMismatch(claim: claim)
        }
    }

    private func checkAuthenticationTime(
        _ policy: IDTokenPolicy, _ now: WallTime
    ) throws(IDTokenError) {
        guard let maxAge = policy.maxAgeSeconds else { return }
        guard let ago = secondsSince("auth_time", now: now) else {
            throw .missing(claim: "auth_time")
        }
        let (limit, overflow) = maxAge.addingReportingOverflow(policy.skewSeconds)
        guard ago <= (overflow ? .max : limit) else { throw .authenticationTooOld(secondsAgo: ago) }
    }

    /// Every component of one of the vectors that were asked for, in whatever order (RFC 8485 section
    /// 3.1); a stronger answer is good as well.
    private func checkVectorOfTrust(_ policy: IDTokenPolicy) throws(IDTokenError) {
        guard !policy.vectorsOfTrust.isEmpty else { return }
        let name = claims["vot"]?.asString
        func components(_ vector: String) -> Set<Substring> { Set(vector.split(separator: ".")) }
        guard let name,
            policy.vectorsOfTrust.contains(where: { components($0).isSubset(of: components(name)) })
        else { throw .otherVectorOfTrust(name.map { DisplayText.clean($0, lettersMax: 64) }) }
    }

    private func checkUnchanged(
        _ claim: String, _ policy: IDTokenPolicy
    ) throws(IDTokenError) {
        guard let before = policy.earlier?.claims[claim], let now = claims[claim] else { return }
        guard before == now else { throw .changed(claim: claim) }
    }
}
