import HTTPWire
import Testing

@Suite struct `Connection field` {
    @Test(arguments: [
        ("HTTP/1.1", [], true), ("HTTP/1.1", ["close"], false), ("HTTP/1.1", ["Close"], false),
        ("HTTP/1.1", ["keep-alive"], true), ("HTTP/1.1", ["keep-alive, close"], false),
        ("HTTP/1.1", ["keep-alive", "X, \tcLoSe"], false), ("HTTP/1.1", [",,"], true),
        ("HTTP/1.1", ["closed"], true), ("HTTP/1.1", [""], true), ("HTTP/1.0", [], false),
        ("HTTP/1.0", ["keep-alive"], true), ("HTTP/1.0", ["Keep-Alive, X"], true),
        ("HTTP/1.0", ["keep-alive", "close"], false), ("HTTP/1.0", ["X"], false),
    ])
    func `decides whether the connection goes on`(
        version: String, values: [String], persists: Bool
    ) {
        let fields = values.map { "Connection: \($0)\r\n" }.joined()
        let request = "GET / \(version)\r\nHost: a\r\n\(fields)\r\n"
        #expect(readHeadInEveryWay(.request, request).head?.persists == persists)
        let response = "\(version) 204 Done\r\n\(fields)\r\n"
        #expect(readHeadInEveryWay(.response(to: .get), response).head?.persists == persists)
    }

    /// C051 and requirement 19.
    @Test func `marks the fields that it names`() throws {
        let head = try #require(
            readHeadInEveryWay(
                .request,
                "GET / HTTP/1.1\r\nX-a: 1\r\nHost: localhost:8080\r\n"
                    + "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
                    + "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\nX-A: 2\r\nX-AB: 3\r\n"
                    + "connection:x-A,authorization\r\nAuthorization: Bearer t\r\n\r\n"
            ).head)
        let named = head.fields.filter(\.isNamedByConnection).map(\.name)
        #expect(named == ["X-a", "Upgrade", "HTTP2-Settings", "X-A", "Authorization"])
        #expect(head.connection == [.upgrade])
        #expect(head.persists)
    }

    /// C120: whoever reads both differently must not be given another message.
    @Test func `a message with both framings ends its connection`() throws {
        let reading = readHeadInEveryWay(
            .response(to: .get),
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n")
        let head = try #require(reading.head)
        #expect(head.framing == .success(.chunked))
        #expect(!head.persists)
    }

    /// C066.
    @Test(arguments: [
        ("HTTP/1.1", "100-continue", true), ("HTTP/1.1", "100-Continue ", true),
        ("HTTP/1.1", "200-ok", false), ("HTTP/1.1", "", false), ("HTTP/1.0", "100-continue", false),
    ])
    func `a client of HTTP 1.1 may wait for a 100`(version: String, value: String, waits: Bool) {
        let request = "PUT /x \(version)\r\nHost: a\r\nExpect: \(value)\r\n\r\n"
        #expect(readHeadInEveryWay(.request, request).head?.expectsContinue == waits)
    }
}
