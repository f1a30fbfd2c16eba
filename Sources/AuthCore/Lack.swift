// Why a credential is not to be had, and what that is called in the words of the store and of the
// token endpoint.

import Crossing
import OAuth
import TokenStore
import Vocabulary

/// Why a source has no token to give.
enum Lack: Error, Hashable, Sendable {
    /// Only a person can help. `code` is the provider's, or one of ours.
    case loginNeeded(code: String)
    /// The login is as good as before; `reason` is a line without a secret.
    case transient(retryAfterSeconds: Int64?, reason: String)
    /// Only a change of the configuration helps.
    case misconfigured(reason: String)
    case denied
    /// A file, a variable or a program gives no token.
    case unavailable(reason: String)
    /// It has a token and no way to another one.
    case nothingNewer
    /// Another credential that it is made from is not to be had, and why.
    case partMissing(CredentialID, Refusal)
}

extension Lack {
    /// There is a token, and no way to another one but a login.
    static let noRefreshToken = Lack.loginNeeded(code: "no_refresh_token")

    /// One line without a secret; nil where nothing failed.
    var text: String? {
        switch self {
        case .loginNeeded(let code): "login required (\(code))"
        case .transient(_, let reason), .misconfigured(let reason), .unavailable(let reason): reason
        case .denied: "access denied"
        case .nothingNewer: nil
        case .partMissing(let id, let refusal):
            "the credential \"\(id.name)\" is not to be had (\(refusal.word))"
        }
    }
}

extension Refusal {
    fileprivate var word: String {
        switch self {
        case .loginRequired: "login required"
        case .loginDenied: "login denied"
        case .tokenEndpointUnreachable: "its provider cannot be reached"
        case .credentialMisconfigured(let hint, _), .credentialUnavailable(let hint): hint
        }
    }
}

extension StoreError {
    /// The message with the command that mends it.
    var reason: String { hint.map { "\(message); mend it with: \($0)" } ?? message }

    /// What it means for a credential whose record cannot be read.
    var lackOfLogin: Lack {
        if case .damaged = self { return .loginNeeded(code: "no_login") }
        return lackOfHold
    }

    /// What it means where its record cannot be held.
    var lackOfHold: Lack {
        switch self {
        case .refused, .newerVersion, .damaged, .locked: .unavailable(reason: reason)
        case .readOnly, .failed, .busy, .cancelled:
            .transient(retryAfterSeconds: nil, reason: message)
        }
    }
}

extension TokenFailure {
    /// The provider's code, for the record.
    var code: String {
        if case .code(let code) = reason { code } else { "refused" }
    }
}
