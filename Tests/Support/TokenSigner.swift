// Signs what a provider signs, and publishes the key. Claims and headers are texts, so that a test can
// write what no encoder would.

import Bytes
package import Crypto

package final class TokenSigner: Sendable {
    package let key: SigningKey
    package let algorithm: JWSAlgorithm
    package let keyID: String

    package init(_ algorithm: JWSAlgorithm = .es256, keyID: String = "k1") {
        key = .generate(algorithm)
        self.algorithm = algorithm
        self.keyID = keyID
    }

    /// A compact JWT.
    ///
    /// - Parameter header: nil is the usual one, with the key's name.
    package func token(_ claims: String, header: String? = nil) -> String {
        let header =
            header ?? "{\"alg\":\"\(algorithm.rawValue)\",\"typ\":\"JWT\",\"kid\":\"\(keyID)\"}"
        let signed =
            Base64.encode(Array(header.utf8), .url) + "." + Base64.encode(Array(claims.utf8), .url)
        let signature = Array(signed.utf8).withUnsafeBytes { key.sign($0, as: algorithm) }
        return signed + "." + Base64.encode(signature, .url)
    }

    /// The public key as JSON.
    package var jwk: String {
        let members = key.publicJWK.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
        return
            "{\(members),\"kid\":\"\(keyID)\",\"use\":\"sig\",\"alg\":\"\(algorithm.rawValue)\"}"
    }

    /// A set with this key and others.
    package func keySet(with others: [TokenSigner] = []) -> String {
        "{\"keys\":[" + ([self] + others).map(\.jwk).joined(separator: ",") + "]}"
    }
}
