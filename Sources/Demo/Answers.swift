// The few shapes of answer that the demo's servers give.

import Bytes
import LoopbackServer
import Vocabulary

extension ServerResponse {
    /// Answers with tokens in them are kept by nobody (RFC 6749 section 5.1).
    static func json(
        _ value: JSONValue, status: Int = 200, fields: [ServerField] = []
    ) -> ServerResponse {
        ServerResponse(
            status: status,
            fields: [
                ServerField("Content-Type", "application/json"),
                ServerField("Cache-Control", "no-store"),
            ] + fields, body: JSONWriter.write(value).withBytes { Array($0) })
    }

    /// A line of text.
    static func line(
        _ text: String, status: Int, fields: [ServerField] = []
    ) -> ServerResponse {
        ServerResponse(status: status, text: text + "\n", fields: fields)
    }

    static func redirect(_ status: Int, to location: String) -> ServerResponse {
        ServerResponse(
            status: status,
            fields: [
                ServerField("Location", location), ServerField("Cache-Control", "no-store"),
                ServerField("Referrer-Policy", "no-referrer"),
            ])
    }

    static func methodNotAllowed(_ methods: String) -> ServerResponse {
        .line("only \(methods)", status: 405, fields: [ServerField("Allow", methods)])
    }
}
