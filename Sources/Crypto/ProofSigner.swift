// DPoP proofs (RFC 9449 section 4.2), one for each request: what is the same in all of them is made
// once, and nothing is shared that a thread would have to wait for. It remembers no nonce; whoever
// sends the proof knows which server it is for.

package import Bytes
import COpenSSL

package final class ProofSigner: Sendable {
    private static let algorithm = JWSAlgorithm.es256
    /// 128 random bits (section 4.2 asks for 96).
    private static let identifierBytes = 16

    /// base64url of the header, which holds the public key, with the dot behind it.
    private let head: [UInt8]
    // SAFETY: only copied after its making (EVP_PKEY_CTX_dup(3)), and what the copies share is
    // counted atomically.
    private nonisolated(unsafe) let prototype: OpaquePointer
    /// RFC 7638, for `dpop_jkt`.
    package let thumbprint: String

    /// - Parameter key: one of P-256.
    package init(_ key: SigningKey) {
        precondition(Self.algorithm.fits(key.kind), "proofs are signed with ES256")
        let members = key.publicJWK.map { "\"\($0.name)\":\"\($0.value)\"" }
            .joined(separator: ",")
        let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":{\#(members)}}"#
        head = Array(Base64.encode(Array(header.utf8), .url).utf8) + [ASCII.dot]
        prototype = key.makeDigestSigner()
        thumbprint = key.thumbprint
    }

    deinit {
        EVP_PKEY_CTX_free(prototype)
    }

    /// `ath` of an access token: base64url of its SHA-256, 43 letters.
    package static func accessTokenHash(_ token: SecretBytes) -> [UInt8] {
        Array(Base64.encode(token.withBytes { Digest.sha256($0) }, .url).utf8)
    }

    /// The value of a `DPoP` field.
    ///
    /// - Parameters:
    ///   - method: as it is sent.
    ///   - url: `htu`: scheme, authority and path as they are sent, without query and fragment.
    ///   - accessTokenHash: what `accessTokenHash` gave, for a request to a resource; nil at a token
    ///     endpoint.
    ///   - nonce: the newest that this server gave.
    ///   - issuedAt: seconds since 1970, by the wall clock.
    package func proof(
        method: UnsafeRawBufferPointer, url: UnsafeRawBufferPointer, accessTokenHash: [UInt8]?,
        nonce: [UInt8]?, issuedAt: Int64
    ) -> [UInt8] {
        var claims: [UInt8] = []
        claims.reserveCapacity(
            180 + method.count + url.count + (accessTokenHash?.count ?? 0) + (nonce?.count ?? 0))
        claims.append(literal: #"{"jti":""#)
        withUnsafeTemporaryAllocation(byteCount: Self.identifierBytes, alignment: 1) { random in
            RandomBytes.fill(random)
            Base64.append(UnsafeRawBufferPointer(random), to: &claims)
        }
        claims.append(literal: #"","htm":"#)
        claims.append(quoting: method)
        claims.append(literal: #","htu":"#)
        claims.append(quoting: url)
        claims.append(literal: #","iat":"#)
        claims.append(decimal: issuedAt)
        if let accessTokenHash {
            claims.append(literal: #","ath":"#)
            accessTokenHash.withUnsafeBytes { claims.append(quoting: $0) }
        }
        if let nonce {
            claims.append(literal: #","nonce":"#)
            nonce.withUnsafeBytes { claims.append(quoting: $0) }
        }
        claims.append(literal: "}")

        var proof: [UInt8] = []
        proof.reserveCapacity(
            head.count + Base64.encodedCount(claims.count, .url) + 1
                + Base64.encodedCount(64, .url))
        proof.append(contentsOf: head)
        claims.withUnsafeBytes { Base64.append($0, to: &proof) }
        let signature = proof.withUnsafeBytes { sign($0) }
        proof.append(ASCII.dot)
        signature.withUnsafeBytes { Base64.append($0, to: &proof) }
        return proof
    }

    /// The same with texts, for the control plane.
    package func proof(
        method: String, url: String, accessTokenHash: [UInt8]? = nil, nonce: String? = nil,
        issuedAt: Int64
    ) -> String {
        let bytes = Array(method.utf8).withUnsafeBytes { method in
            Array(url.utf8).withUnsafeBytes { url in
                proof(
                    method: method, url: url, accessTokenHash: accessTokenHash,
                    nonce: nonce.map { Array($0.utf8) }, issuedAt: issuedAt)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func sign(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
        let digest = Digest.sha256(bytes)
        guard let context = EVP_PKEY_CTX_dup(prototype) else { outOfMemory() }
        defer { EVP_PKEY_CTX_free(context) }
        // 30 44 or so, two integers of up to 33 bytes with two bytes before each.
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 72) { target in
            var count = target.count
            guard
                EVP_PKEY_sign(context, target.baseAddress, &count, digest, digest.count) == 1
            else { fatalError("OpenSSL does not sign") }
            return ECDSASignature.raw(
                der: UnsafeBufferPointer(rebasing: target[..<count]), size: 32)
        }
    }
}

extension [UInt8] {
    fileprivate mutating func append(literal text: StaticString) {
        append(
            contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    fileprivate mutating func append(decimal number: Int64) {
        append(contentsOf: String(number).utf8)
    }

    /// A JSON string (RFC 8259 section 7). Everything from a space up goes as it is.
    fileprivate mutating func append(quoting bytes: UnsafeRawBufferPointer) {
        append(ASCII.quote)
        for byte in bytes {
            switch byte {
            case ASCII.quote, UInt8(ascii: "\\"):
                append(UInt8(ascii: "\\"))
                append(byte)
            case 0..<0x20:
                append(literal: "\\u00")
                append(0x30 + byte >> 4)
                append(byte & 15 < 10 ? 0x30 + byte & 15 : 0x57 + byte & 15)
            default: append(byte)
            }
        }
        append(ASCII.quote)
    }
}
