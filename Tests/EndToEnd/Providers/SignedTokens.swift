// What the scripted providers sign and what they verify.

import Bytes
import Crypto
import Support

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension TokenSigner {
    /// An ID token of now, for an hour.
    func claims(
        issuer: String, audience: String, nonce: String?, subject: String = "ada-4711",
        more: [(String, String)] = []
    ) -> String {
        let now = time(nil)
        var members = [
            ("iss", jsonText(issuer)), ("sub", jsonText(subject)), ("aud", jsonText(audience)),
            ("iat", "\(now)"), ("exp", "\(now + 3600)"),
        ]
        if let nonce { members.append(("nonce", jsonText(nonce))) }
        members += more
        return token("{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}")
    }
}

/// The claims of a compact JWT that the key signed, as text; nil for anything else.
func verified(_ token: String, by key: SigningKey, as algorithm: JWSAlgorithm) -> String? {
    let parts = token.components(separatedBy: ".")
    guard parts.count == 3, let signature = Base64.decode(parts[2], .url),
        let claims = Base64.decode(parts[1], .url)
    else { return nil }
    let signed = Array((parts[0] + "." + parts[1]).utf8)
    let isGood = signed.withUnsafeBytes {
        key.verificationKey.verify(signature, over: $0, as: algorithm)
    }
    guard isGood else { return nil }
    return String(decoding: claims, as: UTF8.self)
}

/// The key as PEM (RFC 7468 section 10).
func pemText(of key: SigningKey) -> String {
    let text = Base64.encode(key.stored, .standard).withBytes {
        String(decoding: $0, as: UTF8.self)
    }
    var lines = ["-----BEGIN PRIVATE KEY-----"]
    var rest = text[...]
    while !rest.isEmpty {
        lines.append(String(rest.prefix(64)))
        rest = rest.dropFirst(64)
    }
    return (lines + ["-----END PRIVATE KEY-----", ""]).joined(separator: "\n")
}
