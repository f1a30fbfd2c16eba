// What a response says of the credential that its request carried, by a table: whether another proof or a
// newer credential may help, and what is worth telling. It decides from the head alone and sends nothing.

import Bytes
import HTTPWire
import Routing

/// How a refusal is to be understood (RFC 6750 section 3.1; RFC 9449 sections 7.1 and 9; RFC 9470).
enum Finding: CaseIterable {
    /// The proof lacks the nonce that came with the response.
    case wantsNonce
    case invalidToken
    /// A challenge of a scheme that takes tokens, without an error.
    case unnamed
    /// No challenge at all. APIs that answer so are common, and being wrong costs one refresh.
    case noChallenge
    /// Challenges that cannot be read.
    case unreadable
    /// The request or its proof is wrong: our mistake, or a clock's.
    case invalidRequest
    case insufficientScope
    /// The person must authenticate better or again.
    case insufficientAuthentication
    /// An error that no table knows.
    case otherError
    /// Only schemes that take no token of ours (Basic, Negotiate).
    case foreign
}

enum RefusalTable {
    /// What each finding leads to. A status that is not here, and a finding that is not here for its
    /// status, are the client's to see.
    static let rows: [(status: Int, finding: Finding, verdict: Exchange.Verdict)] = [
        (401, .wantsNonce, .wantsOtherProof),
        (401, .invalidToken, .rejected),
        (401, .unnamed, .rejected),
        (401, .noChallenge, .rejected),
        (401, .unreadable, .rejected),
        (401, .invalidRequest, .final),
        (401, .insufficientScope, .final),
        (401, .insufficientAuthentication, .final),
        (401, .otherError, .final),
        (401, .foreign, .final),
        (403, .insufficientScope, .final),
    ]

    /// Findings that the control plane is told of, whatever they lead to.
    static let told: Set<Finding> = [
        .invalidRequest, .insufficientScope, .insufficientAuthentication,
    ]

    static func verdict(_ status: Int, _ finding: Finding) -> Exchange.Verdict {
        rows.first { $0.status == status && $0.finding == finding }?.verdict ?? .final
    }

    /// What the configuration makes of a response; nil where it says nothing.
    static func verdict(
        _ status: Int, _ challenges: [Challenge]?, by rules: [RefusalRule]
    ) -> Exchange.Verdict? {
        guard !rules.isEmpty else { return nil }
        let facts = (challenges ?? []).map { ($0.scheme, $0.parameter("error")) }
        return rules.first { $0.fits(status: status, challenges: facts) }.map { rule in
            switch rule.action {
            case .pass: .final
            case .refresh: .rejected
            }
        }
    }

    private static let ours: Set<String> = ["bearer", "dpop"]

    /// The challenge that speaks of our credential: of the scheme that it was sent with, since a
    /// server may offer the other one beside it (RFC 9449 section 7.2), else of the other.
    static func decisive(_ challenges: [Challenge], isBound: Bool) -> Challenge? {
        let own = isBound ? "dpop" : "bearer"
        let candidates = challenges.filter { $0.scheme == own }
        // Of several the one that says most: a list may begin with a bare scheme.
        return candidates.first { $0.parameter("error") != nil } ?? candidates.first
            ?? challenges.first { ours.contains($0.scheme) }
    }

    /// - Parameters:
    ///   - challenges: nil where they cannot be read.
    ///   - isBound: the credential was sent with a proof.
    ///   - bringsNonce: the response has a nonce other than the proof's.
    static func finding(
        _ challenges: [Challenge]?, isBound: Bool, bringsNonce: Bool
    ) -> Finding {
        guard let challenges else { return .unreadable }
        if challenges.isEmpty { return .noChallenge }
        guard let challenge = decisive(challenges, isBound: isBound) else { return .foreign }
        switch challenge.parameter("error") {
        case nil: return .unnamed
        case "invalid_token": return .invalidToken
        // Without a nonce that is new there is nothing that another attempt could do better.
        case "use_dpop_nonce": return isBound && bringsNonce ? .wantsNonce : .invalidRequest
        case "invalid_request", "invalid_dpop_proof": return .invalidRequest
        case "insufficient_scope": return .insufficientScope
        case "insufficient_user_authentication": return .insufficientAuthentication
        default: return .otherError
        }
    }
}
