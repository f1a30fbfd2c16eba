// Judges DPoP proofs as a strict server does (RFC 9449 section 4.3), and hands out nonces. Independent of
// the code that makes proofs, but for the signature's arithmetic.

import Crypto
import Synchronization
package import Vocabulary

/// A proof that was found good.
package struct CheckedProof: Sendable {
    package let thumbprint: String
    package let nonce: String?
    package let identifier: String
}

/// One server's memory of proofs and nonces.
package final class ProofCheck: Sendable {
    /// Why a proof is refused.
    package enum Refusal: Error, Hashable {
        /// `use_dpop_nonce`.
        case nonce
        /// `invalid_dpop_proof`, and what is wrong with it.
        case proof(String)
    }

    private struct State {
        var nonce: String?
        var served = 0
        var identifiers: Set<String> = []
        var proofs: [CheckedProof] = []
    }

    private let state = Mutex(State())
    private let name: String
    /// How many proofs one nonce is good for; nil demands none.
    private let usesMax: Int?

    /// - Parameter name: is in every nonce, so that one of another server is found out.
    package init(_ name: String, nonceUses: Int? = nil) {
        self.name = name
        usesMax = nonceUses
        if nonceUses != nil { turn() }
    }

    /// Every nonce handed out so far is refused from now on.
    package func turn() {
        state.withLock { state in
            state.nonce = "\(name)-nonce-\(UInt64.random(in: 0 ... .max))"
            state.served = 0
        }
    }

    /// What every answer carries.
    package var fields: [(String, String)] {
        state.withLock { $0.nonce }.map { [("DPoP-Nonce", $0)] } ?? []
    }

    package var proofs: [CheckedProof] { state.withLock { $0.proofs } }

    /// - Parameters:
    ///   - url: `htu` as this server knows itself.
    ///   - accessToken: what `ath` must be the hash of; nil refuses an `ath`.
    @discardableResult
    package func check(
        _ request: HTTPMessage, url: String, accessToken: String? = nil
    ) throws(Refusal) -> CheckedProof {
        let texts = request.values("DPoP")
        guard texts.count == 1 else { throw .proof("\(texts.count) proofs") }
        let read = try ReadProof(texts[0])
        let claims = read.claims
        guard claims["htm"]?.asString == request.method else { throw .proof("htm") }
        guard claims["htu"]?.asString == url else {
            throw .proof("htu \(claims["htu"]?.asString ?? "") is not \(url)")
        }
        let now = SystemTime().wallTime().seconds
        guard let issuedAt = claims["iat"]?.asNumber?.asInteger, abs(now - issuedAt) < 60 else {
            throw .proof("iat")
        }
        let hash = accessToken.map { Base64.encode(Digest.sha256(Array($0.utf8)), .url) }
        guard claims["ath"]?.asString == hash else { throw .proof("ath") }
        guard let identifier = claims["jti"]?.asString, identifier.utf8.count >= 16 else {
            throw .proof("jti")
        }
        let proof = CheckedProof(
            thumbprint: read.thumbprint, nonce: claims["nonce"]?.asString, identifier: identifier)
        try accept(proof)
        return proof
    }

    private func accept(_ proof: CheckedProof) throws(Refusal) {
        let refusal = state.withLock { state -> Refusal? in
            guard state.identifiers.insert(proof.identifier).inserted else {
                return .proof("jti again")
            }
            if let usesMax {
                guard proof.nonce == state.nonce else {
                    return .nonce
                }
                state.served += 1
                if state.served == usesMax {
                    // The answer brings the next one.
                    state.nonce = "\(name)-nonce-\(UInt64.random(in: 0 ... .max))"
                    state.served = 0
                }
            } else if let nonce = proof.nonce {
                return .proof("nonce \(nonce) was never given")
            }
            state.proofs.append(proof)
            return nil
        }
        if let refusal { throw refusal }
    }
}

/// A proof whose form and signature are good.
package struct ReadProof: Sendable {
    package let claims: JSONObject
    /// RFC 7638.
    package let thumbprint: String

    package init(_ text: String) throws(ProofCheck.Refusal) {
        let parts = text.components(separatedBy: ".")
        guard parts.count == 3, let header = Self.object(parts[0]),
            let claims = Self.object(parts[1]), let signature = Base64.decode(parts[2], .url)
        else { throw .proof("no JWT") }
        guard header["typ"]?.asString == "dpop+jwt", header["alg"]?.asString == "ES256",
            let jwk = header["jwk"]?.asObject
        else { throw .proof("header") }
        guard jwk["d"] == nil else { throw .proof("the key is private") }
        guard let key = try? VerificationKey(jwk: { jwk[$0]?.asString }) else {
            throw .proof("jwk")
        }
        let isGood = Array("\(parts[0]).\(parts[1])".utf8).withUnsafeBytes { bytes in
            key.verify(signature, over: bytes, as: .es256)
        }
        guard isGood else { throw .proof("signature") }
        self.claims = claims
        thumbprint = key.thumbprint
    }

    package func text(_ claim: String) -> String? { claims[claim]?.asString }

    private static func object(_ part: String) -> JSONObject? {
        guard let bytes = Base64.decode(part, .url) else { return nil }
        return (try? JSONReader.read(text: String(decoding: bytes, as: UTF8.self)))?.asObject
    }
}

extension ProofCheck.Refusal {
    package var code: String {
        switch self {
        case .nonce: "use_dpop_nonce"
        case .proof: "invalid_dpop_proof"
        }
    }
}
