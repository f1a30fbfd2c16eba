// Who Ada is: ID tokens signed by a key that is made at the start, the key for whoever checks them, and
// userinfo (OpenID Connect Core sections 2 and 5.3). The key goes with the process.

import Bytes
import Crypto
import LoopbackServer
import OAuth
import Vocabulary

/// The demo's person, in signed words.
struct DemoIdentity: Sendable {
    static let scope = "openid"
    private static let lifetimeSeconds: Int64 = 300
    private static let keyID = "demo"

    let issuer: String
    private let key: SigningKey
    private let signer: JSONWebSigner

    init(issuer: String) {
        self.issuer = issuer
        key = .generate(.es256)
        guard let signer = JSONWebSigner(key, keyID: Self.keyID) else {
            preconditionFailure("a key signs with its own algorithm")
        }
        self.signer = signer
    }

    /// - Parameter nonce: of the authorization request; refreshes have none.
    func token(clientID: String, nonce: String?, now: WallTime) -> SecretBytes {
        var claims = person
        claims["iss"] = .string(issuer)
        claims["aud"] = .string(clientID)
        claims["iat"] = .number(JSONNumber(now.seconds))
        claims["exp"] = .number(JSONNumber(now.advanced(by: Self.lifetimeSeconds).seconds))
        claims["nonce"] = nonce.map { .string($0) }
        return JSONWebToken.signed(claims, by: signer)
    }

    /// RFC 7517 section 5.
    var keys: JSONValue {
        var members = JSONObject(
            key.publicJWK.map { .init(name: $0.name, value: .string($0.value)) })
        members["kid"] = .string(Self.keyID)
        members["use"] = "sig"
        members["alg"] = .string(signer.algorithm.rawValue)
        return ["keys": [.object(members)]]
    }

    /// - Parameter standing: of the token that the request carries.
    func userInfo(_ standing: TokenStanding) -> ServerResponse {
        guard case .good(let scopes, _) = standing, scopes.contains(Self.scope) else {
            return .json(
                ["error": "invalid_token"], status: 401,
                fields: [ServerField("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        }
        return .json(.object(person))
    }

    private var person: JSONObject {
        JSONObject([
            .init(name: "sub", value: .string(AuthorizationDesk.person.lowercased())),
            .init(name: "name", value: .string(AuthorizationDesk.person)),
            .init(name: "email", value: "ada@example.com"),
        ])
    }
}
