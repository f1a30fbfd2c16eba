// What the demo's two servers are asked and what they answer, without a socket.

import Bytes
import Vocabulary

/// A request, its body whole.
struct DemoRequest {
    var method: String
    var path: String
    /// Without "?"; empty where there is none.
    var query: String
    var fields: [(name: String, value: String)]
    var body: SecretBytes

    /// The value of a field when it stands exactly once.
    func field(_ name: String) -> String? {
        let matches = fields.filter { $0.name.lowercased() == name }
        return matches.count == 1 ? matches[0].value : nil
    }
}

/// An answer with its body at hand.
struct DemoReply {
    var status: Int
    var fields: [(name: String, value: String)]
    var body: SecretBytes

    init(_ status: Int, _ fields: [(name: String, value: String)] = [], body: SecretBytes) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    /// Answers with tokens in them are kept by nobody (RFC 6749 section 5.1).
    static func json(
        _ value: JSONValue, status: Int = 200, fields: [(name: String, value: String)] = []
    ) -> DemoReply {
        DemoReply(
            status,
            [("Content-Type", "application/json"), ("Cache-Control", "no-store")] + fields,
            body: JSONWriter.write(value))
    }

    static func text(
        _ status: Int, _ text: String, fields: [(name: String, value: String)] = []
    ) -> DemoReply {
        DemoReply(
            status, [("Content-Type", "text/plain; charset=utf-8")] + fields,
            body: SecretBytes(text + "\n"))
    }

    static func redirect(_ status: Int, to location: String) -> DemoReply {
        DemoReply(
            status,
            [
                ("Location", location), ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
            ], body: SecretBytes(""))
    }
}
