// The signer of a client's assertions from what the configuration gives: a key in PEM or a secret,
// and an algorithm that both the key and the server know.

package import Bytes
import Crypto
import Vocabulary

/// Why a key signs nothing.
package struct SigningProblem: Error, Hashable, Sendable {
    /// One line for a person, without a full stop.
    package let reason: String
}

extension JSONWebSigner {
    /// - Parameter supported: the server's list of algorithms; its order does not count.
    package init(
        pem: SecretBytes, keyID: String?, supported: [String]? = nil
    ) throws(SigningProblem) {
        let key: SigningKey
        do throws(KeyError) {
            key = try SigningKey(pem: pem)
        } catch {
            throw SigningProblem(reason: error.reason)
        }
        let algorithm = key.algorithms.first { supported?.contains($0.rawValue) ?? true }
        guard let signer = JSONWebSigner(key, as: algorithm, keyID: keyID) else {
            throw SigningProblem(reason: "the key has no algorithm")
        }
        self = signer
    }

    package init(sharing secret: SecretBytes, supported: [String]? = nil) throws(SigningProblem) {
        let algorithms: [JWSAlgorithm] = [.hs256, .hs384, .hs512]
        let algorithm = algorithms.first { supported?.contains($0.rawValue) ?? true } ?? .hs256
        guard let signer = JSONWebSigner(secret: secret, as: algorithm) else {
            throw SigningProblem(reason: "a secret signs with HMAC only")
        }
        self = signer
    }
}
