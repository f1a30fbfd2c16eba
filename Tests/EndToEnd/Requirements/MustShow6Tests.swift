// Known secrets appear nowhere (must-show 6; peers.md requirement 22, expectations 19-21).

import Support
import Testing

@Suite(.ownThread) struct `Must show 6: no secret is ever printed` {
    private struct Leak: CustomStringConvertible {
        let secrets: Set<String>
        let place: String
        var description: String { "\(place): \(secrets)" }
    }

    /// Everything printed, and every command line and environment of the proxy and its children.
    private func leaks(of secrets: Set<String>, in home: ProxyHome, _ watches: [ProcessWatch])
        -> [String]
    {
        let search = SecretSearch(secrets)
        var leaks: [String] = []
        for (index, text) in home.printed().enumerated() {
            let found = search.found(in: text)
            if !found.isEmpty { leaks.append("output \(index): \(found)") }
        }
        for watch in watches {
            let found = search.found(in: watch.seen)
            if !found.isEmpty { leaks.append("process: \(found)") }
        }
        return leaks
    }

    @Test func `through login, refresh, 401, failures and logout at level debug`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.clientSecret = "canary-client-secret-9f3k"
        let server = try FakeAuthorizationServer(policy)
        let api = try FakeUpstream { request in
            guard server.accepts(request) else { return .invalidToken }
            switch request.path {
            case "/broken": return FakeResponse(fields: [("X-Bad", "canary-upstream-value\u{00}")])
            default: return .ok("canary-upstream-body")
            }
        }
        let setup = try LoginSetup(server, api)
        let home = setup.home
        let (secretFile, localFile) = (
            try home.directory.write("canary-client-secret-9f3k\n", to: "settings/secret"),
            try home.directory.write("canary-local-secret-7d2x\n", to: "settings/local")
        )
        try home.write(
            configuration: YAML.short(
                upstream: api.url,
                credential: [
                    "issuer: \(server.issuer)", "client_id: cli-4711", "scopes: [api]",
                    "client_secret: { file: \(YAML.quoted(secretFile)) }",
                ],
                settings: [
                    "local_secret: { file: \(YAML.quoted(localFile)) }"
                ]
            ).components(separatedBy: "log: { level: debug }").joined(
                separator: "log: { level: debug, access: all }"))

        var watches: [ProcessWatch] = []
        var secrets: Set<String> = [
            "canary-client-secret-9f3k", "canary-local-secret-7d2x", "canary-upstream-value",
            "canary-upstream-body", "canary-query-value", "canary-cookie-value",
            "canary-clients-own", "canary-request-body", "canary-description",
        ]
        // A browser that takes its time, so that its arguments and environment can be looked at.
        let browser = try home.install(
            "env > \"\(home.directory.path("browser-environment"))\"; sleep 1\n"
                + "exec curl -sSL -o /dev/null -- \"$1\"", as: "browse")
        let login = try home.start([
            "login", "--browser", browser, "--config", home.configurationFile,
        ])
        watches.append(ProcessWatch(login))
        #expect(try login.waitForEnd() == .exited(0), "\(login.printed(.error))")

        let proxy = try home.serve()
        watches.append(ProcessWatch(proxy.child))
        let own = [("Authorization", "Bearer canary-local-secret-7d2x")]
        let noisy = own + [("Cookie", "sid=canary-cookie-value"), ("X-Own", "canary-clients-own")]
        let target = "/v1/me?token=canary-query-value"
        #expect(
            try proxy.exchange("POST", target, fields: noisy, body: "canary-request-body").status
                == 200)
        server.revokeAccessTokens()
        #expect(try proxy.exchange("GET", target, fields: noisy).status == 200)
        #expect(try proxy.exchange("GET", "/broken", fields: noisy).status == 502)
        #expect(
            try proxy.exchange(
                "GET", target, fields: [("Authorization", "Bearer canary-clients-own")]
            ).status == 401)
        _ = try proxy.answer(
            toRaw: "GET /x?canary-query-value HTTP/1.1\r\nX Y: canary-clients-own\r\n\r\n")
        for fault in [
            TokenFault.unavailable, .error(400, "temporarily_unavailable"), .truncatedJSON,
            .cutShort,
            .error(401, "invalid_client"), .error(400, "invalid_grant"),
        ] {
            server.revokeAccessTokens()
            server.failAlways(fault)
            _ = try proxy.exchange("GET", target, fields: noisy)
        }
        server.failAlways(nil)
        for command in [["status"], ["status", "--json"], ["check"], ["logout", "--local"]] {
            _ = try home.run(command)
        }
        _ = try proxy.exchange("GET", target, fields: noisy)
        try proxy.stop()

        // The login URL carries state and challenge; it must be printable. Everything else must not.
        let states = Set(server.authorizations.compactMap { $0["state"] })
        secrets.formUnion(server.secrets.subtracting(states))
        #expect(secrets.count > 12)
        let found = leaks(of: secrets, in: home, watches)
        #expect(found.isEmpty, "\(found)")
        let environment = try #require(try Files.read(home.directory.path("browser-environment")))
        #expect(SecretSearch(secrets).found(in: environment).isEmpty)
        // Login and serve, and the browser with its curl.
        #expect(watches[0].commandCount > 2, "the browser was seen")
    }

    @Test func `a token command learns nothing and its output is not shown`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        try home.install(
            "env > \"\(home.directory.path("environment"))\"\n"
                + "echo canary-stderr-of-command >&2\necho canary-token-of-command",
            as: "give-token")
        let local = try home.directory.write("canary-local-secret-7d2x", to: "settings/local")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url, credential: ["command: [give-token]"],
                settings: ["local_secret: { file: \(YAML.quoted(local)) }"]))
        let proxy = try home.serve(environment: ["OTHER_TOKEN": "canary-other-variable"])
        let watch = ProcessWatch(proxy.child)
        let fields = [("Authorization", "Bearer canary-local-secret-7d2x")]
        #expect(try proxy.exchange("GET", "/", fields: fields).status == 200)
        #expect(
            try upstream.requests.item(0).values("Authorization") == [
                "Bearer canary-token-of-command"
            ])
        try proxy.stop()
        let secrets: Set<String> = ["canary-token-of-command", "canary-local-secret-7d2x"]
        #expect(leaks(of: secrets, in: home, [watch]).isEmpty)
        let environment = try #require(try Files.read(home.directory.path("environment")))
        #expect(SecretSearch(secrets).found(in: environment).isEmpty)
    }

    @Test func `variables that hold secrets are kept from children`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.clientSecret = "canary-secret-in-variable"
        let server = try FakeAuthorizationServer(policy)
        let setup = try LoginSetup(server, FakeUpstream(protectedBy: server))
        try setup.home.write(
            configuration: YAML.short(
                upstream: setup.api.url,
                credential: [
                    "issuer: \(server.issuer)", "client_id: cli-4711",
                    "client_secret: { env: CLIENT_SECRET }",
                ]))
        let browser = try setup.home.install(
            "env > \"\(setup.home.directory.path("environment"))\"\n"
                + "exec curl -sSL -o /dev/null -- \"$1\"", as: "browse")
        let result = try setup.home.run(
            ["login", "--browser", browser],
            environment: ["CLIENT_SECRET": "canary-secret-in-variable"])
        #expect(result.status == 0, "\(result)")
        let environment = try #require(try Files.read(setup.home.directory.path("environment")))
        #expect(!environment.contains("canary-secret-in-variable"))
    }
}
