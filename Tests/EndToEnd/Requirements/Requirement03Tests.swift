// Several processes, one store, one rotating grant (peers.md requirement 3; must-show 4; cases C004, C005,
// C019).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Requirement 3: cross-process safety with rotation` {
    @Test func `two proxies with one expired token spend the refresh token once (C004)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.tokenDelay = .milliseconds(300)
        let setup = try LoginSetup(policy)
        try setup.importLogin(expiresIn: -10)
        let proxies = try [setup.home.serve(), setup.home.serve()]
        let clients = try proxies.map { try $0.connect() }
        for client in clients { try client.send(client.request()) }
        for client in clients { #expect(try client.stream.readResponse().status == 200) }
        #expect(setup.server.tokenRequests.count == 1)
        #expect(setup.server.reuses == 0)
    }

    /// The long run: three proxies and a loop of `proxy token` share logins whose access tokens live
    /// for three seconds; the server revokes a family when a refresh token comes twice.
    @Test
    func
        `must show 4: expiries under three proxies and a token loop bring no reuse and no login (C003, C004)`()
        throws
    {
        let expiries = Soak.times(200, soaking: 1000)
        let credentials = (0..<Soak.times(16, soaking: 32)).map { "c\($0)" }
        var policy = FakeAuthorizationServer.Policy()
        policy.accessSeconds = 3
        let server = try FakeAuthorizationServer(policy)
        let api = try FakeUpstream(protectedBy: server)
        let home = try ProxyHome()
        var lines = ["listen: [\"127.0.0.1:0\"]", "routes:"]
        for name in credentials {
            lines += ["  - path: /\(name)", "    upstream: \(api.url)", "    credential: \(name)"]
        }
        lines.append("credentials:")
        for name in credentials {
            lines.append(
                "  \(name): { issuer: \"\(server.issuer)\", client_id: cli-4711, scopes: [api] }")
        }
        try home.write(configuration: lines.joined(separator: "\n") + "\n")
        for name in credentials {
            let login = server.makeLogin()
            let tokens =
                "{\"access_token\":\(jsonText(login.access)),\"expires_in\":-10,"
                + "\"refresh_token\":\(jsonText(login.refresh!)),\"token_type\":\"Bearer\"}"
            let result = try home.run(["import", name], input: Octets(tokens))
            guard result.status == 0 else { throw CommandFailed(result) }
        }

        let proxies = try [home.serve(), home.serve(), home.serve()]
        let deadline = Deadline.after(.seconds(Soak.times(100, soaking: 600)))
        var statuses: [Int: Int] = [:]
        let clients = try proxies.map { try $0.connect() }
        var round = 0
        while server.refreshRequests.count < expiries, !deadline.hasPassed {
            for name in credentials {
                for client in clients { try client.send(client.request("GET", "/\(name)/x")) }
                for client in clients {
                    statuses[try client.stream.readResponse().status, default: 0] += 1
                }
            }
            let token = try home.run(["token", credentials[round % credentials.count]])
            #expect(token.status == 0, "\(token)")
            round += 1
        }
        #expect(server.refreshRequests.count >= expiries)
        #expect(server.reuses == 0)
        #expect(server.authorizations.isEmpty, "nobody had to log in")
        #expect(Set(statuses.keys) == [200], "\(statuses)")
    }

    @Test func `the loser of a race adopts what the winner wrote (C005)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        // The grant that the proxy read is dead; while it is being refused, another process logs in.
        let outside = setup.server.makeLogin(scope: "api")
        setup.server.failNext(.error(400, "invalid_grant"))
        setup.server.set { $0.tokenDelay = .milliseconds(700) }
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        // A writer without the lock, as another tool would be: the whole record, renamed into place.
        let file = setup.home.loginFile()
        let record = try #require(try Files.read(file)).text
        let members = [
            "access_token": jsonText(outside.access), "refresh_token": jsonText(outside.refresh!),
            "expires_at": "\(time(nil) + 3000)", "generation": "1000",
        ]
        let fresh = record.components(separatedBy: "\n").map { line -> String in
            guard let member = members.first(where: { line.contains("\"\($0.key)\"") }) else {
                return line
            }
            return "\"\(member.key)\": \(member.value)" + (line.hasSuffix(",") ? "," : "")
        }
        try Files.write(Octets(fresh.joined(separator: "\n")), to: file + ".outside")
        #expect(rename(file + ".outside", file) == 0)
        let response = try client.stream.readResponse()
        #expect(response.status == 200, "\(response)")
        #expect(setup.api.requests.last?.values("Authorization") == ["Bearer \(outside.access)"])
        #expect(try Files.read(file)?.contains(Octets(outside.refresh!)) == true)
    }

    @Test func `the new refresh token is on disk before its access token is used (C019)`() throws {
        let server = try FakeAuthorizationServer()
        let file = SharedValue("")
        let onDisk = SharedValue<[Bool]>([])
        let api = try FakeUpstream { request in
            let token = request.value("Authorization")?.components(separatedBy: " ").last ?? ""
            let stored = try Files.read(file.value)?.contains(Octets(token)) == true
            onDisk.change { $0.append(stored) }
            return server.accepts(request) ? .ok() : .invalidToken
        }
        let setup = try LoginSetup(server, api)
        file.value = setup.home.loginFile()
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        try proxy.killNow()
        #expect(onDisk.value == [true])

        // After the kill the new refresh token is the one that is sent.
        server.revokeAccessTokens()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(server.reuses == 0)
        #expect(Set(server.refreshRequests.map(\.refreshToken)).count == 2)
    }
}
