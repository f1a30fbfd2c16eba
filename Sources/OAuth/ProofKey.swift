// A login's DPoP key (RFC 9449) as the control plane uses it, and the nonces that servers hand out. The
// key leaves only for the login's own record and for the workers that sign with it.

package import Bytes
import Crypto
package import Vocabulary

/// One P-256 key and what is made with it.
package final class ProofKey: Sendable {
    /// PKCS#8 in DER, for the record of the login.
    package let stored: SecretBytes
    private let signer: ProofSigner

    private init(_ key: SigningKey) {
        stored = key.stored
        signer = ProofSigner(key)
    }

    /// A key that nobody has used yet: one for each login, since a refresh token may be bound to it.
    package static func fresh() -> ProofKey { ProofKey(SigningKey.generate(.es256)) }

    /// Nil for bytes that are no such key.
    package convenience init?(stored: SecretBytes) {
        guard let key = try? SigningKey(stored: stored), key.algorithms.contains(.es256) else {
            return nil
        }
        self.init(key)
    }

    /// `dpop_jkt` (RFC 9449 section 10).
    package var thumbprint: String { signer.thumbprint }

    /// The `DPoP` field of a request of the control plane's; nil where the URL is none.
    ///
    /// - Parameters:
    ///   - accessToken: for a request to a resource; never at a token endpoint.
    ///   - nonce: the newest that this server gave.
    package func field(
        for request: OutboundRequest, accessToken: SecretBytes? = nil, nonce: String?,
        at now: WallTime
    ) -> OutboundRequest.Field? {
        guard let url = try? WebURL(request.url) else { return nil }
        // Without query and fragment (section 4.2). An empty path goes out as "/".
        let target = String(url.textBeforePath) + (url.path.isEmpty ? "/" : url.path)
        let proof = signer.proof(
            method: request.method.rawValue, url: target,
            accessTokenHash: accessToken.map(ProofSigner.accessTokenHash), nonce: nonce,
            issuedAt: now.seconds)
        return .init("DPoP", proof)
    }

    /// `ath` of an access token.
    package static func hash(of accessToken: SecretBytes) -> [UInt8] {
        ProofSigner.accessTokenHash(accessToken)
    }
}

/// `DPoP-Nonce` (RFC 9449 section 8.1).
package enum ProofNonce {
    package static let errorCode = "use_dpop_nonce"
    /// Longer ones are not kept.
    package static let bytesMax = 512

    /// Whether bytes are a nonce: `1*NQCHAR`, visible ASCII but quote and backslash.
    package static func isValid(_ nonce: String) -> Bool {
        (1...bytesMax).contains(nonce.utf8.count)
            && nonce.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
    }

    /// The nonce of a response; nil where there is none, or more than one.
    package static func value(in response: InboundResponse) -> String? {
        let values = response.fields.filter { $0.name.lowercased() == "dpop-nonce" }
        guard values.count == 1, isValid(values[0].value) else { return nil }
        return values[0].value
    }

    /// For servers each of whose answers to a proof must bring one (atproto.com/specs/oauth, "DPoP").
    package static func require(in response: InboundResponse) throws(TokenFailure) {
        guard value(in: response) == nil else { return }
        throw TokenFailure(.malformed, .missingMember("DPoP-Nonce"), status: response.status)
    }

    /// Whether the request was refused for want of a nonce: by an authorization server with an error
    /// in its document (section 8), by a resource with a challenge (section 9).
    package static func isDemanded(by response: InboundResponse) -> Bool {
        guard (400..<500).contains(response.status) else { return false }
        let isChallenge = response.fields.contains { field in
            field.name.lowercased() == "www-authenticate"
                && field.value.contains("\"\(errorCode)\"")
        }
        if isChallenge { return true }
        let document = try? JSONReader.read(response.body, strings: .secret)
        return document?.asObject?["error"]?.asRevealedString == errorCode
    }
}
