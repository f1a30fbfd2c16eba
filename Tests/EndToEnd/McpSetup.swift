// An MCP server that says who gives tokens for it, its authorization server, and a proxy that was told
// nothing but the server's URL.

import Support

/// A protected MCP server with everything around it.
struct McpSetup {
    let server: FakeAuthorizationServer
    let api: FakeUpstream
    let home: ProxyHome

    /// - Parameters:
    ///   - challenge: whether the server's 401 names its metadata; else they are where RFC 9728 has
    ///     them.
    ///   - credential: more lines of the credential.
    init(challenge: Bool = true, credential: [String] = []) throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.registers = true
        let server = try FakeAuthorizationServer(policy)
        let api = try FakeUpstream(answering: { request in
            try Self.answer(request, server, challenge: challenge)
        })
        self.server = server
        self.api = api
        home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:0"]
                log: { level: debug }
                routes: [{ path: /mcp, upstream: "\(api.url)/mcp", credential: mcp }]
                credentials:
                  mcp:
                    discover: true
                \(credential.map { "    \($0)" }.joined(separator: "\n"))

                """)
    }

    private static func answer(
        _ request: HTTPMessage, _ server: FakeAuthorizationServer, challenge: Bool
    ) throws -> FakeResponse {
        let base = "http://\(request.value("Host") ?? "")"
        let metadata = challenge ? "/about/mcp" : "/.well-known/oauth-protected-resource/mcp"
        switch request.path {
        case metadata:
            return .json(
                """
                {"resource":"\(base)/mcp","authorization_servers":["\(server.issuer)"],
                "scopes_supported":["mcp:admin","mcp:tools"]}
                """)
        case "/mcp":
            if server.accepts(request) { return .json("{\"jsonrpc\":\"2.0\",\"result\":{}}") }
            let named = "Bearer resource_metadata=\"\(base)\(metadata)\", scope=\"mcp:tools\""
            return FakeResponse(
                401, fields: [("WWW-Authenticate", challenge ? named : "Bearer")],
                body: "who are you?")
        default: return FakeResponse(404, body: "nothing here")
        }
    }

    @discardableResult
    func logIn() throws -> CommandResult { try home.logIn() }

    func call(_ proxy: ProxyProcess) throws -> HTTPMessage {
        try proxy.exchange(
            "POST", "/mcp", fields: [("Content-Type", "application/json")],
            body: "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}")
    }
}
