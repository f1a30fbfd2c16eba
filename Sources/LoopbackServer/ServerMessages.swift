// What a handler is given and what it gives back: whole messages as plain values. Secrets do not
// belong in them; an authorization code lives for one use.

/// One field of a message.
package struct ServerField: Hashable, Sendable {
    package var name: String
    package var value: String

    package init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

/// A request with its whole body.
package struct ServerRequest: Sendable {
    /// As it came, with its case.
    package var method: String
    /// As it came, without decoding; ASCII 0x21 to 0x7E only.
    package var target: String
    /// The target up to its query, still encoded; `*` for the asterisk form, never empty.
    package var path: String
    /// What follows the first `?`, still encoded; nil where there is none.
    package var query: String?
    /// In order of arrival. A value that is no UTF-8 was read as ISO 8859-1, so that no byte is lost.
    package var fields: [ServerField]
    package var body: [UInt8]
    /// The client's TCP port on the loopback interface.
    package var peerPort: UInt16
    /// The server's guard answers the caller and does not know them.
    package var isStranger = false

    package init(
        method: String, target: String, path: String, query: String? = nil,
        fields: [ServerField] = [], body: [UInt8] = [], peerPort: UInt16 = 0
    ) {
        self.method = method
        self.target = target
        self.path = path
        self.query = query
        self.fields = fields
        self.body = body
        self.peerPort = peerPort
    }

    /// The value of the first field of that name, compared without case.
    package func field(_ name: String) -> String? {
        let name = name.lowercased()
        return fields.first { $0.name.lowercased() == name }?.value
    }
}

/// What follows a body whose end is not known yet: asked for the next piece whenever the client has
/// taken the last one, until it gives nil. Cancelled when the connection breaks or the server stops.
package typealias ServerBodyRest = @Sendable () async -> [UInt8]?

/// An answer with its whole body, or its beginning. Its length and what becomes of the connection are the server's
/// business: fields that speak of those are left out.
package struct ServerResponse: Sendable {
    /// 200 to 599.
    package var status: Int
    /// In the order in which they are sent. A field that would break the head, by a control byte say,
    /// turns the answer into a 500.
    package var fields: [ServerField]
    /// Not sent in answer to HEAD, nor with 204 and 304; its length is told to HEAD all the same.
    package var body: [UInt8]
    /// Further pieces of the body, each sent as soon as it is there; nil where `body` is all.
    package var rest: ServerBodyRest?
    /// Ends the connection after this answer.
    package var closesConnection: Bool

    package init(
        status: Int, fields: [ServerField] = [], body: [UInt8] = [],
        closesConnection: Bool = false, rest: ServerBodyRest? = nil
    ) {
        self.status = status
        self.fields = fields
        self.body = body
        self.rest = rest
        self.closesConnection = closesConnection
    }

    /// An answer of text in UTF-8.
    package init(
        status: Int, text: String, contentType: String = "text/plain; charset=utf-8",
        fields: [ServerField] = []
    ) {
        self.init(
            status: status, fields: [ServerField("Content-Type", contentType)] + fields,
            body: Array(text.utf8))
    }
}
