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
    /// A challenge of a scheme that takes credentials such as ours, without an error.
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
    /// An error that no table knows: `expired_token` and its like are many.
    case otherError
    /// Only schemes that take nothing of ours (Negotiate; Basic where a token was sent).
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
        (401, .otherError, .rejected),
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
    static func action(
        _ status: Int, _ challenges: [Challenge]?, by rules: [RefusalRule]
    ) -> RefusalRule.Action? {
        guard !rules.isEmpty else { return nil }
        let facts = (challenges ?? []).map { ($0.scheme, $0.parameter("error")) }
        return rules.first { $0.fits(status: status, challenges: facts) }?.action
    }

    static func verdict(_ action: RefusalRule.Action) -> Exchange.Verdict {
        switch action {
        case .pass, .login: .final
        case .refresh: .rejected
        case .fail: .unwanted
        }
    }

    /// What APIs call the scheme of a token, whatever it was sent as.
    private static let tokenSchemes: Set<String> = ["bearer", "dpop", "token", "oauth", "jwt"]

    /// The scheme that a field line sends its credential with, in lower case. Nil where there is none:
    /// in another field, in the query, or where the token stands alone.
    static func scheme(of line: UnsafeRawBufferPointer) -> String? {
        let name = "authorization:".utf8
        guard line.count > name.count,
            zip(line, name).allSatisfy({ ASCII.lowercased($0) == $1 })
        else { return nil }
        let value = line[name.count...].drop { $0 == ASCII.space || $0 == ASCII.tab }
        guard let end = value.firstIndex(of: ASCII.space) else { return nil }
        return String(decoding: value[..<end].map(ASCII.lowercased), as: UTF8.self)
    }

    /// The challenge that speaks of our credential: of the scheme that it was sent with, since a
    /// server may offer another one beside it (RFC 9449 section 7.2), else one for tokens. Without a
    /// scheme of its own any challenge may be meant.
    static func decisive(_ challenges: [Challenge], scheme: String?) -> Challenge? {
        let candidates = challenges.filter { scheme == nil || $0.scheme == scheme }
        // Of several the one that says most: a list may begin with a bare scheme.
        return candidates.first { $0.parameter("error") != nil } ?? candidates.first
            ?? challenges.first { tokenSchemes.contains($0.scheme) }
    }

    /// - Parameters:
    ///   - challenges: nil where they cannot be read.
    ///   - scheme: what the credential was sent with, as `scheme(of:)` tells.
    ///   - isBound: the credential was sent with a proof.
    ///   - bringsNonce: the response has a nonce other than the proof's.
    static func finding(
        _ challenges: [Challenge]?, scheme: String?, isBound: Bool, bringsNonce: Bool
    ) -> Finding {
        guard let challenges else { return .unreadable }
        if challenges.isEmpty { return .noChallenge }
        guard let challenge = decisive(challenges, scheme: scheme) else { return .foreign }
        switch challenge.parameter("error").map(word) {
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

    /// An error's name as it was meant: servers put blanks and quotes of another kind around it.
    private static func word(_ error: String) -> String {
        let isOutside: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "'" }
        var word = error.lowercased()[...].drop(while: isOutside)
        while let last = word.last, isOutside(last) { word.removeLast() }
        return String(word)
    }
}
