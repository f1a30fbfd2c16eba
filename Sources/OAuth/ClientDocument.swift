// A client whose name is the https URL of a document about it (OAuth Client ID Metadata Document).
// Servers read the document; we only look whether they could, before a login fails for it.

package import Vocabulary

/// Why a client's document would be refused.
package enum ClientDocumentError: Error, Hashable, Sendable {
    /// It must be https, with a path, and without dot segments, fragment, user and query.
    case invalidURL
    case notHere(status: Int)
    case unreadable
    case otherClient(String)
    case redirectMissing(String)
    /// `token_endpoint_auth_method` is one with a shared secret, which no document can hold.
    case sharedSecret(String)
}

package enum ClientDocument {
    /// Larger ones are refused by servers that follow the draft.
    package static let bytesMax = 5 << 10

    /// Whether a client's name is such a URL at all.
    package static func isURL(_ clientID: String) -> Bool {
        guard let url = try? WebURL(clientID), url.origin.scheme == .https else { return false }
        return url.path.utf8.count > 1
    }

    package static func request(_ url: String) throws(ClientDocumentError) -> OutboundRequest {
        guard let parts = try? WebURL(url), parts.origin.scheme == .https,
            parts.path.utf8.count > 1, parts.fragment == nil,
            !parts.path.split(separator: "/").contains(where: { $0 == "." || $0 == ".." })
        else { throw .invalidURL }
        return OutboundRequest(
            .get, url, fields: [.init("Accept", "application/json")],
            timeoutMilliseconds: 15_000, responseBytesMax: 64 << 10)
    }

    /// Throws where the document is not one for this client with this callback. Loopback ports do not
    /// count (RFC 8252 section 7.3).
    package static func check(
        _ response: InboundResponse, url: String, redirectURI: String
    ) throws(ClientDocumentError) {
        guard response.status == 200 else { throw .notHere(status: response.status) }
        guard let document = (try? JSONReader.read(response.body, strings: .plain))?.asObject,
            let clientID = document["client_id"]?.asString
        else { throw .unreadable }
        guard clientID.isIdentical(to: url) else {
            throw .otherClient(DisplayText.clean(clientID))
        }
        if let method = document["token_endpoint_auth_method"]?.asString,
            method.hasPrefix("client_secret_")
        {
            throw .sharedSecret(DisplayText.clean(method, lettersMax: 64))
        }
        let registered = document["redirect_uris"]?.asArray?.compactMap(\.asString) ?? []
        guard let wanted = withoutPort(redirectURI),
            registered.contains(where: { withoutPort($0)?.isIdentical(to: wanted) ?? false })
        else { throw .redirectMissing(redirectURI) }
    }

    private static func withoutPort(_ uri: String) -> String? {
        guard let url = try? WebURL(uri) else { return nil }
        guard url.origin.isLoopback else { return uri }
        let query = url.query.map { "?" + $0 } ?? ""
        return "\(url.origin.scheme.rawValue)://\(url.origin.host)\(url.path)\(query)"
    }
}

extension ClientDocumentError {
    /// One line.
    package var message: String {
        switch self {
        case .invalidURL: "a client's document needs an https:// URL with a path"
        case .notHere(let status): "status \(status) in place of the client's document"
        case .unreadable: "the client's document is no JSON object with a client_id"
        case .otherClient(let id): "the document's client_id is \"\(id)\", not its own URL"
        case .redirectMissing(let uri): "the document's redirect_uris lack \"\(uri)\""
        case .sharedSecret(let method):
            "the document says \"\(method)\", and a document can share no secret"
        }
    }
}
