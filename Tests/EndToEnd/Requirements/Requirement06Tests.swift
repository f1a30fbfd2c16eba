// Replay of the body (peers.md requirement 6).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 6: body replay` {
    private let setup: LoginSetup

    init() throws {
        setup = try LoginSetup { request in .ok(request.body) }
        try setup.importLogin()
        setup.server.revokeAccessTokens()
    }

    /// Bodies of both attempts, as the API got them.
    private var bodies: [Octets] { setup.api.requests.map(\.body) }

    @Test(arguments: [0, 1, 65_536, 1_000_000, 1 << 20])
    func `up to the limit the same bytes are sent again by length`(count: Int) throws {
        let body = Octets.pattern(count: count)
        let response = try setup.home.serve().exchange("POST", "/x", body: body)
        #expect(response.status == 200)
        #expect(response.body == body)
        #expect(bodies == [body, body])
        #expect(
            setup.api.requests.map { $0.values("Content-Length") } == [["\(count)"], ["\(count)"]])
    }

    @Test(arguments: [0, 1, 100_000, 1 << 20])
    func `up to the limit the same bytes are sent again in chunks`(count: Int) throws {
        let body = Octets.pattern(count: count, seed: 7)
        let client = try setup.home.serve().connect()
        try client.send(client.request("POST", "/x", fields: [("Transfer-Encoding", "chunked")]))
        var rest = body.bytes[...]
        while !rest.isEmpty {
            try client.send(.chunk(Octets(rest.prefix(7919))))
            rest = rest.dropFirst(7919)
        }
        try client.send("0\r\n\r\n")
        let response = try client.stream.readResponse(to: "POST")
        #expect(response.status == 200)
        #expect(bodies == [body, body])
        #expect(setup.server.tokenRequests.count == 1)
    }

    @Test(arguments: [true, false])
    func `beyond the limit the 401 is handed on and the next request works`(
        isChunked: Bool
    ) throws {
        let body = Octets.pattern(count: (1 << 20) + 1)
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        if isChunked {
            try client.send(
                client.request("POST", "/x", fields: [("Transfer-Encoding", "chunked")]))
            try client.send(.chunk(body) + "0\r\n\r\n")
        } else {
            try client.send(client.request("POST", "/x", body: body))
        }
        let response = try client.stream.readResponse(to: "POST")
        #expect(response.status == 401)
        #expect(response.body == "who are you?")
        #expect(response.values("Proxy-Status").joined().contains("replay"), "\(response)")
        #expect(bodies == [body], "no second attempt")
        #expect(try proxy.exchange("POST", "/y", body: "small").status == 200)
    }

    @Test func `the limit is configurable`() throws {
        let server = setup.server
        let other = try LoginSetup(
            server, FakeUpstream(protectedBy: server), settings: ["limits: { replay: 1KiB }"])
        try other.importLogin()
        server.revokeAccessTokens()
        let proxy = try other.home.serve()
        let body = Octets.pattern(count: 1025)
        #expect(try proxy.exchange("POST", "/x", body: body).status == 401)
        #expect(other.api.requests.map(\.body) == [body])
    }

    @Test func `a 401 before the body has come waits for it`() throws {
        let server = try FakeAuthorizationServer()
        let api = try FakeUpstream { connection in
            while true {
                var request = try connection.expectHead()
                if !server.accepts(request) {
                    try connection.respond(.invalidToken, to: request)
                }
                try connection.stream.readBody(of: &request)
                connection.note(request)
                if server.accepts(request) {
                    try connection.respond(.ok(request.body), to: request)
                }
            }
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        server.revokeAccessTokens()
        let client = try setup.home.serve().connect()
        let body = Octets.pattern(count: 50_000)
        let request = client.request("PUT", "/x", body: body)
        try client.send(Octets(request.bytes.prefix(request.count - 20_000)))
        try waited(for: "the refresh") { server.refreshRequests.isEmpty ? nil : () }
        try client.send(Octets(request.bytes.suffix(20_000)))
        let response = try client.stream.readResponse(to: "PUT")
        #expect(response.status == 200)
        #expect(response.body == body)
    }

    @Test func `trailers of a chunked body are sent again`() throws {
        let client = try setup.home.serve().connect()
        try client.send(client.request("POST", "/x", fields: [("Transfer-Encoding", "chunked")]))
        try client.send("3\r\nabc\r\n0\r\nX-Sum: 9\r\n\r\n")
        #expect(try client.stream.readResponse(to: "POST").status == 200)
        #expect(bodies == ["abc", "abc"])
        let trailers = setup.api.requests.map(\.trailers)
        #expect(try trailers.item(0) == trailers.item(1))
    }
}
