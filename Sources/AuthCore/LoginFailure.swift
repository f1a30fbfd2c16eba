// Why a login gave nothing, in words for a person; none of them holds a code, a state or a token.

package import OAuth
package import TokenStore

/// The end of an attempt without a login. What was stored before is still there.
package enum LoginFailure: Error, Sendable {
    /// The credential is no OAuth client.
    case notInteractive
    /// Another `proxy login` for this credential runs.
    case alreadyInProgress
    case discovery(DiscoveryError)
    case noAuthorizationEndpoint
    /// The metadata does not list S256, which the configuration demands.
    case noPKCE
    /// Less was granted than asked for, which the configuration or a flag forbids.
    case scopesRefused([String])
    /// Another person than the one whose login is stored; both as the provider names them.
    case otherPerson(known: String, received: String)
    /// Another configuration's login is stored under the name.
    case foreignLogin(ForeignLogin)
    case request(AuthorizationRequestError)
    case portInUse(UInt16)
    case cannotListen(code: Int32)
    case browser(ProgramError)
    /// The provider's answer at the callback.
    case callback(CallbackError)
    case token(TokenFailure)
    case clientSecret(SecretError)
    case idToken(IDTokenError)
    /// The account that the token names does not vouch for the server.
    case account(AccountError)
    /// The ID token's signature cannot be checked.
    case keys(KeysError)
    case store(StoreError)
    case timedOut(seconds: Int)
    /// Nobody used a device's code in time.
    case deviceCodeExpired
    case cancelled
}

extension LoginFailure {
    /// Which kind of end it was, for an exit code.
    package enum Kind: Sendable {
        case failed, denied, timedOut, configuration
    }

    package var kind: Kind {
        switch self {
        case .callback(.refused(code: "access_denied", description: _)): .denied
        case .token(let failure) where failure.verdict == .denied: .denied
        case .token(let failure) where failure.verdict == .misconfigured: .configuration
        case .scopesRefused: .denied
        case .timedOut, .deviceCodeExpired: .timedOut
        case .notInteractive, .noAuthorizationEndpoint, .noPKCE, .request, .clientSecret:
            .configuration
        case .discovery(let error):
            if case .unreachable = error { .failed } else { .configuration }
        case .alreadyInProgress, .portInUse, .cannotListen, .browser, .callback, .token, .idToken,
            .keys, .account, .otherPerson, .foreignLogin, .store, .cancelled:
            .failed
        }
    }

    /// Whether it may go by itself, with nothing that a person could do.
    var isProvidersTrouble: Bool {
        switch self {
        case .discovery(let error): return error.mayPass
        case .token(let failure):
            if case .transient = failure.verdict { return true }
            return false
        default: return false
        }
    }

    /// One sentence without a full stop.
    package var message: String {
        switch self {
        case .notInteractive: "this credential needs no login"
        case .alreadyInProgress: "a login for this credential is already in progress"
        case .discovery(let error): error.message
        case .noAuthorizationEndpoint: "the provider metadata has no authorization_endpoint"
        case .noPKCE:
            "the provider metadata does not list S256 in code_challenge_methods_supported"
        case .scopesRefused(let scopes):
            "the provider did not grant: \(scopes.joined(separator: " "))"
        case .otherPerson(let known, let received):
            "the provider logged in \"\(received.prefix(80))\", and this is the login of "
                + "\"\(known.prefix(80))\""
        case .foreignLogin(let login): login.message
        case .request(let error): error.text
        case .portInUse(let port): "port \(port), the login's callback, is in use"
        case .cannotListen(let code): "cannot listen for the login's callback (error \(code))"
        case .browser(let error): error.message
        case .callback(let error): error.text
        case .token(let failure): failure.description
        case .clientSecret(let error): error.message
        case .idToken(let error): "the provider's ID token is not acceptable: \(error.text)"
        case .keys(let error): error.message
        case .account(let error): error.message
        case .store(let error): error.message
        case .timedOut(let seconds): "nobody finished the login within \(seconds) s"
        case .deviceCodeExpired: "the code expired before a login was finished with it"
        case .cancelled: "the login was cancelled"
        }
    }

    /// What may help, where something is known to.
    package var hint: String? {
        switch self {
        case .store(let error): error.hint
        case .foreignLogin(let login): login.hint
        case .discovery(let error): error.hint
        case .portInUse: "end the program that listens there, or configure another callback port"
        case .timedOut, .browser: "proxy login --print-url"
        case .otherPerson: "log in as the same person, or add --switch-user"
        default: nil
        }
    }
}

extension AuthorizationRequestError {
    var text: String {
        switch self {
        case .invalidEndpoint(let url): "the endpoint \"\(url)\" is no URL"
        case .insecureEndpoint(let url): "the endpoint \"\(url)\" is not https"
        case .reservedParameter(let name):
            "the authorization parameter \"\(name)\" is set by the login itself"
        case .repeatedParameter(let name): "the authorization parameter \"\(name)\" is there twice"
        }
    }
}

extension CallbackError {
    /// For a person; of an answer whose sender is in doubt it repeats nothing.
    package var text: String {
        switch self {
        case .noParameters:
            "the callback came without parameters; the provider may have put them behind \"#\" "
                + "(response_mode must be query)"
        case .unreadable: "the callback cannot be read"
        case .stateMissing, .stateMismatch: "the callback belongs to another login"
        case .otherRedirect: "the URL is not this login's callback"
        case .issuerMissing(let expected):
            "the callback does not say that it comes from \"\(expected)\""
        case .issuerMismatch(let expected, let received):
            "the callback comes from \"\(received)\", not from \"\(expected)\""
        case .refused(let code, let description):
            "the provider answered \"\(code)\"" + (description.map { ": \($0)" } ?? "")
        case .codeMissing: "the callback holds no code"
        }
    }
}
