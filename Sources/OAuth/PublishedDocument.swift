// A JSON document that anybody may read: what an answer's status says of it, before it is judged.

import Vocabulary

/// Why there is no document in an answer.
enum PublishedDocumentError: Error {
    /// There is none at this URL; another may have it.
    case notHere(status: Int)
    /// The server is in trouble; the same URL may answer later.
    case unavailable(status: Int)
    case unreadable
}

extension InboundResponse {
    /// The document of the answer; what it may hold is for whoever asked.
    func publishedDocument() throws(PublishedDocumentError) -> JSONObject {
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
