// Single flight (peers.md requirement 2; must-show 4; case C003).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 2: single flight` {
    /// Sends a GET over each of `count` connections, all before any answer is read.
    private func volley(_ count: Int, at proxy: ProxyProcess) throws -> [HTTPMessage] {
        let clients = try (0..<count).map { _ in try proxy.connect() }
        for (number, client) in clients.enumerated() {
            try client.send(client.request("GET", "/\(number)"))
        }
        return try clients.map { try $0.stream.readResponse(within: .seconds(30)) }
    }

    private func slowServer() throws -> FakeAuthorizationServer {
        var policy = FakeAuthorizationServer.Policy()
        policy.tokenDelay = .milliseconds(400)
        return try FakeAuthorizationServer(policy)
    }

    @Test func `a hundred requests with an expired token cause one token request (C003)`() throws {
        let server = try slowServer()
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        let old = try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        let responses = try volley(100, at: proxy)
        #expect(responses.map(\.status) == Array(repeating: 200, count: 100))
        #expect(server.tokenRequests.count == 1)
        #expect(server.tokenRequests.first?.refreshToken == old.refresh)
        #expect(server.reuses == 0)
        // What is stored is the new pair.
        #expect(try proxy.exchange().status == 200)
        let stored = try #require(try Files.read(setup.home.loginFile()))
        #expect(!stored.contains(Octets(try #require(old.refresh))))
    }

    @Test func `a hundred 401s on one token cause one token request`() throws {
        let server = try slowServer()
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        try setup.importLogin()
        server.revokeAccessTokens()
        let proxy = try setup.home.serve()
        let responses = try volley(100, at: proxy)
        #expect(responses.map(\.status) == Array(repeating: 200, count: 100))
        #expect(server.tokenRequests.count == 1)
        // Each was sent at most twice; those that waited for the refresh only once.
        #expect(setup.api.requests.count <= 200)
        #expect(setup.api.requests.count >= 100)
    }

    @Test func `a late 401 for a token that was replaced refreshes nothing`() throws {
        let server = try FakeAuthorizationServer()
        let gate = Gate()
        let api = try FakeUpstream { request in
            // The slow one was let in with the old token and is told so only after the refresh.
            if request.path == "/slow", !server.accepts(request) {
                try gate.pass()
                return .invalidToken
            }
            return server.accepts(request) ? .ok() : .invalidToken
        }
        let setup = try LoginSetup(server, api)
        try setup.importLogin()
        server.revokeAccessTokens()
        let proxy = try setup.home.serve()
        let slow = try proxy.connect()
        try slow.send(slow.request("GET", "/slow"))
        try gate.waitForArrivals(1)
        #expect(try proxy.exchange("GET", "/quick").status == 200)
        #expect(server.tokenRequests.count == 1)
        gate.open()
        #expect(try slow.stream.readResponse().status == 200)
        #expect(server.tokenRequests.count == 1)
    }

    @Test func `all waiters share a failure`() throws {
        let server = try slowServer()
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        try setup.importLogin(expiresIn: -10)
        server.failAlways(.error(400, "invalid_client"))
        let responses = try volley(50, at: setup.home.serve())
        #expect(Set(responses.map(\.status)) == [503] || Set(responses.map(\.status)) == [502])
        #expect(Set(responses.map(\.problemCode)).count == 1)
        #expect(server.tokenRequests.count == 1)
        #expect(setup.api.connectionCount == 0)
    }

    @Test func `clients that go away do not end the refresh that they caused (C130)`() throws {
        let server = try slowServer()
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        let old = try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        let clients = try (0..<5).map { _ in try proxy.connect() }
        for client in clients { try client.send(client.request()) }
        try waited(for: "the refresh") { server.tokenRequests.count == 1 ? () : nil }
        for client in clients { client.stream.reset() }
        try waited(for: "the new refresh token on disk") {
            try Files.read(setup.home.loginFile())?.contains(Octets(old.refresh!)) == false
                ? () : nil
        }
        #expect(try proxy.exchange().status == 200)
        #expect(server.tokenRequests.count == 1)
    }
}
