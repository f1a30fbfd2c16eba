// The claims of an ID token and what they must say (OpenID Connect Core sections 3.1.3.7 and 12.2).
// The token came from the token endpoint over TLS, which may stand in for the signature; this room
// checks no signature here.

package import Bytes
package import Vocabulary

/// Which claim of an ID token is not what it must be; the texts are cleaned for showing.
package enum IDTokenError: Error, Hashable, Sendable {
    case unreadable(JSONWebTokenError)
    /// A required claim is absent or of the wrong type.
    case missing(claim: String)
    case otherIssuer(expected: String, received: String)
    case otherAudience
    case otherAuthorizedParty
    case expired(secondsAgo: Int64)
    case notYetValid(secondsAhead: Int64)
    /// `iat` is too far from now, in either direction.
    case issuedAtOutsideWindow(secondsAgo: Int64)
    case nonceMismatch
    /// A refresh brought the token of another person or server.
    case otherSubject
}

/// A read ID token.
package struct IDToken: Sendable {
    /// What a login expects.
    package struct Expectation: Sendable {
        package var issuer: String?
        package var clientID: String
        /// Nil on a refresh, where there is none.
        package var nonce: String?
        /// Besides our own.
        package var trustedAudiences: [String] = []
        /// How far the two clocks may differ.
        package var skewSeconds: Int64 = 300
        /// How old a fresh token may be; nil does not ask, as on a refresh.
        package var ageSecondsMax: Int64? = 600

        /// - Parameter issuer: nil where the endpoints were given by hand and none is known.
        package init(issuer: String?, clientID: String, nonce: String?) {
            self.issuer = issuer
            self.clientID = clientID
            self.nonce = nonce
        }
    }

    package let issuer: String
    package let subject: String
    package let claims: JSONObject
    private let token: JSONWebToken

    package init(_ bytes: SecretBytes) throws(IDTokenError) {
        do { token = try JSONWebToken(bytes) } catch { throw .unreadable(error) }
        claims = token.claims
        guard let issuer = claims["iss"]?.asString else { throw .missing(claim: "iss") }
        guard let subject = claims["sub"]?.asString, !subject.isEmpty else {
            throw .missing(claim: "sub")
        }
        self.issuer = issuer
        self.subject = subject
    }

    package func check(_ expectation: Expectation, now: WallTime) throws(IDTokenError) {
        if let expected = expectation.issuer, !issuer.isIdentical(to: expected) {
            throw .otherIssuer(expected: expected, received: DisplayText.clean(issuer))
        }
        try checkAudience(expectation)
        try checkTimes(expectation, now: now)
        if let nonce = expectation.nonce {
            guard let received = claims["nonce"]?.asSecret, received == SecretBytes(nonce) else {
                throw .nonceMismatch
            }
        }
    }

    /// A refreshed token names the person and the server of the first (section 12.2).
    package func checkContinues(_ earlier: IDToken) throws(IDTokenError) {
        guard issuer.isIdentical(to: earlier.issuer), subject.isIdentical(to: earlier.subject)
        else { throw .otherSubject }
    }

    private func checkAudience(_ expectation: Expectation) throws(IDTokenError) {
        let audiences: [String]
        switch claims["aud"] {
        case .string(let audience): audiences = [audience]
        case .array(let values): audiences = values.compactMap(\.asString)
        default: throw .missing(claim: "aud")
        }
        func isTrusted(_ audience: String) -> Bool {
            audience.isIdentical(to: expectation.clientID)
                || expectation.trustedAudiences.contains { $0.isIdentical(to: audience) }
        }
        guard audiences.contains(where: { $0.isIdentical(to: expectation.clientID) }),
            audiences.allSatisfy(isTrusted)
        else { throw .otherAudience }
        if let party = claims["azp"], party.asString?.isIdentical(to: expectation.clientID) != true
        {
            throw .otherAuthorizedParty
        }
    }

    private func checkTimes(_ expectation: Expectation, now: WallTime) throws(IDTokenError) {
        let skew = expectation.skewSeconds
        func secondsAgo(_ claim: String) -> Int64? {
            guard let time = claims[claim]?.asNumber?.truncated else { return nil }
            let (delta, overflow) = now.seconds.subtractingReportingOverflow(time)
            return overflow ? (time < 0 ? .max : .min) : delta
        }
        guard let expired = secondsAgo("exp") else { throw .missing(claim: "exp") }
        guard expired < skew else { throw .expired(secondsAgo: expired) }
        if let early = secondsAgo("nbf"), early < -skew {
            throw .notYetValid(secondsAhead: early == .min ? .max : -early)
        }
        guard let issued = secondsAgo("iat") else { throw .missing(claim: "iat") }
        guard issued >= -skew, issued <= (expectation.ageSecondsMax ?? .max) else {
            throw .issuedAtOutsideWindow(secondsAgo: issued)
        }
    }
}
