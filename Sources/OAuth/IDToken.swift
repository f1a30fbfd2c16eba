// An ID token as it was read (OpenID Connect Core section 2): who says what of whom. Nothing in it is to
// be believed before `validate` has returned; until then it is good for showing only.

package import Bytes
package import Vocabulary

/// A read ID token.
package struct IDToken: Sendable {
    package let issuer: String
    package let subject: String
    package var claims: JSONObject { token.claims }
    let token: JSONWebToken

    package init(_ bytes: SecretBytes) throws(IDTokenError) {
        do { token = try JSONWebToken(bytes) } catch {
            throw error == .encrypted ? .encrypted : .unreadable(error)
        }
        guard let issuer = token.claims["iss"]?.asString else { throw .missing(claim: "iss") }
        guard let subject = token.claims["sub"]?.asString, !subject.isEmpty else {
            throw .missing(claim: "sub")
        }
        self.issuer = issuer
        self.subject = subject
    }

    /// `exp`, by the provider's clock.
    package var expiry: WallTime? {
        claims["exp"]?.asNumber.map { WallTime(seconds: $0.truncated) }
    }

    /// Whether one of the keys made its signature; a set without it may be out of date.
    package func isVerified(by keys: JSONWebKeySet) -> Bool { keys.verifies(token) }

    /// Whether both speak of one person at one provider, in the same bytes (section 12.2).
    package func isOfSamePerson(as other: IDToken) -> Bool {
        issuer.isIdentical(to: other.issuer) && subject.isIdentical(to: other.subject)
    }

    /// Seconds from a time in a claim to now, clamped; negative for one to come, nil without one.
    func secondsSince(_ claim: String, now: WallTime) -> Int64? {
        guard let time = claims[claim]?.asNumber?.truncated else { return nil }
        let (delta, overflow) = now.seconds.subtractingReportingOverflow(time)
        return overflow ? (time < 0 ? .max : .min) : delta
    }

    /// `aud`, which is one text or a list of them.
    var audiences: [String]? {
        switch claims["aud"] {
        case .string(let audience): [audience]
        case .array(let values): values.compactMap(\.asString)
        default: nil
        }
    }
}
