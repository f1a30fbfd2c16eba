// Proof key for code exchange (RFC 7636). Only S256 exists here; there is no way to ask for "plain".

package import Bytes
import Crypto

/// A verifier and the challenge made from it; one pair serves one login.
package struct PKCE: Sendable {
    package static let method = "S256"

    /// 43 letters of base64url, 256 random bits (section 4.1).
    package let verifier: SecretBytes
    /// base64url of the verifier's SHA-256 (section 4.2).
    package let challenge: String

    package init(verifier: SecretBytes) {
        self.verifier = verifier
        challenge = Base64.encode(verifier.withBytes { Digest.sha256($0) }, .url)
    }

    package static func fresh() -> PKCE {
        PKCE(verifier: Base64.encode(RandomBytes.secret(32), .url))
    }
}

/// Unguessable texts that are no secrets of their own: states, nonces, addresses for one visit.
package enum Nonce {
    /// 256 random bits as 43 letters of base64url.
    package static func fresh() -> String {
        Base64.encode(RandomBytes.make(32), .url)
    }
}
