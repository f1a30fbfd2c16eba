// From the facts about a login to the one word that says who has to do what (F89, I70): nobody, the
// provider, whoever configures, or whoever logs in. A pure function.

import TokenStore
import Vocabulary

/// The word, why, and whether a login would mend it.
struct LoginVerdict {
    let state: CredentialState
    var detail: String?
    var wantsLogin = false

    private init(
        _ state: CredentialState, _ detail: String? = nil, wantsLogin: Bool = false
    ) {
        self.state = state
        self.detail = detail
        self.wantsLogin = wantsLogin
    }

    /// - Parameters:
    ///   - hasUsableToken: by the time that is left of it.
    ///   - note: what failed since the login was last renewed.
    init(_ login: Login, hasUsableToken: Bool, _ note: RenewalNote?, at now: WallTime) {
        if let rejection = login.rejection {
            let answer = "the provider answered \"\(rejection.code)\""
            // With its grant gone and an API's word against it, the rest of its time is nothing.
            self =
                hasUsableToken && !rejection.tokenWasRefused
                ? .init(.usable, answer + "; a login is needed once it expires", wantsLogin: true)
                : .init(.loginRequired, answer, wantsLogin: true)
        } else if login.refreshToken == nil {
            self = .init(
                hasUsableToken ? .usable : .loginRequired, "there is no refresh token",
                wantsLogin: !hasUsableToken)
        } else if hasUsableToken {
            self = .init(.usable)
        } else {
            self.init(expired: login, note, at: now)
        }
    }

    private init(expired login: Login, _ note: RenewalNote?, at now: WallTime) {
        switch note?.kind {
        case .transient: self = .init(.failing)
        case .misconfigured: self = .init(.misconfigured, note?.failure)
        case .denied: self = .init(.denied, "the provider denies access", wantsLogin: true)
        case .loginRequired: self = .init(.loginRequired, note?.failure, wantsLogin: true)
        case .unavailable: self = .init(.unavailable, note?.failure)
        case nil:
            self =
                login.hasEnded(at: now)
                ? .init(.loginRequired, "the refresh token has expired", wantsLogin: true)
                : .init(.renewable)
        }
    }
}
