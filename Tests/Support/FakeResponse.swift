// A response as a script writes it down.

/// What a responder answers.
package struct FakeResponse: Sendable {
    package enum Framing: Sendable {
        /// Content-Length.
        case length
        /// One chunk for each element, then the trailers.
        case chunked([Octets], trailers: [(String, String)])
        /// No framing field; the connection ends behind the body.
        case untilClose
    }

    package var status: Int
    package var reason: String
    package var fields: [(String, String)]
    package var body: Octets
    package var framing: Framing
    /// Whether the connection is closed behind the answer, and said to be.
    package var closes: Bool

    package init(
        _ status: Int = 200, reason: String = "Whatever", fields: [(String, String)] = [],
        body: Octets = "", framing: Framing = .length, closes: Bool = false
    ) {
        self.status = status
        self.reason = reason
        self.fields = fields
        self.body = body
        self.framing = framing
        self.closes = closes
    }

    package static func ok(_ body: Octets = "ok") -> FakeResponse { FakeResponse(body: body) }

    package static func json(_ body: String, status: Int = 200) -> FakeResponse {
        FakeResponse(
            status, fields: [("Content-Type", "application/json"), ("Cache-Control", "no-store")],
            body: Octets(body.utf8))
    }

    /// RFC 6750 section 3: the token that came with the request is not accepted.
    package static let invalidToken = FakeResponse(
        401, reason: "Unauthorized",
        fields: [("WWW-Authenticate", "Bearer realm=\"api\", error=\"invalid_token\"")],
        body: "who are you?")

    /// The bytes of the whole response. Status 204 and 304 and answers to HEAD carry no body.
    package func octets(to method: String) -> Octets {
        var lines = "HTTP/1.1 \(status) \(reason)\r\n"
        for (name, value) in fields { lines += "\(name): \(value)\r\n" }
        if closes { lines += "Connection: close\r\n" }
        let isBare = method == "HEAD" || status == 204 || status == 304
        switch framing {
        case .length:
            if status != 204 && status != 304 { lines += "Content-Length: \(body.count)\r\n" }
            return Octets(lines + "\r\n") + (isBare ? "" : body)
        case .untilClose:
            return Octets(lines + "\r\n") + (isBare ? "" : body)
        case .chunked(let chunks, let trailers):
            var message = Octets(lines + "Transfer-Encoding: chunked\r\n\r\n")
            if isBare { return message }
            for chunk in chunks { message += .chunk(chunk) }
            message += "0\r\n"
            for (name, value) in trailers { message += Octets("\(name): \(value)\r\n") }
            return message + "\r\n"
        }
    }
}

extension Octets {
    /// One chunk of a chunked body, not the last.
    package static func chunk(_ data: Octets) -> Octets {
        Octets("\(String(data.count, radix: 16))\r\n") + data + "\r\n"
    }
}
