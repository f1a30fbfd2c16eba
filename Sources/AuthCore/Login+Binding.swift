// Whether a login is bound to a key as the configuration wants it (RFC 9449), and the session that speaks
// with that key. A bound token is worth nothing without its key, and its key nothing elsewhere.

import Bytes
import OAuth
import TokenStore
import Vocabulary

extension Login {
    /// Nil where its tokens can be used as the configuration says.
    func bindingObstacle(_ settings: OAuthSettings) -> Lack? {
        guard settings.requiresProof else {
            return dpopKey == nil ? nil : .loginNeeded(code: "dpop_turned_off")
        }
        return proofKey == nil ? .loginNeeded(code: "no_dpop_key") : nil
    }

    var proofKey: ProofKey? { dpopKey.flatMap { ProofKey(stored: $0) } }

    /// Notes what its tokens are bound to, and what the session has learned.
    mutating func bind(by session: ProofSession?) async {
        guard let session else { return }
        dpopKey = session.key.stored
        dpopNonces = await session.document
    }
}

extension ProofSession {
    /// Goes on with a login's key; `known` where that is the same. Nil where the login has none.
    static func continuing(
        _ login: Login, _ known: ProofSession?, in surroundings: Surroundings
    ) async -> ProofSession? {
        if let known, known.key.stored == login.dpopKey {
            await known.learn(login.dpopNonces)
            return known
        }
        return login.proofKey.map { key in
            ProofSession(key, nonces: ServerNonces(login.dpopNonces), in: surroundings)
        }
    }
}
