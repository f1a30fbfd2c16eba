// Whose account a token is for, in the AT Protocol: an identifier that nobody owns but the account, and
// the document that says which server keeps it (atproto.com/specs/did; W3C DID Core). Pure; fetching is
// AuthCore's.

package import Vocabulary

/// A decentralised identifier: `did:plc:…` or `did:web:…`, the two methods of the AT Protocol.
package struct AccountIdentifier: Hashable, Sendable {
    package let text: String
    /// Where its document is.
    package let documentURL: String

    /// Where `did:plc` is resolved (web.plc.directory).
    private static let directory = "https://plc.directory/"

    /// Nil for anything else: another method, a path, a port, a fragment.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0] == "did" else { return nil }
        let name = parts[2]
        switch parts[1] {
        case "plc":
            guard name.utf8.count == 24, name.utf8.allSatisfy(Self.isBase32) else { return nil }
            documentURL = Self.directory + text
        case "web":
            let labels = name.utf8.split(separator: 0x2E, omittingEmptySubsequences: false)
            guard labels.count > 1, name.utf8.count <= 253,
                labels.allSatisfy({ !$0.isEmpty && $0.allSatisfy(Self.isNameByte) })
            else { return nil }
            documentURL = "https://\(name)/.well-known/did.json"
        default: return nil
        }
        self.text = text
    }

    private static func isBase32(_ byte: UInt8) -> Bool {
        byte &- 0x61 < 26 || (0x32...0x37).contains(byte)
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D
    }
}

/// Why a document does not say which server keeps an account.
package enum AccountDocumentError: PublishedDocumentError, Hashable, Sendable {
    /// There is none, or the server is in trouble.
    case notHere(status: Int)
    case unavailable(status: Int)
    case unreadable
    /// It is about somebody else.
    case otherSubject
    /// It names no server, or one that cannot be asked.
    case noServer
}

/// What is taken from the documents.
package enum AccountDocument {
    /// The origin of the server that keeps the account (its PDS), as a URL without a slash behind.
    package static func server(
        in response: InboundResponse, of account: AccountIdentifier
    ) throws(AccountDocumentError) -> String {
        let document = try response.publishedDocument(orThrow: AccountDocumentError.self)
        guard document["id"]?.asString == account.text else { throw .otherSubject }
        let services = document["service"]?.asArray?.compactMap(\.asObject) ?? []
        // The first counts, as others may be anybody's addition behind it.
        let service = services.first { service in
            let id = service["id"]?.asString
            return (id == "#atproto_pds" || id == account.text + "#atproto_pds")
                && service["type"]?.asString == "AtprotoPersonalDataServer"
        }
        guard let text = service?["serviceEndpoint"]?.asString, let url = try? WebURL(text),
            url.origin.scheme == .https, url.path.isEmpty || url.path == "/", url.query == nil,
            url.fragment == nil
        else { throw .noServer }
        return String(url.textBeforePath)
    }

    /// The one authorization server that a resource server trusts (RFC 9728 section 2, of which the
    /// AT Protocol wants exactly one).
    package static func issuer(
        in response: InboundResponse, of server: String
    ) throws(AccountDocumentError) -> String {
        let document = try response.publishedDocument(orThrow: AccountDocumentError.self)
        guard document["resource"]?.asString == server else { throw .otherSubject }
        guard let issuers = document["authorization_servers"]?.asArray, issuers.count == 1,
            let issuer = issuers[0].asString
        else { throw .noServer }
        return issuer
    }
}
