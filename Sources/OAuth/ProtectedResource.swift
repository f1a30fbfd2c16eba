// What a protected resource says of itself (RFC 9728): above all which authorization servers give
// tokens for it. Where to look, and whether the document is about the resource that was asked for; a
// document about another one would send tokens to whoever wrote it.

package import Vocabulary

/// Why a resource's document is not used.
package enum ResourceMetadataError: PublishedDocumentError, Hashable, Sendable {
    case invalidResource(String)
    /// http outside of this machine.
    case insecureResource(String)
    /// There is no document at this URL; another may have it.
    case notHere(status: Int)
    /// The server is in trouble; the same URL may answer later.
    case unavailable(status: Int)
    case unreadable
    /// The document is about something else (section 3.3).
    case resourceMismatch(expected: [String], received: String)
    /// A challenge leads to no https URL, or into a private network.
    case unsafeURL(String)
}

/// A protected resource's metadata.
package struct ResourceMetadata: Sendable {
    package static let serversMax = 16

    /// What tokens are asked for (RFC 8707).
    package let resource: String
    /// The whole document, for keeping.
    package let document: JSONObject

    /// A place to look at and the resources that a document there may be about.
    package struct Place: Hashable, Sendable {
        package let url: String
        package let resources: [String]
    }

    /// Where to look, in this order: inserted before the path, then at the root (section 3.1; MCP
    /// authorization, "Protected Resource Metadata Discovery Requirements").
    package static func places(for resource: String) throws(ResourceMetadataError) -> [Place] {
        let url = try checked(resource)
        let base = String(url.textBeforePath)
        let query = url.query.map { "?" + $0 } ?? ""
        var places: [Place] = []
        if url.path.utf8.count > 1 || url.query != nil {
            let path = url.path == "/" ? "" : url.path
            places.append(
                Place(url: base + wellKnown + path + query, resources: [resource]))
        }
        // An origin and its root are one resource in two spellings.
        places.append(Place(url: base + wellKnown, resources: [base, base + "/"]))
        return places
    }

    /// The place that a challenge named for a request to `resource` (section 5.1): the document is
    /// about that URL, or about a part of the same server above it where the place itself says so.
    package static func place(
        challenged url: String, for resource: String
    ) throws(ResourceMetadataError) -> Place {
        let requested = try checked(resource)
        guard url.utf8.count <= ServerMetadata.urlBytesMax, let place = try? WebURL(url),
            place.fragment == nil,
            place.origin.scheme == .https || (requested.origin.scheme == .http && place.isSecure)
        else { throw .unsafeURL(DisplayText.clean(url)) }
        var resources = [resource]
        if requested.path.isEmpty { resources.append(resource + "/") }
        if let named = named(by: place), place.origin == requested.origin,
            isAbove(named.path, requested.path)
        {
            resources += named.spellings.filter { !resources.contains($0) }
        }
        return Place(url: url, resources: resources)
    }

    /// The request for one of them.
    package static func request(_ place: Place) -> OutboundRequest {
        OutboundRequest(.get, place.url, fields: [.init("Accept", "application/json")])
    }

    package static func read(
        _ response: InboundResponse, at place: Place
    ) throws(ResourceMetadataError) -> ResourceMetadata {
        let document = try response.publishedDocument(orThrow: ResourceMetadataError.self)
        return try ResourceMetadata(document: document, for: place.resources)
    }

    /// For a document that was kept; the same comparison.
    package init(
        document: JSONObject, for resources: [String]
    ) throws(ResourceMetadataError) {
        guard let resource = document["resource"]?.asString else { throw .unreadable }
        guard resources.contains(where: { $0.isIdentical(to: resource) }) else {
            throw .resourceMismatch(
                expected: resources, received: DisplayText.clean(resource))
        }
        self.resource = resource
        self.document = document
    }

    /// For a document that was kept for `upstream`, wherever it came from: about that URL, or about a
    /// part of the same server above it.
    package init(
        kept document: JSONObject, for upstream: String
    ) throws(ResourceMetadataError) {
        let requested = try ResourceMetadata.checked(upstream)
        guard let resource = document["resource"]?.asString,
            let url = try? ResourceMetadata.checked(resource)
        else { throw .unreadable }
        guard
            resource.isIdentical(to: upstream)
                || url.origin == requested.origin && url.query == nil
                    && ResourceMetadata.isAbove(url.path, requested.path)
        else {
            throw .resourceMismatch(expected: [upstream], received: DisplayText.clean(resource))
        }
        self.resource = resource
        self.document = document
    }

    /// The issuers of the servers that give tokens for it, in the document's order; empty where it
    /// names none.
    package var authorizationServers: [String] {
        let texts = document["authorization_servers"]?.asArray?.compactMap(\.asString) ?? []
        let issuers = texts.filter {
            $0.utf8.count <= ServerMetadata.urlBytesMax && (try? WebURL($0)) != nil
        }
        return Array(issuers.prefix(Self.serversMax))
    }

    /// Nil where the document is silent.
    package var scopes: [String]? {
        document["scopes_supported"]?.asArray.map { ScopeText.usable($0.compactMap(\.asString)) }
    }

    /// Section 2: whether the header may carry the token; silence allows it.
    package var takesHeader: Bool {
        guard let methods = document["bearer_methods_supported"]?.asArray else { return true }
        return methods.compactMap(\.asString).contains("header")
    }

    private static let wellKnown = "/.well-known/oauth-protected-resource"

    private static func checked(_ resource: String) throws(ResourceMetadataError) -> WebURL {
        guard resource.utf8.count <= ServerMetadata.urlBytesMax, let url = try? WebURL(resource),
            url.fragment == nil
        else { throw .invalidResource(DisplayText.clean(resource)) }
        guard url.isSecure else { throw .insecureResource(resource) }
        return url
    }

    /// The resource into whose URL the well-known part was inserted.
    private static func named(by place: WebURL) -> (path: String, spellings: [String])? {
        guard place.query == nil, place.path.hasPrefix(wellKnown) else { return nil }
        let path = String(place.path.dropFirst(wellKnown.count))
        guard path.isEmpty || path.hasPrefix("/") else { return nil }
        let base = String(place.textBeforePath)
        return (path, path.isEmpty || path == "/" ? [base, base + "/"] : [base + path])
    }

    private static func isAbove(_ path: String, _ other: String) -> Bool {
        path.isEmpty || path == "/" || other == path
            || other.hasPrefix(path.hasSuffix("/") ? path : path + "/")
    }
}

/// Scopes that a stranger's document or challenge names.
package enum ScopeText {
    package static let scopesMax = 100

    /// Those that can be asked for (RFC 6749 section 3.3), each once.
    package static func usable(_ scopes: [String]) -> [String] {
        var seen: Set<String> = []
        return Array(
            scopes.filter { scope in
                (1...256).contains(scope.utf8.count)
                    && scope.utf8.allSatisfy {
                        (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C
                    } && seen.insert(scope).inserted
            }.prefix(scopesMax))
    }
}
