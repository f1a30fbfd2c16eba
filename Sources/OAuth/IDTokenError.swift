// What is wrong with an ID token. The texts that a provider wrote are cleaned for showing; the token's
// own text is in none.

import Vocabulary

package enum IDTokenError: Error, Hashable, Sendable {
    case unreadable(JSONWebTokenError)
    /// Nobody here can open it; the client's registration asks for it.
    case encrypted
    /// `alg` is "none".
    case unsigned
    case algorithmNotAllowed(String)
    /// A header that must be understood, and is not (RFC 7515 section 4.1.11).
    case criticalHeader
    /// A token of another kind, by its `typ` (RFC 8725 section 3.11).
    case otherType(String)
    /// The provider publishes no key for it, or one that is meant for something else.
    case unknownKey
    case badSignature
    /// A required claim is absent or of the wrong type.
    case missing(claim: String)
    case otherIssuer(expected: String, received: String)
    case otherAudience
    case untrustedAudience(String)
    case otherAuthorizedParty
    case expired(secondsAgo: Int64)
    case notYetValid(secondsAhead: Int64)
    /// `iat` is too far from now, in either direction.
    case issuedAtOutsideWindow(secondsAgo: Int64)
    case nonceMismatch
    /// `at_hash` or `c_hash` is another token's or code's.
    case hashMismatch(claim: String)
    case authenticationTooOld(secondsAgo: Int64)
    case otherContextClass(String?)
    case otherVectorOfTrust(String?)
    /// A refresh brought the token of another server or person.
    case issuerChanged
    case subjectChanged
    /// A claim that a refresh may not change (OpenID Connect Core section 12.2).
    case changed(claim: String)
}

extension IDTokenError {
    /// Whether the token is another person's: nothing of the answer that brought it may be used.
    package var isOfAnotherPerson: Bool { self == .issuerChanged || self == .subjectChanged }

    /// One line for a person, without a full stop.
    package var text: String {
        switch self {
        case .unreadable: "it is no JWT"
        case .encrypted:
            "it is encrypted, which is not supported; register the client without"
                + " id_token_encrypted_response_alg"
        case .unsigned: "it is not signed (alg is \"none\")"
        case .algorithmNotAllowed(let name): "it is signed with \"\(name)\", which is not allowed"
        case .criticalHeader: "it has a critical header that is not understood"
        case .otherType(let type): "it is of the type \"\(type)\""
        case .unknownKey: "the provider publishes no key for it"
        case .badSignature: "its signature is not the provider's"
        case .missing(let claim): "its claim \"\(claim)\" is missing"
        case .otherIssuer(let expected, let received):
            "its issuer is \"\(received)\", not \"\(expected)\""
        case .otherAudience: "it is meant for another client"
        case .untrustedAudience(let name):
            "it is meant for \"\(name)\" as well, which trusted_audiences does not name"
        case .otherAuthorizedParty: "its authorized party (azp) is another client"
        case .expired(let seconds): "it expired \(seconds) s ago\(clock)"
        case .notYetValid(let seconds): "it is valid only in \(seconds) s\(clock)"
        case .issuedAtOutsideWindow(let seconds):
            seconds < 0
                ? "it was issued \(seconds == .min ? .max : -seconds) s in the future\(clock)"
                : "it was issued \(seconds) s ago\(clock)"
        case .nonceMismatch: "its nonce is another login's"
        case .hashMismatch(let claim): "its \(claim) is of something else than what came with it"
        case .authenticationTooOld(let seconds):
            "the person was authenticated \(seconds) s ago, which max_age forbids"
        case .otherContextClass(let name):
            "its acr is \(Self.quoted(name)), which was not asked for"
        case .otherVectorOfTrust(let name):
            "its vot is \(Self.quoted(name)), which vtr does not ask for"
        case .issuerChanged: "it comes from another server than the login"
        case .subjectChanged: "it is of another person than the login"
        case .changed(let claim): "its claim \"\(claim)\" differs from the login's"
        }
    }

    private var clock: String { " (is this machine's clock right?)" }

    private static func quoted(_ text: String?) -> String { text.map { "\"\($0)\"" } ?? "missing" }
}
