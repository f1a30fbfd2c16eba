// Everything that a run of the proxy is told, valid as a whole, with every default. It says what is
// wanted; opening, reading and waiting are for others.

package import Bytes
package import Routing
package import Vocabulary

/// A configuration that was checked. Slots number `credentials` in their order.
package struct Settings: Sendable {
    /// The file that it was read from; nil when flags said everything.
    package var file: String?
    package var listen: [ListenerSettings]
    package var admin = AdminSettings()
    /// The routes in the order of the file, and compiled.
    package var routeSpecs: [RouteSpec]
    package var routes: RouteTable
    package var credentials: [CredentialSettings]
    package var access: AccessSettings
    package var timeouts = TimeoutSettings()
    package var limits = LimitSettings()
    package var shutdown = ShutdownSettings()
    package var reload = ReloadPolicy.watch
    /// What `proxy run` tells its program, by route.
    package var exports: [RouteExport] = []
    package var log = LogSettings()
    package var forwardProxy = ForwardProxySettings.environment
    /// Certificates to trust in place of the system's, PEM; for upstreams and providers alike.
    package var caFile: String?
    package var stateDirectory: String
    package var store = StoreSettings()
    package var workers: Int

    /// The slot of a credential by its name.
    package func slot(of id: CredentialID) -> CredentialSlot? {
        credentials.firstIndex { $0.id == id }.map { CredentialSlot($0) }
    }
}

/// Where the status page, health and metrics are.
package struct AdminSettings: Hashable, Sendable {
    /// None: there is no such page.
    package var listeners: [ListenerSettings] = []
    /// Whether a request there may end the proxy.
    package var allowsQuit = false

    package init() {}
}

/// Who may call.
package struct AccessSettings: Sendable {
    package var localSecret: LocalSecretSettings?
    package var requiredField: RequiredField?
    /// Names besides those of loopback; the hosts of routes are among them.
    package var allowedHosts: [HostAndPort] = []
    package var allowedOrigins: [AllowedOrigin] = []

    /// The rules of the listener at a port. Both are known only once it listens and the secret is
    /// read.
    package func makeGuard(
        port: UInt16, secret: SecretBytes?, isSecure: Bool = false, checksHost: Bool = true
    ) -> AccessGuard {
        precondition((secret == nil) == (localSecret == nil), "the secret is read when one is set")
        return AccessGuard(
            port: port, isSecure: isSecure, checksHost: checksHost, allowedHosts: allowedHosts,
            allowedOrigins: allowedOrigins,
            localSecret: secret.map { LocalSecret(secret: $0, field: localSecret?.field) },
            requiredField: requiredField)
    }

    /// The fields that no route passes on.
    var consumedFields: [String] {
        (localSecret.map { LocalSecret.carriers(field: $0.field) } ?? [])
            + (requiredField.map { [$0.name] } ?? [])
    }
}

/// Where the local secret is read from, and the field that carries it; see `LocalSecret`.
package struct LocalSecretSettings: Sendable {
    package var source: SecretSource
    package var field: String?
}

/// How long each phase may take, in milliseconds; nil means for ever.
package struct TimeoutSettings: Hashable, Sendable {
    /// Name resolution and TCP; then once more for TLS.
    package var connect: UInt64 = 10_000
    /// From the end of the request to the head of the response.
    package var responseHead: UInt64? = 300_000
    /// From the first byte of a client's head to its last.
    package var clientHead: UInt64 = 10_000
    /// Between two pieces of a request's body, until the answer begins.
    package var clientBody: UInt64? = 300_000
    /// A client's connection between two requests.
    package var clientIdle: UInt64 = 75_000
    /// A pooled connection to an upstream between two requests, and its whole life.
    package var upstreamIdle: UInt64 = 55_000
    package var upstreamAge: UInt64 = 600_000
    /// Between two bytes of a WebSocket or another upgraded connection.
    package var tunnelIdle: UInt64?

    package init() {}
}

/// How much is held at the most.
package struct LimitSettings: Hashable, Sendable {
    package var headBytes = 64 << 10
    package var fields = 128
    /// A request body up to this is kept until the answer comes, so that it can be sent again.
    package var replayBytes = 1 << 20
    /// All kept bodies together.
    package var replayTotalBytes = 64 << 20
    /// Connections from clients, by worker.
    package var clients = 16_384
    /// Requests that one HTTP/2 client may have under way.
    package var streams = 128
    /// Requests that wait for a credential, by worker.
    package var parkedRequests = 1024
    /// Idle connections to one upstream, by worker.
    package var idleUpstreams = 256

    package init() {}
}

/// How it ends.
package struct ShutdownSettings: Hashable, Sendable {
    /// Milliseconds that running requests get.
    package var grace: UInt64 = 30_000
    /// Whether new connections are accepted until then, for an application that shuts down beside
    /// us and still calls.
    package var keepsAccepting = false

    package init() {}
}

/// How logins are kept.
package struct StoreSettings: Equatable, Sendable {
    package enum Key: Equatable, Sendable {
        /// 32 bytes, in hexadecimal or Base64.
        case key(SecretSource)
        case passphrase(SecretSource)
    }

    /// What logins are encrypted with when they are written; nil writes them plain.
    package var encryption: Key?
    /// What else opens those that are there.
    package var decryption: Key?

    package init() {}
}

/// What is written about it.
package struct LogSettings: Hashable, Sendable {
    package enum Level: String, CaseIterable, Sendable {
        case debug, info, warning, error, off
    }

    package enum Format: String, CaseIterable, Sendable {
        /// Text on a terminal, JSON elsewhere.
        case auto
        case text, json
    }

    package var level = Level.info
    package var format = Format.auto
    /// Which requests get a line.
    package enum Access: String, CaseIterable, Sendable {
        case off
        /// Those that ended with a status from 400 up, or not at all.
        case failures
        case all
    }

    package var access = Access.failures

    package init() {}
}

/// The way out.
package enum ForwardProxySettings: Hashable, Sendable {
    /// As the variables http_proxy, https_proxy, all_proxy and no_proxy say.
    case environment
    case none
    /// One proxy for all origins but the exceptions, which are written as in no_proxy. The URL holds
    /// no password.
    case url(String, exceptions: [String])
}
