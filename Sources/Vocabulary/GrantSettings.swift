// What the configuration says of how a client gets its tokens: by a person's consent, on its own
// account, or in exchange for another token; and how it shows who it is where a secret is not enough.

/// What is exchanged for an access token.
package enum GrantSettings: Equatable, Sendable {
    /// A person consents in a browser (RFC 6749 section 4.1).
    case authorizationCode
    /// A person types a code on another device (RFC 8628).
    case deviceCode
    /// The client itself (RFC 6749 section 4.4).
    case clientCredentials
    /// A signed statement (RFC 7523 section 2.1).
    case jwtBearer(AssertionSettings)
    /// Another token (RFC 8693).
    case tokenExchange(TokenExchangeSettings)

    /// Whether a person has to take part.
    package var needsPerson: Bool {
        switch self {
        case .authorizationCode, .deviceCode: true
        case .clientCredentials, .jwtBearer, .tokenExchange: false
        }
    }
}

/// Where the statement of the JWT bearer grant comes from.
package enum AssertionSettings: Equatable, Sendable {
    /// Made and signed by somebody else: a projected token of an orchestrator's, say.
    case made(SecretSource)
    /// Made here for each request.
    case own(OwnAssertion)
    /// Made here, by a key file as cloud providers hand them out: JSON with `client_email`,
    /// `private_key`, `private_key_id` and `token_uri`. `subject` is the user to act for.
    case serviceAccount(SecretSource, subject: String?)
}

/// The claims of a statement that is made here.
package struct OwnAssertion: Equatable, Sendable {
    package var key: SecretSource
    package var keyID: String?
    package var issuer: String
    package var subject: String
    /// Nil is the issuer, or the token endpoint where none is known.
    package var audience: String?
    package var lifetimeSeconds: Int64
    /// Further claims, all texts.
    package var claims: [NamedValue]

    package init(key: SecretSource, issuer: String, subject: String) {
        self.key = key
        keyID = nil
        self.issuer = issuer
        self.subject = subject
        audience = nil
        lifetimeSeconds = 300
        claims = []
    }
}

/// What is exchanged, and for what.
package struct TokenExchangeSettings: Equatable, Sendable {
    /// A token and its kind, a URI of RFC 8693 section 3.
    package struct Party: Equatable, Sendable {
        package enum Source: Equatable, Sendable {
            /// What another credential sends.
            case credential(CredentialID)
            case secret(SecretSource)
        }

        package var source: Source
        package var type: String

        package init(_ source: Source, type: String = TokenExchangeSettings.accessToken) {
            self.source = source
            self.type = type
        }
    }

    package static let accessToken = typePrefix + "access_token"
    package static let identityToken = typePrefix + "id_token"
    package static let typePrefix = "urn:ietf:params:oauth:token-type:"
    /// Kinds that no API is called with (RFC 8693 section 3).
    package static let unusableTypes: Set<String> = Set(
        ["refresh_token", "saml1", "saml2"].map { typePrefix + $0 })

    package var subject: Party
    /// Who acts for the subject.
    package var actor: Party?
    package var audiences: [String]
    package var resources: [String]
    /// Nil leaves it to the server.
    package var requestedType: String?

    package init(subject: Party) {
        self.subject = subject
        actor = nil
        audiences = []
        resources = []
        requestedType = nil
    }
}

/// A certificate and its key as PEM files, shown to a server in the TLS handshake (RFC 8705).
package struct ClientCertificate: Hashable, Sendable {
    package var certificatePath: String
    /// May be the same file.
    package var keyPath: String

    package init(certificatePath: String, keyPath: String) {
        self.certificatePath = certificatePath
        self.keyPath = keyPath
    }
}

/// Whom a client assertion is for (RFC 7523 section 3).
package enum AssertionAudience: Equatable, Sendable {
    /// The issuer, as RFC 7523bis wants it; the token endpoint where no issuer is known.
    case issuer
    case tokenEndpoint
    /// Where each request goes: some servers take no other one at their further endpoints.
    case endpoint
    case other(String)
}

/// What some providers do that no specification allows. Presets switch these on.
package struct ProviderQuirks: OptionSet, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// GitHub's own error codes are understood.
    package static let githubErrors = ProviderQuirks(rawValue: 1 << 0)
    /// A refresh token comes only with fresh consent, which is asked for where none is stored.
    package static let consentWithoutRefreshToken = ProviderQuirks(rawValue: 1 << 1)
    /// The metadata's issuer has `{tenantid}` for the tenant, which ID tokens name by `tid`.
    package static let issuerTemplate = ProviderQuirks(rawValue: 1 << 2)
    /// The atproto profile: `sub` is a DID whose server must be the issuer.
    package static let atproto = ProviderQuirks(rawValue: 1 << 3)
    /// `invalid_grant` comes with 403.
    package static let forbiddenGrant = ProviderQuirks(rawValue: 1 << 4)

    /// By the words of the configuration.
    package static let named: [(name: String, quirk: ProviderQuirks)] = [
        ("github_errors", .githubErrors),
        ("consent_without_refresh_token", .consentWithoutRefreshToken),
        ("issuer_template", .issuerTemplate), ("atproto", .atproto),
        ("forbidden_grant", .forbiddenGrant),
    ]
}

extension OAuthSettings {
    /// Where secrets of one line are read from.
    package var secretSources: [SecretSource] {
        var sources = [clientSecret, registration?.initialAccessToken].compactMap { $0 }
        switch grant {
        case .jwtBearer(.made(let source)): sources.append(source)
        case .tokenExchange(let exchange):
            for case .secret(let source)? in [exchange.subject.source, exchange.actor?.source] {
                sources.append(source)
            }
        case .authorizationCode, .deviceCode, .clientCredentials, .jwtBearer: break
        }
        for kind in RequestKind.allCases {
            let added = additions[kind] ?? RequestAdditions()
            for case .secret(let source) in (added.parameters + added.fields).map(\.value) {
                sources.append(source)
            }
        }
        return sources
    }

    /// Where keys and key files are read from.
    package var keySources: [SecretSource] {
        var sources = [privateKey].compactMap { $0 }
        switch grant {
        case .jwtBearer(.own(let own)): sources.append(own.key)
        case .jwtBearer(.serviceAccount(let source, _)): sources.append(source)
        case .authorizationCode, .deviceCode, .clientCredentials, .jwtBearer, .tokenExchange: break
        }
        return sources
    }
}
