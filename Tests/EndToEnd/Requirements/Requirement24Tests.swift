// WebSocket (peers.md requirement 24; cases C051, C052; HTTP/2 and gRPC have tests of their own).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 24: WebSocket` {
    private let server: FakeAuthorizationServer
    private let api: FakeUpstream

    init() throws {
        let server = try FakeAuthorizationServer()
        self.server = server
        api = try FakeUpstream { connection in
            while let request = try connection.readRequest() {
                guard server.accepts(request) else {
                    try connection.respond(.invalidToken, to: request)
                    continue
                }
                try connection.write(
                    "HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
                while let bytes = try connection.stream.readSome() { try connection.write(bytes) }
                return
            }
        }
    }

    private func shakeHands(_ proxy: ProxyProcess) throws -> (
        client: RawClient, answer: HTTPMessage
    ) {
        let client = try proxy.connect()
        try client.send(
            client.request(
                "GET", "/chat",
                fields: [
                    ("Connection", "keep-alive, Upgrade"), ("Upgrade", "websocket"),
                    ("Sec-WebSocket-Version", "13"),
                    ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ]))
        return (client, try client.stream.readResponse())
    }

    @Test func `a token that is refused at the handshake is renewed and the handshake repeated`()
        throws
    {
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        server.revokeAccessTokens()
        let proxy = try setup.home.serve()
        let (client, answer) = try shakeHands(proxy)
        #expect(answer.status == 101)
        try client.send("hello")
        #expect(try client.stream.read(5) == "hello")
        #expect(server.tokenRequests.count == 1)
        #expect(api.requests.count == 2)

        // What becomes of the token later is not the connection's business.
        server.revokeEverything()
        try client.send("still here")
        #expect(try client.stream.read(10) == "still here")
        try client.stream.halfClose()
        #expect(try client.stream.readToEnd().isEmpty)
        #expect(try proxy.stop() == .exited(0))
    }

    @Test func `without a login the client gets a clear refusal at once`() throws {
        let setup = try LoginSetup(server, api)
        let (_, answer) = try shakeHands(try setup.home.serve())
        #expect(answer.isOurs(503, "login_required"))
        #expect(api.connectionCount == 0)
    }

    @Test func `where it is switched off the client gets a clear refusal at once`() throws {
        let setup = try LoginSetup(server, api, settings: ["upgrades: []"])
        let (_, answer) = try shakeHands(try setup.home.serve())
        #expect(answer.isOurs(403, "upgrade_not_allowed"))
        #expect(api.connectionCount == 0)
        #expect(server.requests.isEmpty)
    }
}
