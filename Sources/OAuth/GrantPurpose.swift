// A name for what a token was asked for: grant, server, client, scopes, audience, subject. Two requests
// that could give different tokens have different names; the name itself tells nothing.

package import Bytes
import Crypto
import Vocabulary

package struct GrantPurpose: Sendable {
    private var parts: [SecretBytes] = []

    package init(_ texts: [String]) {
        for text in texts { parts.append(SecretBytes(text)) }
    }

    package mutating func add(_ text: String) { parts.append(SecretBytes(text)) }
    package mutating func add(_ secret: SecretBytes) { parts.append(secret) }

    /// base64url of a SHA-256 over the parts, each with its length, so that no two lists of parts look
    /// alike.
    package var name: String {
        let framed = parts.flatMap { [SecretBytes("\($0.count):"), $0] }
        let digest = SecretBytes.joined(framed).withBytes { Digest.sha256($0) }
        return Base64.encode(digest, .url)
    }

    /// Whom a JWT is about, by whose word: `iss` and `sub`; nil where it has none. Unverified, it
    /// serves to tell two subjects apart and nothing else.
    package static func subject(of token: SecretBytes) -> String? {
        guard let claims = (try? JSONWebToken(token))?.claims,
            let subject = claims["sub"]?.asString
        else { return nil }
        let issuer = claims["iss"]?.asString ?? ""
        return "\(issuer.utf8.count):\(issuer)\(subject)"
    }
}
