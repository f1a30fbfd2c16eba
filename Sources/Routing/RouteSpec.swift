// One route as the configuration describes it, before it is compiled. It holds no rule of its own;
// RouteTable refuses what cannot be a route.

import HTTPWire
package import Vocabulary

/// What goes where, with which credential and which changes to the head.
package struct RouteSpec: Sendable {
    /// A host name without port, lower-case; nil for requests to any host that may be asked for.
    package var host: String?
    /// The prefix that is matched and cut, "/github"; empty or "/" for every path.
    package var path: String
    package var upstream: UpstreamURL
    /// Certificates to trust in place of the system's, PEM.
    package var caFile: String?
    package var tls: UpstreamTLS?
    /// An address literal that is connected to instead of what the name resolves to.
    package var address: String?
    /// Whether a public name may lead into a private network.
    package var allowsPrivateAddresses = false
    /// The value of the Host field that the upstream sees; nil for the upstream's own.
    package var hostField: String?
    package var credential: RouteCredential?
    package var http2 = HTTP2Use.auto
    /// Fields added to each request, the client's of these names dropped.
    package var setFields: [(name: String, value: String)] = []
    /// Fields of the client that are dropped.
    package var removedFields: [String] = []
    /// The same for what goes to the client.
    package var setResponseFields: [(name: String, value: String)] = []
    package var removedResponseFields: [String] = []
    /// What the upstream is told of the caller; nothing by default.
    package var callerFields: [CallerField] = []
    /// Whether cookies are made to be kept for this proxy.
    package var rewritesCookies = false
    /// Numbers of the listeners that serve it; nil for all.
    package var listeners: Set<Int>?
    /// Protocols that a connection may change to, as the Upgrade field names them.
    package var upgrades = UpgradeRule.standard
    /// Methods and paths that may be asked for, `GET /repos/**`; empty for all. Paths are what the route
    /// puts behind the upstream's URL.
    package var allow: [String] = []
    /// Those that may not, whatever `allow` says.
    package var deny: [String] = []
    /// Whether a Location that names the upstream is turned into one that names this proxy.
    package var rewritesLocation = true
    /// Exceptions from what refusals mean; the first that fits counts.
    package var refusalRules: [RefusalRule] = []

    package init(
        host: String? = nil, path: String = "", upstream: UpstreamURL,
        credential: RouteCredential? = nil
    ) {
        self.host = host
        self.path = path
        self.upstream = upstream
        self.credential = credential
    }
}

/// The credential of a route, as far as a head is concerned.
package struct RouteCredential: Sendable {
    package var slot: CredentialSlot
    /// The name of the field that carries it.
    package var field: String
    /// The name of the query parameter that carries it instead of a field.
    package var parameter: String?
    package var clientField: ClientFieldPolicy

    package init(
        slot: CredentialSlot, field: String = "Authorization", parameter: String? = nil,
        clientField: ClientFieldPolicy = .replace
    ) {
        self.slot = slot
        self.field = field
        self.parameter = parameter
        self.clientField = clientField
    }
}

/// Fields that tell an upstream who called (RFC 7239; RFC 9110 section 7.6.3).
package enum CallerField: String, CaseIterable, Sendable {
    case xForwardedFor = "x-forwarded-for"
    case xForwardedHost = "x-forwarded-host"
    case xForwardedProto = "x-forwarded-proto"
    case forwarded
    case via
}

/// What becomes of a field of the client's that has the name of the credential's.
package enum ClientFieldPolicy: String, Sendable {
    /// It is dropped, in every spelling and however often it occurs, and the credential is sent.
    case replace
    /// It is sent and the credential is not; without one the credential is sent.
    case keep
    /// The request is refused.
    case refuse
}

/// Why a list of routes is no table. Routes are named by their place in the list.
package enum RouteError: Error, Hashable, Sendable {
    /// Two routes with one host and prefix: neither is the longer.
    case overlap(route: Int, with: Int)
    case hostInvalid(route: Int, host: String)
    case pathInvalid(route: Int, path: String)
    case fieldNameInvalid(route: Int, name: String)
    case fieldValueInvalid(route: Int, name: String)
    /// The field frames the message, names the host or carries the credential.
    case fieldReserved(route: Int, name: String)
    case upgradeInvalid(route: Int, name: String)
    case ruleInvalid(route: Int, rule: String)
    /// The client's field is to be kept although it may hold the local secret.
    case keptFieldMayHoldSecret(route: Int, name: String)
}

extension RouteSpec {
    /// Whether a text can name a header field (RFC 9110 section 5.1).
    package static func isFieldName(_ name: String) -> Bool { FieldName(name) != nil }

    /// Whether callers can be made to send a field for the proxy alone, which then goes no further: not
    /// where it frames the message or names its host.
    package static func isDemandable(_ name: String) -> Bool {
        FieldName(name).map { !KnownFieldSet.framing.contains($0.known) } ?? false
    }

    /// Whether a text can be a field's value as it stands (RFC 9110 section 5.5).
    package static func isFieldValue(_ value: String) -> Bool { FieldValue.isValid(value) }

    /// Where it stands, as pages and metrics show it; with the numbers of its listeners where another
    /// route has the same place on others.
    func name(besides specs: [RouteSpec]) -> String {
        let prefix = PathPrefix.trimmed(path)
        let place = (host ?? "") + (prefix.isEmpty ? "/" : prefix)
        guard let listeners,
            specs.count(where: {
                $0.host == host && PathPrefix.trimmed($0.path) == prefix
            }) > 1
        else { return place }
        return place + "@" + listeners.sorted().map(String.init).joined(separator: ",")
    }
}
