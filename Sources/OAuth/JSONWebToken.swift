// Takes a JWT in compact form apart (RFC 7515 section 7.1; RFC 7519). What it reads is unverified: good
// for showing, and for an expiry to fall back on, until `JSONWebKeySet` or a policy has judged it.

package import Bytes
package import Crypto
package import Vocabulary

/// Why bytes are no JWT.
package enum JSONWebTokenError: Error, Hashable, Sendable {
    case notCompact
    /// Five parts: a JWE (RFC 7516 section 7.1), which nobody here can open.
    case encrypted
    case notBase64URL
    case notJSON
    case tooLarge(limit: Int)
}

/// Header and claims as they were written; unverified.
package struct JSONWebToken: Sendable {
    package static let bytesMax = 64 << 10

    package let header: JSONObject
    package let claims: JSONObject
    /// What the signature is over: the first two parts and the dot between them.
    let signed: SecretBytes
    let signature: [UInt8]

    package init(_ token: SecretBytes) throws(JSONWebTokenError) {
        guard token.count <= JSONWebToken.bytesMax else {
            throw .tooLarge(limit: JSONWebToken.bytesMax)
        }
        let parts = token.withBytes { bytes in
            bytes.split(separator: ASCII.dot, maxSplits: 5, omittingEmptySubsequences: false)
                .map { SecretBytes(copying: UnsafeRawBufferPointer(rebasing: $0)) }
        }
        guard parts.count != 5 else { throw .encrypted }
        guard parts.count == 3 else { throw .notCompact }
        header = try JSONWebToken.object(parts[0])
        claims = try JSONWebToken.object(parts[1])
        signature = try JSONWebToken.decode(parts[2])
        let signedCount = parts[0].count + 1 + parts[1].count
        signed = token.withBytes { bytes in
            SecretBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[..<signedCount]))
        }
    }

    /// Which key the signer says it used (RFC 7515 section 4.1.4).
    package var keyID: String? { header["kid"]?.asString }

    /// The name in `alg`, which may be none that exists here.
    package var algorithmName: String? { header["alg"]?.asString }

    /// The signature's algorithm; nil for "none" and for what nobody here knows.
    package var algorithm: JWSAlgorithm? { algorithmName.flatMap { JWSAlgorithm(rawValue: $0) } }

    /// `exp` of an access token that happens to be a JWT (RFC 9068); nil for any other.
    package static func expiry(of accessToken: SecretBytes) -> WallTime? {
        guard let token = try? JSONWebToken(accessToken), let number = token.claims["exp"]?.asNumber
        else { return nil }
        return number.truncated > 0 ? WallTime(seconds: number.truncated) : nil
    }

    private static func object(_ part: SecretBytes) throws(JSONWebTokenError) -> JSONObject {
        let bytes = SecretBytes(try decode(part))
        guard let value = try? JSONReader.read(bytes, strings: .plain), let object = value.asObject
        else { throw .notJSON }
        return object
    }

    private static func decode(_ part: SecretBytes) throws(JSONWebTokenError) -> [UInt8] {
        guard let bytes = part.withBytes({ Base64.decode($0, .url) }) else { throw .notBase64URL }
        return bytes
    }
}
