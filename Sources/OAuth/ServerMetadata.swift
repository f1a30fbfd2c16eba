// A server's own description (RFC 8414; OpenID Connect Discovery 1.0) and where to look for it. The
// issuer is compared byte by byte and never normalised; a member is judged only when it is used, so a
// flaw in a feature that nobody uses stops nobody.

package import Vocabulary

/// Why a document or an endpoint in it is not used.
package enum MetadataError: PublishedDocumentError, Hashable, Sendable {
    case invalidIssuer(String)
    /// http outside of this machine.
    case insecureIssuer(String)
    /// There is no document at this URL; another may have it.
    case notHere(status: Int)
    /// The server is in trouble; the same URL may answer later.
    case unavailable(status: Int)
    case unreadable
    /// Both texts are shown, since the difference is often one slash.
    case issuerMismatch(expected: String, received: String)
    case missingEndpoint(name: String)
    case invalidEndpoint(name: String, url: String)
    case insecureEndpoint(name: String, url: String)

    /// Whether the next of the well-known URLs is worth a try.
    package var mayBeElsewhere: Bool {
        switch self {
        case .notHere, .unavailable, .unreadable, .issuerMismatch: true
        case .invalidIssuer, .insecureIssuer, .missingEndpoint, .invalidEndpoint,
            .insecureEndpoint:
            false
        }
    }
}

