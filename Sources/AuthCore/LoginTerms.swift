// What one login asks for: the configuration's wishes, those of whoever started it, and what is known
// of the login before it. It decides nothing of what comes back.

import OAuth
import TokenStore
import Vocabulary

extension LoginAttempt {
    /// What differs from attempt to attempt.
    struct Terms: Sendable {
        var scopes: [String]
        /// With the wishes of whoever started it in place of the configured ones.
        var authorization: AuthorizationSettings
        var timeoutMilliseconds: UInt64
        /// A pasted URL will do when nothing can be listened to.
        var needsListener = true
        /// Whether the person is at another device (RFC 8628).
        var usesDevice: Bool
        /// Whether the login may become another person's.
        var switchesUser = false
        /// Whether a login that cannot be written lives on in memory.
        var keepsUnwritten = true
        /// The page that the browser goes back to after a login.
        var returnURL: String?
        /// As the configuration says it, before anything was discovered.
        let configured: OAuthSettings
        /// Whether there is a refresh token that goes on where the login brings none.
        let mayKeepRefreshToken: Bool
        /// Who logged in before, as the provider knows them; sent where nothing else says it.
        let knownHint: String?
        /// What the provider was told before.
        private let toldHint: String?

        /// For traffic.
        init(
            _ settings: OAuthSettings, of configured: OAuthSettings, after known: Login?,
            timeoutMilliseconds: UInt64
        ) {
            self.configured = configured
            mayKeepRefreshToken = known?.refreshToken != nil
            scopes = settings.scopes
            authorization = settings.authorization
            usesDevice = settings.grant == .deviceCode
            self.timeoutMilliseconds = timeoutMilliseconds
            knownHint = known?.knownHint
            toldHint = known?.loginHint
        }

        /// For somebody at a terminal.
        init(
            _ settings: OAuthSettings, of configured: OAuthSettings, _ options: LoginOptions,
            after known: Login?
        ) {
            self.init(
                settings, of: configured, after: options.switchesUser ? nil : known,
                timeoutMilliseconds: options.timeoutMilliseconds)
            keepsUnwritten = false
            if case .paste = options.channel { needsListener = false }
            switchesUser = options.switchesUser
            returnURL = options.returnURL
            if options.usesDevice { usesDevice = true }
            // The code itself says how long it is good for.
            if usesDevice { timeoutMilliseconds = options.deviceTimeoutMilliseconds ?? .max }
            scopes = options.scopes ?? settings.scopes
            if !options.additionalScopes.isEmpty {
                // A step up keeps what was granted so far (RFC 6749 section 6 has no other way).
                let granted = options.scopes == nil ? known?.grantedScopes ?? [] : []
                for scope in granted + options.additionalScopes where !scopes.contains(scope) {
                    scopes.append(scope)
                }
            }
            if let hint = options.loginHint { authorization.loginHint = hint }
            if !options.locales.isEmpty { authorization.locales = options.locales }
            if !options.prompts.isEmpty { authorization.prompts = options.prompts }
            if !options.contextClasses.isEmpty {
                authorization.contextClasses = options.contextClasses
            }
            authorization.maxAgeSeconds = options.maxAgeSeconds ?? authorization.maxAgeSeconds
            if options.isScopeStrict { authorization.isScopeStrict = true }
        }

        /// What the URL says besides what is fresh in each login; a wish replaces a loose parameter of
        /// the same name.
        func extras(
            _ loose: [(name: String, value: String)]
        ) -> [(name: String, value: String)] {
            let wishes = authorization.parameters
            var extras = loose.filter { one in !wishes.contains { $0.name == one.name } } + wishes
            if let knownHint, !extras.contains(where: { $0.name == "login_hint" }) {
                extras.append(("login_hint", knownHint))
            }
            return extras
        }

        /// What to tell the next time.
        var keptHint: String? { authorization.loginHint ?? toldHint }
    }
}

extension Login {
    /// How the provider knows the person, for the next login (OpenID Connect Core section 3.1.2.1):
    /// what it was told before, or what its ID token offers.
    var knownHint: String? {
        if let loginHint { return loginHint }
        guard let token = idToken.flatMap({ try? IDToken($0) }) else { return nil }
        return ["login_hint", "preferred_username", "email", "upn"].lazy
            .compactMap { token.claims[$0]?.asString }.first { !$0.isEmpty }
    }

    /// The scopes that the provider granted, one by one.
    package var grantedScopes: [String] { Login.scopes(scope) }

    /// The scopes that were asked for and not granted. What a token proves by being there counts as
    /// granted: some providers leave those scopes out of their answer.
    package var missingScopes: [String] {
        var granted = Set(grantedScopes)
        if idToken != nil { granted.insert("openid") }
        if refreshToken != nil { granted.insert("offline_access") }
        return Login.scopes(requestedScope).filter { !granted.contains($0) }
    }

    private static func scopes(_ text: String?) -> [String] {
        (text ?? "").split(separator: " ").map(String.init)
    }
}

extension OAuthSettings.RefreshScope {
    /// What a refresh of that login asks for.
    func scopes(of login: Login) -> [String]? {
        switch self {
        case .none: nil
        case .granted: login.grantedScopes
        case .list(let scopes): scopes
        }
    }
}
