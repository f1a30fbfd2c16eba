// The Host allow-list, against DNS rebinding (peers.md requirement 7, expectations 1, 5, 8; cases C008,
// C112, C113, C114).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 7: Host allow-list` {
    /// Without a login, so that a request that is let in shows as a question to the provider.
    private let setup: LoginSetup
    private let proxy: ProxyProcess

    init() throws {
        setup = try LoginSetup()
        proxy = try setup.home.serve()
    }

    private func ask(host: String, fields: [(String, String)] = []) throws -> HTTPMessage {
        try proxy.exchange("GET", "/v1/me", fields: [("Host", host)] + fields)
    }

    @Test(arguments: [
        "api.attacker.example:PORT", "rebound.example:PORT", "localhost.evil.example:PORT",
        "127.0.0.1.evil.example:PORT", "127.1:PORT", "0.0.0.0:PORT", "[::]:PORT", "0x7f000001:PORT",
        "2130706433:PORT", "127.0.0.2:PORT", "localhost", "127.0.0.1", "localhost:1",
        "localhost:PORT0",
        "localhost:", "", "localhost:PORT,evil.example", "evil.example@localhost:PORT",
        "localhost:PORT@evil.example", "localhost.:PORT", "[::ffff:127.0.0.1]:PORT",
        "locahost:PORT",
        "localhost :PORT", "http://localhost:PORT", "localhost:PORT/",
    ])
    func `a foreign Host gets 421 and causes nothing (C008, C112, C113)`(host: String) throws {
        let host = host.components(separatedBy: "PORT").joined(separator: "\(proxy.port)")
        for fields in [[], [("Origin", "http://\(host)")]] {
            let response = try ask(host: host, fields: fields)
            #expect([421, 400].contains(response.status), "\(host): \(response)")
            if response.status == 421 { #expect(response.isOurs(421, "host_not_allowed")) }
        }
        #expect(setup.api.connectionCount == 0)
        #expect(setup.server.requests.isEmpty)
    }

    @Test func `loopback names with the port are let in (C112)`() throws {
        #expect(try ask(host: "localhost:\(proxy.port)").problemCode == "login_required")
        try setup.importLogin()
        try waited(for: "the login") {
            try ask(host: "localhost:\(proxy.port)").status == 200 ? () : nil
        }
        for host in ["localhost", "LOCALHOST", "LocalHost", "127.0.0.1", "[::1]"] {
            #expect(try ask(host: "\(host):\(proxy.port)").status == 200, "\(host)")
        }
    }

    @Test func `a configured name is let in, alone`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["allowed_hosts: [api.internal, \"other.internal:9000\"]"])
        let port = setup.proxy.port
        for (host, status) in [
            ("api.internal:\(port)", 200), ("API.internal:\(port)", 200),
            ("other.internal:9000", 200), ("other.internal:\(port)", 421),
            ("x.api.internal:\(port)", 421), ("api.internal.:\(port)", 421),
        ] {
            let response = try setup.proxy.exchange("GET", "/", fields: [("Host", host)])
            #expect(response.status == status, "\(host)")
        }
    }

    @Test func `a foreign authority in an absolute target counts as Host (C114)`() throws {
        let own = "127.0.0.1:\(proxy.port)"
        let client = try proxy.connect()
        try client.send(Octets("GET http://evil.example/x HTTP/1.1\r\nHost: \(own)\r\n\r\n"))
        #expect(try client.stream.readResponse().isOurs(421, "host_not_allowed"))
        #expect(setup.api.connectionCount == 0)
        #expect(setup.server.requests.isEmpty)
    }
}
