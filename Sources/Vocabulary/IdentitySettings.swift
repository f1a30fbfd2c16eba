// Whom a login may be of, and what tells: how ID tokens are judged besides what no configuration may
// change, and which of a login's tokens is the credential.

package struct IdentitySettings: Equatable, Sendable {
    /// Names of signature algorithms (RFC 7518 section 3.1); empty allows every one with a public key.
    package var algorithms: [String] = []
    /// Audiences of an ID token that are trusted besides the client itself.
    package var trustedAudiences: [String] = []
    /// How long after its expiry an ID token is taken, for clocks that differ.
    package var skewSeconds: Int64 = 60
    /// How far from now a login's ID token may have been issued, in either direction.
    package var issuedAtWindowSeconds: Int64 = 600

    package init() {}

    /// What `algorithms` may hold: never "none", never one with a shared secret.
    package static let algorithmNames = [
        "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA",
    ]
}

/// Which token of a login is sent upstream.
package enum InjectedToken: String, Sendable {
    case accessToken = "access_token"
    /// For APIs that take it in the access token's place, as with Azure AD B2C.
    case idToken = "id_token"
}
