// What the configuration says of one credential. Configuration makes these values, AuthCore lives by
// them; defaults are the Configuration room's.

package import Bytes

/// Where a secret is read from, each time that it is needed.
package enum SecretSource: Equatable, Sendable {
    case file(path: String)
    case environment(name: String)
    case command([String])
    /// What a provider gave at registration. No configuration says this.
    case known(SecretBytes)
}

/// How the credential reaches the upstream (RFC 9110 section 11.6.2; RFC 6750 section 2.1).
package struct Injection: Hashable, Sendable {
    /// What is made of the token.
    package enum Form: Hashable, Sendable {
        /// A field: name, prefix and the token as it is.
        case token
        /// The field with user and token as a pair (RFC 7617), behind the prefix.
        case basic(user: String)
        /// A parameter of the query; field and prefix mean nothing.
        case query(name: String)
    }

    package var form = Form.token
    /// The field's name as it is sent.
    package var field: String
    /// What stands before the token, its space included: "Bearer ", or nothing.
    package var prefix: String

    package init(field: String = "Authorization", prefix: String = "Bearer ") {
        self.field = field
        self.prefix = prefix
    }
}

/// One entry of `credentials`.
package struct CredentialSettings: Equatable, Sendable {
    package enum Kind: Equatable, Sendable {
        case oauth(OAuthSettings)
        /// A token from a file or the environment; a file is read again when it changes.
        case fixed(SecretSource)
        /// A program that prints a token, or JSON with `access_token` and `expires_in`.
        /// `lifetimeSeconds` holds where the program names none; nil means until a 401.
        case command([String], lifetimeSeconds: Int64?)
    }

    package var id: CredentialID
    package var kind: Kind
    package var injection: Injection
    /// Whether `proxy token` may print it.
    package var isExportable: Bool

    package init(
        id: CredentialID, kind: Kind, injection: Injection = Injection(), isExportable: Bool = true
    ) {
        self.id = id
        self.kind = kind
        self.injection = injection
        self.isExportable = isExportable
    }
}

/// An OAuth client and the grant that it uses.
package struct OAuthSettings: Equatable, Sendable {
    /// RFC 6749 section 2.3; RFC 7591 section 2 has the names.
    package enum ClientAuthentication: String, Sendable {
        case none
        case basic = "client_secret_basic"
        case post = "client_secret_post"
        case secretJWT = "client_secret_jwt"
        case privateKeyJWT = "private_key_jwt"
        case tls = "tls_client_auth"
        case selfSignedTLS = "self_signed_tls_client_auth"
    }

    /// Where the endpoints come from.
    package enum Endpoints: Equatable, Sendable {
        /// An issuer whose metadata names them (RFC 8414; OpenID Connect Discovery 1.0).
        case issuer(String)
        /// By hand; `issuer` is compared with what answers claim, when it is known. Only a login in
        /// a browser needs an authorization endpoint.
        case fixed(authorization: String?, token: String, issuer: String?)
        /// The protected resource, an upstream's URL, names its servers (RFC 9728). `issuer` is the
        /// only one of them that is wanted, where the configuration names one.
        case discovered(resource: String, issuer: String?)
    }

    /// Who may start an interactive login.
    package enum LoginPolicy: String, Sendable {
        /// Traffic may, when a person is there.
        case onDemand = "on_demand"
        /// Only `proxy login` may.
        case manual
    }

    /// What a refresh says of scopes (RFC 6749 section 6).
    package enum RefreshScope: Hashable, Sendable {
        /// Nothing: the server keeps to what it granted.
        case none
        /// What was granted last, for servers that want to be told.
        case granted
        case list([String])
    }

    package var endpoints: Endpoints
    /// Further endpoints that the configuration names, by their names in metadata; these win.
    package var endpointsByHand: [String: String]
    package var grant: GrantSettings
    /// Empty where `registration` has to find it: `DiscoveryDesk.client` gives settings that have one.
    package var clientID: String
    package var registration: RegistrationSettings?
    /// The upstream whose document named the issuer, where one did.
    package var discoveredFor: String?
    /// Where what that document named may be.
    package var reach: OutboundRequest.Reach
    package var clientSecret: SecretSource?
    /// Signs assertions; PEM.
    package var privateKey: SecretSource?
    /// `kid` of those assertions.
    package var keyID: String?
    package var assertionAudience: AssertionAudience
    /// Shown to the provider; its endpoints for TLS clients are preferred then (RFC 8705 section 5).
    package var clientCertificate: ClientCertificate?
    /// Nil: chosen from the metadata and from what is there, `none` without a secret or a key.
    package var clientAuthentication: ClientAuthentication?
    package var scopes: [String]
    package var authorization: AuthorizationSettings
    package var identity: IdentitySettings
    /// Which token requests carry.
    package var injected: InjectedToken
    package var refreshScope: RefreshScope
    /// Reserved names were refused at load.
    package var additions: [RequestKind: RequestAdditions]
    package var quirks: ProviderQuirks
    /// The loopback callback: a pinned port, or nil for a free one.
    package var callbackPort: UInt16?
    /// Another port will do where that one is taken.
    package var callbackPortIsPreferred: Bool
    package var callbackPath: String
    /// "127.0.0.1" or "localhost", as registered with the provider.
    package var callbackHost: String
    /// Where the provider sends the browser after a log-out, where one is registered.
    package var afterLogout: LoopbackAddress?
    package var login: LoginPolicy
    /// How long a parked request waits for a person.
    package var loginWaitMilliseconds: UInt64
    /// How long before expiry a refresh starts at the most; nil is the default of
    /// min(60 s, 10 % of the lifetime).
    package var refreshLeadSeconds: Int64?
    /// How long a login may lie without a refresh, for refresh tokens that end when they are not
    /// used; nil leaves it to the access token's expiry.
    package var keepAliveSeconds: Int64?
    /// For tokens that come without `expires_in` and are no JWT.
    package var fallbackLifetimeSeconds: Int64?
    /// Tokens are bound to a key of each login (RFC 9449), and others are refused.
    package var requiresProof = false

    package init(endpoints: Endpoints, clientID: String) {
        self.endpoints = endpoints
        endpointsByHand = [:]
        grant = .authorizationCode
        self.clientID = clientID
        registration = nil
        discoveredFor = nil
        reach = .anywhere
        clientSecret = nil
        privateKey = nil
        keyID = nil
        assertionAudience = .issuer
        clientCertificate = nil
        clientAuthentication = nil
        scopes = []
        authorization = AuthorizationSettings()
        identity = IdentitySettings()
        injected = .accessToken
        refreshScope = .none
        additions = [:]
        quirks = []
        callbackPort = nil
        callbackPortIsPreferred = false
        callbackPath = "/callback"
        callbackHost = "127.0.0.1"
        afterLogout = nil
        login = .onDemand
        loginWaitMilliseconds = 120_000
        refreshLeadSeconds = nil
        keepAliveSeconds = nil
        fallbackLifetimeSeconds = nil
    }
}

extension OAuthSettings {
    /// The token endpoint where the configuration names it.
    package var tokenEndpointByHand: String? {
        if case .fixed(_, let token, _) = endpoints { token } else { nil }
    }
}
