// The public keys of a provider (RFC 7517 section 5). Keys that nobody here can use are passed over,
// since sets hold keys for all kinds of purposes; what is used must be meant for signatures.

import Bytes
import Crypto
package import Vocabulary

/// Why a document is no set of keys.
package enum KeySetError: Error, Hashable, Sendable {
    case status(Int)
    case unreadable
    case tooManyKeys(limit: Int)
}

/// Immutable; a provider's next set is another value.
package struct JSONWebKeySet: Sendable {
    package static let bytesMax = 512 << 10
    /// Somebody waits for a login or a refresh meanwhile.
    package static let timeoutMilliseconds: UInt64 = 10_000
    /// Far above what providers have; each key may cost a verification.
    package static let keysMax = 128

    struct Key: Sendable {
        let keyID: String?
        /// What the set says that the key is for; nil where it does not say.
        let algorithm: JWSAlgorithm?
        /// Whether `use`, `key_ops` and `alg` allow a signature to be checked with it.
        let isForSignatures: Bool
        let material: VerificationKey
    }

    let keys: [Key]
    /// Keys that were passed over: of a kind that is not supported, or faulty.
    package let skipped: Int
    /// As it came, for keeping.
    package let document: JSONObject

    package static func request(_ url: String) -> OutboundRequest {
        OutboundRequest(
            .get, url,
            fields: [.init("Accept", "application/jwk-set+json, application/json")],
            timeoutMilliseconds: timeoutMilliseconds, responseBytesMax: bytesMax)
    }

    package static func read(_ response: InboundResponse) throws(KeySetError) -> JSONWebKeySet {
        guard response.status == 200 else { throw .status(response.status) }
        var limits = JSONReader.Limits()
        limits.bytesMax = bytesMax
        guard
            let document = (try? JSONReader.read(response.body, strings: .plain, limits: limits))?
                .asObject
        else { throw .unreadable }
        return try JSONWebKeySet(document: document)
    }

    /// For a document that was kept too.
    package init(document: JSONObject) throws(KeySetError) {
        guard let values = document["keys"]?.asArray else { throw .unreadable }
        guard values.count <= JSONWebKeySet.keysMax else {
            throw .tooManyKeys(limit: JSONWebKeySet.keysMax)
        }
        keys = values.compactMap { $0.asObject.flatMap { Key($0) } }
        skipped = values.count - keys.count
        self.document = document
    }

    /// The keys that a token may have been signed with, by what it says of itself: those of its
    /// `kid`, and those without one. Where it names none, all of them.
    func candidates(for token: JSONWebToken) -> [Key] {
        guard let wanted = token.keyID else { return keys }
        return keys.filter { $0.keyID?.isIdentical(to: wanted) ?? true }
    }

    /// Whether it is worth a try: a set without such a key may be out of date.
    package func mayVerify(_ token: JSONWebToken) -> Bool {
        candidates(for: token).contains { $0.allows(token.algorithm) }
    }

    /// Whether one of the keys, meant for it, made the token's signature.
    package func verifies(_ token: JSONWebToken) -> Bool {
        guard let algorithm = token.algorithm else { return false }
        return candidates(for: token).contains { key in
            key.allows(algorithm) && token.isSigned(by: key.material, as: algorithm)
        }
    }
}

extension JSONWebKeySet.Key {
    /// Nil for a key of a kind that is not supported, and for a faulty one.
    fileprivate init?(_ members: JSONObject) {
        guard let material = try? VerificationKey(jwk: { members[$0]?.asString }) else {
            return nil
        }
        self.material = material
        keyID = members["kid"]?.asString
        let name = members["alg"]?.asString
        algorithm = name.flatMap { JWSAlgorithm(rawValue: $0) }
        let isForUse = members["use"].map { $0.asString == "sig" } ?? true
        let operations = members["key_ops"]?.asArray
        let isForVerifying = operations.map { $0.contains(.string("verify")) } ?? true
        // An algorithm that is unknown here is one for encryption, or of the future.
        isForSignatures = isForUse && isForVerifying && (name == nil || algorithm != nil)
    }

    /// Whether the key's owner means it for that algorithm, and its kind allows it.
    func allows(_ algorithm: JWSAlgorithm?) -> Bool {
        guard let algorithm, isForSignatures, algorithm.fits(material.kind) else { return false }
        return self.algorithm.map { $0 == algorithm } ?? true
    }
}

extension JSONWebToken {
    func isSigned(by key: VerificationKey, as algorithm: JWSAlgorithm) -> Bool {
        signed.withBytes { key.verify(signature, over: $0, as: algorithm) }
    }
}
