// Who may call: decided from the head alone, before a credential is looked for, a login begun or an
// upstream contacted. It knows the configuration's lists and trusts no comparison of two things that
// the caller sent.

package import Bytes
package import HTTPWire

/// Why a request gets no further.
package enum AccessRefusal: Hashable, Sendable {
    /// CONNECT, which would open a tunnel past every rule, or TRACE, which would send the credential
    /// back (RFC 9110 sections 9.3.6 and 9.3.8).
    case methodNotSupported
    /// The Host field is no host and port (RFC 9112 section 3.2).
    case hostInvalid
    /// The name asked for is not this proxy's: a rebound DNS name, or a client set up wrongly.
    case hostNotAllowed
    /// A page of an origin that is not allowed, `null` included.
    case originNotAllowed
    /// A browser says that another site caused the request.
    case crossSite
    /// The field that the configuration demands is not there.
    case requiredFieldMissing
    /// The local secret is missing or wrong.
    case localSecretRequired
    /// The client sent a credential of its own, and the route refuses that.
    case clientCredentialRefused
    /// The request asks for a protocol that the route does not pass on.
    case upgradeNotAllowed
    /// The route's rules do not have this method and path.
    case methodOrPathNotAllowed
    /// The route has rules, or one beneath it that the path may belong to, and the path could be read in more
    /// than one way.
    case pathAmbiguous
    /// Dot segments would take the path out of the route's base path.
    case pathLeavesRoute
}

/// The secret that local callers present, and how.
package struct LocalSecret: Sendable {
    package let secret: SecretBytes
    /// The one field that carries it. Nil: Authorization (Bearer, or the password of Basic) or
    /// X-API-Key, as SDKs send a key.
    package let field: String?

    package init(secret: SecretBytes, field: String? = nil) {
        self.secret = secret
        self.field = field
    }

    /// The fields that can carry it.
    package static func carriers(field: String?) -> [String] {
        field.map { [$0] } ?? ["Authorization", "X-API-Key"]
    }
}

/// A field that every request must have, against forged requests from servers on this machine.
package struct RequiredField: Hashable, Sendable {
    package let name: String
    /// Nil: any value.
    package let value: String?

    package init(name: String, value: String?) {
        self.name = name
        self.value = value
    }
}

