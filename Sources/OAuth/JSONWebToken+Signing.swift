// Writes a JWT in compact form (RFC 7515 section 7.1). What it may say and for how long it holds are
// the caller's business.

package import Bytes
package import Crypto
package import Vocabulary

/// Who signs, and how.
package struct JSONWebSigner: Sendable {
    private enum Means: Sendable {
        case key(SigningKey)
        case secret(SecretBytes)
    }

    private let means: Means
    package let algorithm: JWSAlgorithm
    /// `kid`; nil leaves the member out.
    package var keyID: String?

    /// - Parameter algorithm: nil is the key's own; nil comes back for one that is not the key's.
    package init?(_ key: SigningKey, as algorithm: JWSAlgorithm? = nil, keyID: String? = nil) {
        let algorithm = algorithm ?? key.defaultAlgorithm
        guard key.algorithms.contains(algorithm) else { return nil }
        means = .key(key)
        self.algorithm = algorithm
        self.keyID = keyID
    }

    /// A shared secret, for `client_secret_jwt`; nil for an algorithm that is none of HMAC.
    package init?(secret: SecretBytes, as algorithm: JWSAlgorithm = .hs256) {
        guard !algorithm.isAsymmetric else { return nil }
        means = .secret(secret)
        self.algorithm = algorithm
        keyID = nil
    }

    fileprivate func sign(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        switch means {
        case .key(let key): key.sign(bytes, as: algorithm)
        case .secret(let secret):
            Digest.authenticate(bytes, algorithm.digest, key: secret)
        }
    }
}

extension JSONWebToken {
    /// A signed token.
    ///
    /// - Parameters:
    ///   - type: `typ`.
    ///   - header: further members; `alg`, `typ` and `kid` are set here.
    package static func signed(
        _ claims: JSONObject, by signer: JSONWebSigner, type: String? = "JWT",
        header further: JSONObject = JSONObject()
    ) -> SecretBytes {
        var header = JSONObject()
        header["alg"] = .string(signer.algorithm.rawValue)
        if let type { header["typ"] = .string(type) }
        if let keyID = signer.keyID { header["kid"] = .string(keyID) }
        for member in further.members where header[member.name] == nil {
            header[member.name] = member.value
        }
        let parts = [header, claims].map { part in
            Base64.encode(JSONWriter.write(.object(part)), .url)
        }
        let signed = SecretBytes.joined([parts[0], SecretBytes([ASCII.dot]), parts[1]])
        let signature = signed.withBytes { Base64.encode(signer.sign($0), .url) }
        return .joined([signed, SecretBytes([ASCII.dot]), SecretBytes(signature)])
    }
}
