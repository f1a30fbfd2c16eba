// Keys, sets and signed tokens for tests: made once, since an RSA key takes its time.

import Bytes
import Crypto
package import Vocabulary

@testable import OAuth

enum TestKeys {
    static let all: [JWSAlgorithm: SigningKey] = {
        let rsa = SigningKey.generate(.rs256)
        var keys: [JWSAlgorithm: SigningKey] = [:]
        for algorithm in JWSAlgorithm.allCases where algorithm.isAsymmetric {
            keys[algorithm] = algorithm.fits(.rsa) ? rsa : .generate(algorithm)
        }
        return keys
    }()

    static func signer(_ algorithm: JWSAlgorithm, keyID: String? = nil) -> JSONWebSigner {
        guard let key = all[algorithm],
            let signer = JSONWebSigner(key, as: algorithm, keyID: keyID ?? algorithm.rawValue)
        else { preconditionFailure("no test key for \(algorithm.rawValue)") }
        return signer
    }

    /// A key as a provider publishes it; null removes a member.
    static func jwk(
        _ key: SigningKey, _ changes: [String: JSONValue] = [:]
    ) -> JSONValue {
        var members = JSONObject(
            key.publicJWK.map { .init(name: $0.name, value: .string($0.value)) })
        for (name, value) in changes { members[name] = value }
        return .object(members)
    }

    /// Every key, named by its algorithm.
    static let set: JSONWebKeySet = {
        let keys = all.map { algorithm, key in
            jwk(key, ["kid": .string(algorithm.rawValue), "alg": .string(algorithm.rawValue)])
        }
        return try! JSONWebKeySet(document: JSONObject([.init(name: "keys", value: .array(keys))]))
    }()
}

func members(_ pairs: [String: JSONValue]) -> JSONObject {
    JSONObject(pairs.map { .init(name: $0.key, value: $0.value) })
}

extension JSONObject {
    /// Null removes a member.
    func changed(_ changes: [String: JSONValue]) -> JSONObject {
        var object = self
        for (name, value) in changes { object[name] = value.isNull ? nil : value }
        return object
    }
}

/// A compact token from parts that nobody signs so.
func compact(_ header: JSONValue, _ claims: JSONValue, signature: String) -> SecretBytes {
    func part(_ value: JSONValue) -> String { text(Base64.encode(JSONWriter.write(value), .url)) }
    return SecretBytes("\(part(header)).\(part(claims)).\(signature)")
}

extension JSONObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, JSONValue)...) {
        self.init(elements.map { .init(name: $0.0, value: $0.1) })
    }
}
