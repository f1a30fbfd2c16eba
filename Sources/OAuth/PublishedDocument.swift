// A JSON document that anybody may read: what an answer's status says of it, before it is judged.

import Vocabulary

/// What errors of such documents have in common; each kind of document adds what can be wrong with it.
protocol PublishedDocumentError: Error {
    /// There is none at this URL; another may have it.
    static func notHere(status: Int) -> Self
    /// The server is in trouble; the same URL may answer later.
    static func unavailable(status: Int) -> Self
    static var unreadable: Self { get }
}

extension InboundResponse {
    /// The document of the answer; what it may hold is for whoever asked.
    func publishedDocument<Failure: PublishedDocumentError>(
        orThrow failure: Failure.Type
    ) throws(Failure) -> JSONObject {
        switch status {
        case 200: break
        case 408, 425, 429, 500...: throw .unavailable(status: status)
        default: throw .notHere(status: status)
        }
        guard let value = try? JSONReader.read(body, strings: .plain), let document = value.asObject
        else { throw .unreadable }
        return document
    }
}