/// An authorization server's metadata.
package struct ServerMetadata: Sendable {
    /// The endpoints by their names in the document.
    package enum Endpoint: String, CaseIterable, Sendable {
        case authorization = "authorization_endpoint"
        case token = "token_endpoint"
        case revocation = "revocation_endpoint"
        case introspection = "introspection_endpoint"
        case userInfo = "userinfo_endpoint"
        case endSession = "end_session_endpoint"
        case deviceAuthorization = "device_authorization_endpoint"
        case pushedAuthorization = "pushed_authorization_request_endpoint"
        case registration = "registration_endpoint"
        case keys = "jwks_uri"
    }

    /// No URL in a document is longer.
    package static let urlBytesMax = 2048

    /// As in the document: what `iss` is compared with.
    package let issuer: String
    /// The whole document, for keeping and for members that have no name here.
    package let document: JSONObject

    /// The URLs to try, in this order: inserted for OAuth, inserted for OpenID, appended for OpenID
    /// (RFC 8414 sections 3.1 and 5; OpenID Connect Discovery section 4.1).
    package static func wellKnownURLs(for issuer: String) throws(MetadataError) -> [String] {
        let url = try checkedIssuer(issuer)
        let base = String(url.textBeforePath)
        let path = url.path.hasSuffix("/") ? String(url.path.dropLast()) : url.path
        let query = url.query.map { "?" + $0 } ?? ""
        var urls = ["oauth-authorization-server", "openid-configuration"].map { name in
            "\(base)/.well-known/\(name)\(path)\(query)"
        }
        if !path.isEmpty {
            urls.append("\(base)\(path)/.well-known/openid-configuration\(query)")
        }
        return urls
    }

    /// The request for one of them.
    package static func request(_ url: String) -> OutboundRequest {
        OutboundRequest(.get, url, fields: [.init("Accept", "application/json")])
    }

    /// - Parameters:
    ///   - issuer: the configured one; the document must name the same.
    ///   - mayBeTemplate: the document may have "{tenantid}" in place of one part of it.
    package static func read(
        _ response: InboundResponse, issuer: String, mayBeTemplate: Bool = false
    ) throws(MetadataError) -> ServerMetadata {
        let document = try response.publishedDocument(orThrow: MetadataError.self)
        return try ServerMetadata(document: document, issuer: issuer, mayBeTemplate: mayBeTemplate)
    }

    /// For a document that was kept; the same comparison.
    package init(
        document: JSONObject, issuer: String, mayBeTemplate: Bool = false
    ) throws(MetadataError) {
        _ = try ServerMetadata.checkedIssuer(issuer)
        guard let received = document["issuer"]?.asString else { throw .unreadable }
        guard
            received.isIdentical(to: issuer)
                || mayBeTemplate && IssuerDifference.isTemplate(received, of: issuer)
        else {
            throw .issuerMismatch(expected: issuer, received: DisplayText.clean(received))
        }
        self.issuer = received
        self.document = document
    }

    /// Whether an OpenID provider may say more of itself in another document: some put into the one of
    /// RFC 8414 only what that RFC has names for (Django OAuth Toolkit, Canaille).
    package var isSilentOnIdentity: Bool {
        scopes?.contains("openid") == true && !(has(.userInfo) && has(.endSession))
    }

    /// With the members that only another document of the same issuer has.
    package func completed(by other: ServerMetadata) -> ServerMetadata {
        var document = document
        for member in other.document.members where document[member.name] == nil {
            document[member.name] = member.value
        }
        return ServerMetadata(issuer: issuer, document: document)
    }

    private init(issuer: String, document: JSONObject) {
        self.issuer = issuer
        self.document = document
    }

    /// https, or http where the issuer itself is http on this machine: a public server must not
    /// point us at a local port.
    ///
    /// - Parameter mutualTLS: the one for clients that show a certificate, where the server has
    ///   another one for them (RFC 8705 section 5).
    package func url(
        of endpoint: Endpoint, mutualTLS: Bool = false
    ) throws(MetadataError) -> String {
        let name = endpoint.rawValue
        let alias = document["mtls_endpoint_aliases"]?.asObject?[name]?.asString
        guard let text = (mutualTLS ? alias : nil) ?? document[name]?.asString else {
            throw .missingEndpoint(name: name)
        }
        guard text.utf8.count <= ServerMetadata.urlBytesMax, let url = try? WebURL(text),
            url.fragment == nil
        else {
            throw .invalidEndpoint(name: name, url: DisplayText.clean(text))
        }
        let issuerIsLocal = (try? WebURL(issuer))?.origin.scheme == .http
        guard url.origin.scheme == .https || (issuerIsLocal && url.isSecure) else {
            throw .insecureEndpoint(name: name, url: text)
        }
        return text
    }

    package func has(_ endpoint: Endpoint) -> Bool { document[endpoint.rawValue]?.asString != nil }

    /// Nil where the document is silent.
    package var clientAuthenticationMethods: [String]? {
        texts("token_endpoint_auth_methods_supported")
    }
    package var assertionAlgorithms: [String]? {
        texts("token_endpoint_auth_signing_alg_values_supported")
    }
    package var codeChallengeMethods: [String]? { texts("code_challenge_methods_supported") }
    package var scopes: [String]? { texts("scopes_supported") }
    package var grantTypes: [String]? { texts("grant_types_supported") }

    /// RFC 9126 section 5.
    package var requiresPushedRequests: Bool {
        document["require_pushed_authorization_requests"]?.asBool ?? false
    }

    /// Whether a client's name may be the URL of a document about it (OAuth Client ID Metadata
    /// Document section 5).
    package var readsClientDocuments: Bool {
        document["client_id_metadata_document_supported"]?.asBool ?? false
    }

    /// RFC 9207 section 3.
    package var promisesIssuer: Bool {
        document["authorization_response_iss_parameter_supported"]?.asBool ?? false
    }

    private func texts(_ name: String) -> [String]? {
        document[name]?.asArray?.compactMap(\.asString)
    }

    private static func checkedIssuer(_ issuer: String) throws(MetadataError) -> WebURL {
        guard issuer.utf8.count <= urlBytesMax, let url = try? WebURL(issuer),
            url.fragment == nil
        else {
            throw .invalidIssuer(DisplayText.clean(issuer))
        }
        guard url.isSecure else { throw .insecureIssuer(issuer) }
        return url
    }
}
