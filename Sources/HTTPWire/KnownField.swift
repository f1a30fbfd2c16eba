// The field names that the proxy has rules for, as numbers, so that a rule costs one bit test. It
// knows names, not what they mean to anyone.

/// A field name that some rule speaks of; every other name is `other`.
@usableFromInline
@frozen
package enum KnownField: UInt8, CaseIterable, Sendable {
    case other = 0
    case host, connection, contentLength, transferEncoding
    case authorization, wwwAuthenticate, authenticationInfo
    case proxyAuthorization, proxyAuthenticate, proxyAuthenticationInfo
    case proxyConnection, keepAlive, te, trailer, upgrade, http2Settings, expect
    case origin, secFetchSite, secPurpose, cookie, setCookie
    case accessControlRequestMethod, accessControlRequestHeaders, accessControlRequestPrivateNetwork
    case location, contentLocation, link, refresh
    case via, forwarded, xForwardedFor, xForwardedHost, xForwardedProto, proxyStatus
    case date, server, age, expires, retryAfter, vary, cacheControl, pragma, altSvc
    case contentType, contentEncoding, contentRange, range, ifRange, maxForwards
    case accept, acceptEncoding, userAgent, referer
    case secWebSocketKey, secWebSocketAccept, dpop, dpopNonce, strictTransportSecurity
}

extension KnownField {
    /// The name as it is usually written; empty for `other`.
    package var name: StaticString {
        switch self {
        case .other: ""
        case .host: "Host"
        case .connection: "Connection"
        case .contentLength: "Content-Length"
        case .transferEncoding: "Transfer-Encoding"
        case .authorization: "Authorization"
        case .wwwAuthenticate: "WWW-Authenticate"
        case .authenticationInfo: "Authentication-Info"
        case .proxyAuthorization: "Proxy-Authorization"
        case .proxyAuthenticate: "Proxy-Authenticate"
        case .proxyAuthenticationInfo: "Proxy-Authentication-Info"
        case .proxyConnection: "Proxy-Connection"
        case .keepAlive: "Keep-Alive"
        case .te: "TE"
        case .trailer: "Trailer"
        case .upgrade: "Upgrade"
        case .http2Settings: "HTTP2-Settings"
        case .expect: "Expect"
        case .origin: "Origin"
        case .secFetchSite: "Sec-Fetch-Site"
        case .secPurpose: "Sec-Purpose"
        case .cookie: "Cookie"
        case .setCookie: "Set-Cookie"
        case .accessControlRequestMethod: "Access-Control-Request-Method"
        case .accessControlRequestHeaders: "Access-Control-Request-Headers"
        case .accessControlRequestPrivateNetwork: "Access-Control-Request-Private-Network"
        case .location: "Location"
        case .contentLocation: "Content-Location"
        case .link: "Link"
        case .refresh: "Refresh"
        case .via: "Via"
        case .forwarded: "Forwarded"
        case .xForwardedFor: "X-Forwarded-For"
        case .xForwardedHost: "X-Forwarded-Host"
        case .xForwardedProto: "X-Forwarded-Proto"
        case .proxyStatus: "Proxy-Status"
        case .date: "Date"
        case .server: "Server"
        case .age: "Age"
        case .expires: "Expires"
        case .retryAfter: "Retry-After"
        case .vary: "Vary"
        case .cacheControl: "Cache-Control"
        case .pragma: "Pragma"
        case .altSvc: "Alt-Svc"
        case .contentType: "Content-Type"
        case .contentEncoding: "Content-Encoding"
        case .contentRange: "Content-Range"
        case .range: "Range"
        case .ifRange: "If-Range"
        case .maxForwards: "Max-Forwards"
        case .accept: "Accept"
        case .acceptEncoding: "Accept-Encoding"
        case .userAgent: "User-Agent"
        case .referer: "Referer"
        case .secWebSocketKey: "Sec-WebSocket-Key"
        case .secWebSocketAccept: "Sec-WebSocket-Accept"
        case .dpop: "DPoP"
        case .dpopNonce: "DPoP-Nonce"
        case .strictTransportSecurity: "Strict-Transport-Security"
        }
    }

    /// The field of that name, compared without case; `other` when no rule speaks of it. For
    /// configuration and tests; the parsers look names up while they read them.
    package static func named(_ name: UnsafeRawBufferPointer) -> KnownField {
        guard let base = name.baseAddress, !name.isEmpty else { return .other }
        return KnownFieldTable.shared.field(base, count: name.count)
    }
}

/// A set of known fields. `other` is never a member.
@usableFromInline
@frozen
package struct KnownFieldSet: Hashable, Sendable, ExpressibleByArrayLiteral {
    @usableFromInline package var mask: UInt64

    @inlinable
    package init(mask: UInt64) { self.mask = mask }

    @inlinable
    package init(arrayLiteral fields: KnownField...) {
        mask = 0
        for field in fields { insert(field) }
    }

    @inlinable package var isEmpty: Bool { mask == 0 }

    @inlinable
    package func contains(_ field: KnownField) -> Bool {
        mask &>> UInt64(field.rawValue) & 1 != 0
    }

    /// `other` leaves the set as it is.
    @inlinable
    package mutating func insert(_ field: KnownField) {
        mask |= (1 &<< UInt64(field.rawValue)) & ~1
    }

    @inlinable
    package mutating func remove(_ field: KnownField) {
        mask &= ~(1 &<< UInt64(field.rawValue))
    }

    @inlinable
    package func union(_ other: KnownFieldSet) -> KnownFieldSet {
        KnownFieldSet(mask: mask | other.mask)
    }

    @inlinable
    package func intersects(_ other: KnownFieldSet) -> Bool { mask & other.mask != 0 }
}

extension KnownFieldSet {
    /// Fields that concern one connection only and are never passed on (RFC 9110 section 7.6.1, with
    /// those that older systems use). Transfer-Encoding is made anew from the framing.
    package static let hopByHop: KnownFieldSet = [
        .connection, .proxyConnection, .keepAlive, .te, .trailer, .transferEncoding, .upgrade,
        .http2Settings, .proxyAuthorization, .proxyAuthenticate, .proxyAuthenticationInfo,
    ]

    /// Fields that frame a message or concern one connection, without those that carry credentials: what a
    /// proxy decides by and writes anew, so that none can be given another meaning.
    package static let framing: KnownFieldSet = [
        .host, .contentLength, .transferEncoding, .expect, .connection, .proxyConnection,
        .keepAlive,
        .te, .trailer, .upgrade, .http2Settings,
    ]

    /// Fields that a trailer section may not carry, since they frame, route, authenticate or explain
    /// a message whose body was read already (RFC 9110 section 6.5.1).
    package static let refusedInTrailers: KnownFieldSet = hopByHop.union([
        .host, .contentLength, .contentType, .contentEncoding, .contentRange, .contentLocation,
        .authorization, .wwwAuthenticate, .authenticationInfo, .dpop, .dpopNonce, .cookie,
        .setCookie, .expect, .maxForwards, .cacheControl, .pragma, .range, .ifRange, .age, .expires,
        .date, .location, .retryAfter, .vary, .origin, .secFetchSite, .via, .forwarded,
        .xForwardedFor, .xForwardedHost, .xForwardedProto, .proxyStatus, .altSvc,
        .strictTransportSecurity,
    ])
}
