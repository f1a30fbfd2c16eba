// Reading HTTP/1.1 from a stream, for fakes and clients.

extension SocketStream {
    /// A head and nothing behind it; nil when the peer ends the connection between messages.
    package func readHead(within limit: Duration = patience) throws -> HTTPMessage? {
        if heldCount == 0, try !fill(within: limit) { return nil }
        return try HTTPMessage(head: read(through: "\r\n\r\n", within: limit))
    }

    /// A whole request; nil when the peer ends the connection between requests. Never answers an
    /// expectation of 100-continue.
    package func readRequest(within limit: Duration = patience) throws -> HTTPMessage? {
        guard var request = try readHead(within: limit) else { return nil }
        try readBody(of: &request, within: limit)
        return request
    }

    /// The body of a request whose head was read.
    package func readBody(of request: inout HTTPMessage, within limit: Duration = patience) throws {
        if isChunked(request) {
            try readChunks(of: &request, within: limit)
        } else if let length = request.values("Content-Length").first.flatMap({ Int($0) }) {
            request.body = try read(length, within: limit)
        }
    }

    /// A whole response. Interim answers are skipped unless the caller wants them.
    package func readResponse(
        to method: String = "GET", skippingInterim: Bool = true, within limit: Duration = patience
    ) throws -> HTTPMessage {
        while true {
            guard var response = try readHead(within: limit) else {
                throw Failure.ended("before a response")
            }
            let isInterim = (100..<200).contains(response.status) && response.status != 101
            if isInterim && skippingInterim { continue }
            if isInterim || response.status == 101 { return response }
            try readBody(ofResponse: &response, to: method, within: limit)
            return response
        }
    }

    /// The body of a response whose head was read.
    package func readBody(
        ofResponse response: inout HTTPMessage, to method: String,
        within limit: Duration = patience
    ) throws {
        if method == "HEAD" || response.status == 204 || response.status == 304 { return }
        if isChunked(response) {
            try readChunks(of: &response, within: limit)
        } else if let length = response.values("Content-Length").first.flatMap({ Int($0) }) {
            response.body = try read(length, within: limit)
        } else {
            response.body = try readToEnd(within: limit)
        }
    }

    private func isChunked(_ message: HTTPMessage) -> Bool {
        message.values("Transfer-Encoding").last?.lowercased().hasSuffix("chunked") == true
    }

    private func readChunks(of message: inout HTTPMessage, within limit: Duration) throws {
        message.isChunked = true
        while let chunk = try readChunk(within: limit) { message.body += chunk }
        while true {
            let line = try read(through: "\r\n", within: limit)
            if line.count == 2 { return }
            message.trailers.append(try HTTPMessage.field(Octets(line.bytes.dropLast(2)).text))
        }
    }

    /// The data of one chunk; nil for the last one, whose trailer section is then still unread.
    package func readChunk(within limit: Duration = patience) throws -> Octets? {
        let line = try read(through: "\r\n", within: limit).text
        let digits = line.prefix { $0.isHexDigit }
        guard let size = Int(digits, radix: 16) else {
            throw Failure.malformed("chunk size \(line.debugDescription)")
        }
        if size == 0 { return nil }
        let data = try read(size, within: limit)
        guard try read(2, within: limit) == "\r\n" else {
            throw Failure.malformed("chunk without its CR LF")
        }
        return data
    }
}
