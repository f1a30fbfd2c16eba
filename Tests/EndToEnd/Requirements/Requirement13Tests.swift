// One login for any number of requests, with a person there or not (peers.md requirement 13; cases C078,
// C079).

import Support
import Testing

@Suite(.ownThread) struct `Requirement 13: one login, bounded` {
    /// A desktop: a display, and a browser of ours that notes each start and goes along.
    private func desktop(_ setup: LoginSetup, script: String) throws -> [String: String] {
        for name in ["xdg-open", "open", "www-browser", "sensible-browser"] {
            try setup.home.install(
                "echo \"$@\" >> \"\(setup.home.directory.path("launches"))\"\n\(script)", as: name)
        }
        return ["DISPLAY": ":99", "BROWSER": ""]
    }

    private func launches(_ setup: LoginSetup) throws -> Int {
        let text = try Files.read(setup.home.directory.path("launches"))?.text ?? ""
        return text.components(separatedBy: "\n").filter { !$0.isEmpty }.count
    }

    @Test func `with a person there, a hundred requests share one browser and succeed`() throws {
        let setup = try LoginSetup()
        let environment = try desktop(
            setup, script: "sleep 1; exec curl -sSL -o /dev/null -- \"$1\"")
        let proxy = try setup.home.serve(environment: environment)
        let clients = try (0..<100).map { _ in try proxy.connect() }
        for client in clients { try client.send(client.request()) }
        let statuses = try clients.map {
            try $0.stream.readResponse(within: .seconds(60)).status
        }
        #expect(statuses == Array(repeating: 200, count: 100))
        #expect(try launches(setup) == 1)
        #expect(setup.server.codeRequests.count == 1)
        #expect(setup.server.authorizations.count == 1)
    }

    @Test func `with nobody there, nothing is launched and nothing hangs (C079)`() throws {
        let setup = try LoginSetup()
        _ = try desktop(setup, script: "exit 0")
        let proxy = try setup.home.serve()
        let start = ContinuousClock.now
        let clients = try (0..<30).map { _ in try proxy.connect() }
        for client in clients { try client.send(client.request()) }
        for client in clients {
            let response = try client.stream.readResponse()
            #expect(response.isOurs(503, "login_required"))
            #expect(response.has("Retry-After"))
            #expect(response.body.contains("proxy login"))
        }
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(try launches(setup) == 0)
        #expect(setup.server.authorizations.isEmpty)
        // The way in is in the log too.
        try proxy.waitForLog("\(setup.server.origin)/authorize")
    }

    @Test func `the announced URL finishes the login from elsewhere (C079)`() throws {
        let setup = try LoginSetup()
        let proxy = try setup.home.serve()
        let response = try proxy.exchange()
        let url = try #require(response.member("login_url"), "\(response)")
        let curl = try ChildProcess(
            ["/usr/bin/curl", "-sSL", url], environment: [:],
            directory: setup.home.directory.path)
        #expect(try curl.waitForEnd() == .exited(0))
        try waited(for: "the login") { try proxy.exchange().status == 200 ? () : nil }
        #expect(setup.server.codeRequests.count == 1)
    }

    @Test func `a person who does nothing is asked once, and requests end in time (C078)`() throws {
        let setup = try LoginSetup(credential: ["login_wait: 2s"])
        let environment = try desktop(setup, script: "exit 0")
        let proxy = try setup.home.serve(environment: environment)
        for _ in 0..<2 {
            let clients = try (0..<10).map { _ in try proxy.connect() }
            for client in clients { try client.send(client.request()) }
            for client in clients {
                let response = try client.stream.readResponse(within: .seconds(10))
                #expect(response.isOurs(503, "login_required"), "\(response)")
            }
        }
        #expect(try launches(setup) == 1)
        #expect(setup.api.connectionCount == 0, "abandoned requests are not sent later")
    }

    @Test func `attempts that fail are capped`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.authorizationError = "access_denied"
        let setup = try LoginSetup(policy, credential: ["login_wait: 5s"])
        let environment = try desktop(setup, script: "exec curl -sSL -o /dev/null -- \"$1\"")
        let proxy = try setup.home.serve(environment: environment)
        for _ in 0..<12 {
            let response = try proxy.exchange(within: .seconds(20))
            #expect(response.status == 503)
        }
        let launches = try launches(setup)
        #expect((1...3).contains(launches), "\(launches) browsers")
    }

    @Test func `with login: manual no browser is opened even for a person`() throws {
        let setup = try LoginSetup(credential: ["login: manual"])
        let environment = try desktop(setup, script: "exit 0")
        let response = try setup.home.serve(environment: environment).exchange()
        #expect(response.isOurs(503, "login_required"))
        #expect(try launches(setup) == 0)
    }
}