/// The rules of one listener. A class, as `RouteTable` is, and for the same reason.
package final class AccessGuard: Sendable {
    /// Names with the port that they are good for as the tag.
    private let hosts: ByteTable
    private let origins: ByteTable
    private let secret: SecretCheck?
    private let required: (name: FieldName, value: [UInt8]?)?
    private let checksHost: Bool
    private let admitsNavigation: Bool
    private let defaultPort: UInt16
    /// The fields that callers send to the proxy itself; `RouteTable` keeps them from the upstream.
    package let consumedFields: [String]

    /// - Parameters:
    ///   - port: the listener's. `localhost`, `127.0.0.1` and `[::1]` are allowed with it.
    ///   - allowedHosts: more names; without a port they are good for the listener's.
    ///   - isSecure: whether clients speak TLS, so that a Host without a port means 443.
    ///   - checksHost: false on a Unix socket, which no web page reaches under any name.
    ///   - allowedOrigins: as browsers write them, `AllowedOrigin`.
    ///   - admitsNavigation: whether a page of any site may lead a person here by a link. What answers
    ///     must then change nothing and let itself be neither framed nor read.
    package init(
        port: UInt16, isSecure: Bool = false, checksHost: Bool = true,
        allowedHosts: [HostAndPort] = [], allowedOrigins: [AllowedOrigin] = [],
        localSecret: LocalSecret? = nil, requiredField: RequiredField? = nil,
        admitsNavigation: Bool = false
    ) {
        self.checksHost = checksHost
        self.admitsNavigation = admitsNavigation
        defaultPort = isSecure ? 443 : 80
        let own = ["localhost", "127.0.0.1", "[::1]"].map { (name: $0, port: port) }
        let more = allowedHosts.map { host in
            (
                name: host.host.contains(":") ? "[\(host.host)]" : host.host,
                port: host.port.flatMap { UInt16($0) } ?? port
            )
        }
        hosts = ByteTable(
            (own + more).map { .init(key: Array($0.name.utf8), tag: UInt32($0.port), value: 1) })
        origins = ByteTable(
            allowedOrigins.flatMap(\.spellings).map { .init(key: Array($0.utf8), value: 1) })
        secret = localSecret.map(SecretCheck.init)
        var consumed = localSecret.map { LocalSecret.carriers(field: $0.field) } ?? []
        if let requiredField, let name = FieldName(requiredField.name) {
            required = (name, requiredField.value.map { Array($0.utf8) })
            consumed.append(requiredField.name)
        } else {
            precondition(requiredField == nil, "the configuration checks field names")
            required = nil
        }
        consumedFields = consumed
    }

    private init(copying other: AccessGuard) {
        hosts = other.hosts
        origins = other.origins
        secret = other.secret
        required = other.required
        checksHost = other.checksHost
        admitsNavigation = other.admitsNavigation
        defaultPort = other.defaultPort
        consumedFields = other.consumedFields
    }

    /// The same rules in an object of its own, for the reason that `RouteTable.unshared` has.
    package func unshared() -> AccessGuard { AccessGuard(copying: self) }

    /// Nil when the request may go on to its route.
    package func judge(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> AccessRefusal? {
        if head.method == .connect || head.method == .trace { return .methodNotSupported }
        if checksHost {
            if let refusal = judgeHost(head, target, bytes) { return refusal }
        } else if let host = Self.host(head, target, bytes), !Authority.isValid(host) {
            return .hostInvalid
        }
        if let refusal = judgeBrowser(head, bytes) { return refusal }
        // A preflight cannot carry what callers have to show, and asks for nothing but leave.
        if PageAccess.isPreflight(head) { return nil }
        if let required, !carries(required.name, required.value, head, bytes) {
            return .requiredFieldMissing
        }
        if let secret, !secret.isPresented(head, bytes) { return .localSecretRequired }
        return nil
    }

    /// The host that is asked for: the authority of an absolute target counts instead of the Host field
    /// (RFC 9112 section 3.2.2).
    @inline(__always)
    private static func host(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> UnsafeRawBufferPointer? {
        target.form == .absolute
            ? target.authority.bytes(in: bytes) : head.value(of: .host, in: bytes)
    }

    /// A request without a host is HTTP/1.0 and from no browser.
    private func judgeHost(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer
    ) -> AccessRefusal? {
        // What is meant for a secured connection is not served on another (RFC 9110 section 7.4).
        if target.form == .absolute, target.defaultPort != defaultPort { return .hostNotAllowed }
        guard let text = Self.host(head, target, bytes) else {
            return head.minorVersion == 0 ? nil : .hostNotAllowed
        }
        if let authority = Authority(text) {
            let port =
                authority.port ?? (target.form == .absolute ? target.defaultPort : defaultPort)
            if hosts.valueIgnoringCase(authority.host, tag: UInt32(port)) != nil { return nil }
        }
        return Authority.isValid(text) ? .hostNotAllowed : .hostInvalid
    }

    /// Origin first: one that is allowed may come from another site.
    private func judgeBrowser(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> AccessRefusal? {
        guard head.present.intersects([.origin, .secFetchSite]) else { return nil }
        var hasAllowedOrigin = false
        for index in 0..<head.fieldCount where head.fields[index].known == .origin {
            let value = head.fields[index].value.bytes(in: bytes)
            guard origins.valueIgnoringCase(value, tag: 0) != nil else { return .originNotAllowed }
            hasAllowedOrigin = true
        }
        if hasAllowedOrigin { return nil }
        for index in 0..<head.fieldCount where head.fields[index].known == .secFetchSite {
            let value = head.fields[index].value.bytes(in: bytes)
            guard
                ASCII.equalsIgnoringCase(value, "none")
                    || ASCII.equalsIgnoringCase(value, "same-origin")
                    || admitsNavigation && Self.isNavigation(head, bytes)
            else { return .crossSite }
        }
        return nil
    }

    private static let fetchMode = FieldName("Sec-Fetch-Mode")
    private static let fetchDestination = FieldName("Sec-Fetch-Dest")

    /// Whether a browser opens a page of its own for the answer (Fetch Metadata, sections 2.1 and 2.2).
    private static func isNavigation(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        func says(_ name: FieldName?, _ value: StaticString) -> Bool {
            var found = false
            for index in 0..<head.fieldCount
            where name?.matches(head.fields[index], bytes) ?? false {
                guard ASCII.equalsIgnoringCase(head.fields[index].value.bytes(in: bytes), value)
                else { return false }
                found = true
            }
            return found
        }
        return head.method == .get && says(fetchMode, "navigate")
            && says(fetchDestination, "document")
    }

    private func carries(
        _ name: FieldName, _ value: [UInt8]?, _ head: borrowing MessageHead,
        _ bytes: UnsafeRawBufferPointer
    ) -> Bool {
        for index in 0..<head.fieldCount where name.matches(head.fields[index], bytes) {
            let sent = head.fields[index].value.bytes(in: bytes)
            guard let value else { return true }
            if sent.elementsEqual(value) { return true }
        }
        return false
    }
}
