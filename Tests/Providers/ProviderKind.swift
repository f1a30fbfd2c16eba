// What each real provider is and where it keeps its endpoints, and the clients that all of them know.

import Support
import Testing
import Vocabulary

extension Provider {
    enum Kind: String, CaseIterable, Sendable, CustomTestStringConvertible {
        /// In C. Everything but token exchange and JWT bearer; redirect URIs are compared whole.
        case glewlwyd
        /// In Python. Any loopback port; a device page that can refuse.
        case nanoidp
        /// Django OAuth Toolkit. Opaque tokens, an issuer with a path, consent that can be refused.
        case dot
        /// In Python, on Authlib. JWT bearer; consent that can be refused.
        case canaille
        /// In Python. Token exchange; nobody signs in there.
        case authgent
        /// LemonLDAP::NG, in Perl. Refresh tokens stay the same; no revocation.
        case lemonldap

        var testDescription: String { rawValue }

        /// What logins ask for: Authgent has no ID tokens, Canaille always gives refresh tokens.
        var scopes: [String] {
            switch self {
            case .authgent: ["profile", "offline_access"]
            case .canaille: ["openid", "profile"]
            default: ["openid", "profile", "offline_access"]
            }
        }

        /// What machines ask for.
        var machineScope: String {
            switch self {
            case .canaille, .nanoidp, .lemonldap: "profile"
            default: "api.read"
            }
        }

        var takesAnyPort: Bool { self == .nanoidp || self == .dot }

        var introspectionPath: String {
            switch self {
            case .glewlwyd: "/api/oidc/introspect"
            case .nanoidp, .authgent: "/introspect"
            case .dot: "/o/introspect/"
            case .canaille: "/oauth/introspect"
            case .lemonldap: "/oauth2/introspect"
            }
        }

        var revocationPath: String {
            switch self {
            case .glewlwyd: "/api/oidc/revoke"
            case .nanoidp, .authgent, .lemonldap: "/revoke"
            case .dot: "/o/revoke_token/"
            case .canaille: "/oauth/revoke"
            }
        }

        var tokenPath: String {
            switch self {
            case .glewlwyd: "/api/oidc/token"
            case .nanoidp, .authgent: "/token"
            case .dot: "/o/token/"
            case .canaille: "/oauth/token"
            case .lemonldap: "/oauth2/token"
            }
        }

        /// Nil where there is none: Authgent names one that answers 404.
        var userinfoPath: String? {
            switch self {
            case .glewlwyd: "/api/oidc/userinfo"
            case .nanoidp: "/userinfo"
            case .dot: "/o/userinfo/"
            case .canaille: "/oauth/userinfo"
            case .authgent: nil
            case .lemonldap: "/oauth2/userinfo"
            }
        }

        /// The scripted person, as a command for `--browser`.
        var person: String {
            let words = self == .lemonldap ? " --password ada" : ""
            return ServerScript.path("user.py") + words
        }
    }

    /// The clients. At some providers one cannot do all that its name says; the tests know where.
    enum Client: String, CaseIterable, Sendable, CustomTestStringConvertible {
        case publicly = "public-cli"
        case basic = "basic-cli"
        case post = "post-cli"
        /// For codes on other devices; public.
        case device = "device-cli"
        /// For client credentials; with a secret by Basic.
        case service = "service-cli"
        /// With `private_key_jwt`.
        case key = "key-cli"

        var testDescription: String { rawValue }

        var method: String {
            switch self {
            case .publicly, .device: "none"
            case .basic, .service: "client_secret_basic"
            case .post: "client_secret_post"
            case .key: "private_key_jwt"
            }
        }
    }

    /// The client's name there.
    func name(of client: Client) throws -> String {
        guard kind == .authgent else { return client.rawValue }
        return try #require(try registration(of: client)["client_id"]?.asString)
    }

    /// The secret of basic-cli has no letter that form-encoding changes: NanoIDP does not undo it, as
    /// RFC 6749 section 2.3.1 asks.
    func secret(of client: Client) throws -> String? {
        guard kind != .authgent || client.method == "none" else {
            return try registration(of: client)["client_secret"]?.asString
        }
        return switch client {
        case .publicly, .device, .key: nil
        case .basic: "canary-secret.for_basic~"
        case .post: "canary:secret+for/%&="
        case .service: "canary-secret.for_service~"
        }
    }
}
