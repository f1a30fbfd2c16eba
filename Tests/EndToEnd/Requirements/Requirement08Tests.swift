// The refusal of browsers (peers.md requirement 8, expectations 2-4; cases C009, C112, C113, C115).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 8: browser refusal` {
    private let setup: LoginSetup
    private let proxy: ProxyProcess

    init() throws {
        setup = try LoginSetup(settings: ["allowed_origins: [\"http://localhost:3000\"]"])
        // Without a login: a request that is let in shows as a question to the provider.
        proxy = try setup.home.serve()
    }

    private func expectNothingHappened() {
        #expect(setup.api.connectionCount == 0)
        #expect(setup.server.requests.isEmpty)
    }

    @Test(arguments: [
        "https://evil.example", "null", "http://localhost.attacker.example:PORT",
        "http://127.0.0.1.evil.example", "http://localhost:3001", "https://localhost:3000",
        "http://localhost:30000", "http://localhost:3000.evil.example", "http://localhost:PORT",
        "http://127.0.0.1:PORT", "file://", "", "http://localhost:3000 http://evil.example",
    ])
    func `a foreign Origin gets 403 whatever the method (C009, C112, C113)`(
        origin: String
    ) throws {
        let origin = origin.components(separatedBy: "PORT").joined(separator: "\(proxy.port)")
        for method in ["GET", "POST", "OPTIONS", "HEAD", "PUT"] {
            let response = try proxy.exchange(
                method, "/v1/payments",
                fields: [("Origin", origin), ("Content-Type", "text/plain")],
                body: method == "POST" ? "{}" : nil)
            #expect(response.status == 403, "\(method) \(origin): \(response)")
            if method != "HEAD" { #expect(response.problemCode == "origin_not_allowed") }
            #expect(!response.has("Access-Control-Allow-Origin"))
        }
        expectNothingHappened()
    }

    @Test(arguments: ["cross-site", "same-site", "CROSS-SITE", "whatever"])
    func `a request that another site caused gets 403`(site: String) throws {
        let response = try proxy.exchange("GET", "/", fields: [("Sec-Fetch-Site", site)])
        #expect(response.status == 403)
        expectNothingHappened()
    }

    @Test func `WebSocket handshakes of foreign pages are refused`() throws {
        let response = try proxy.exchange(
            "GET", "/ws",
            fields: [
                ("Connection", "Upgrade"), ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "13"),
                ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
                ("Origin", "https://evil.example"),
            ])
        #expect(response.status == 403)
        expectNothingHappened()
    }

    @Test func `a foreign preflight causes neither login nor refresh (C115)`() throws {
        let response = try proxy.exchange(
            "OPTIONS", "/v1/x",
            fields: [
                ("Origin", "http://evil.example:3000"), ("Access-Control-Request-Method", "POST"),
                ("Access-Control-Request-Private-Network", "true"),
            ])
        #expect(response.status == 403)
        #expect(!response.fields.contains { $0.name.lowercased().hasPrefix("access-control-") })
        expectNothingHappened()
    }

    @Test(arguments: [
        [], [("Origin", "http://localhost:3000")],
        [("Origin", "http://localhost:3000"), ("Sec-Fetch-Site", "cross-site")],
        [("Sec-Fetch-Site", "none")], [("Sec-Fetch-Site", "same-origin")],
    ])
    func `other clients and configured origins are let in`(fields: [(String, String)]) throws {
        try setup.importLogin()
        try waited(for: "the login") { try proxy.exchange().status == 200 ? () : nil }
        let response = try proxy.exchange("GET", "/", fields: fields)
        #expect(response.status == 200)
        let origin = fields.first { $0.0 == "Origin" }?.1
        #expect(response.value("Access-Control-Allow-Origin") == origin)
        #expect(response.values("Vary") == (origin == nil ? [] : ["Origin"]))
    }
}
