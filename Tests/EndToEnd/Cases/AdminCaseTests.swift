// The admin listener of the real binary: who reaches it, what it tells, what can be done there, and how
// `proxy health` asks it (peers.md requirements 22 and 23, C001, C009).

import Bytes
import Support
import Testing

extension ProxyProcess {
    /// The port of the status page.
    func adminPort() throws -> UInt16 {
        try waited(for: "the status page") {
            for line in log.components(separatedBy: "\n") where line.contains("status page") {
                let parts = line.components(separatedBy: "127.0.0.1:")
                guard parts.count > 1 else { continue }
                return UInt16(String(parts[1].prefix { $0.isNumber }))
            }
            return nil
        }
    }
}

/// Where a page leads by itself.
private func next(of page: String) -> String? {
    let parts = page.components(separatedBy: "content=\"0; url=")
    return parts.dropFirst().first?.components(separatedBy: "\"")[0]
        .components(separatedBy: "&amp;").joined(separator: "&")
}

extension HTTPMessage {
    /// The token that the page's forms carry.
    var formToken: String? {
        let parts = body.text.components(separatedBy: "name=\"token\" value=\"")
        return parts.count > 1 ? parts[1].components(separatedBy: "\"")[0] : nil
    }
}

@Suite(.ownThread) struct `Cases: the admin listener` {
    private static let admin = "admin: \"127.0.0.1:0\""
    private static let form = ("Content-Type", "application/x-www-form-urlencoded")

    /// Who is dropped ends the proxy.
    private final class Direct {
        let setup: DirectSetup
        let port: UInt16

        init(_ settings: [String] = [admin]) throws {
            setup = try DirectSetup(to: FakeUpstream { _ in .ok() }, settings: settings)
            port = try setup.proxy.adminPort()
        }
    }

    private func get(
        _ port: UInt16, _ target: String, _ fields: [(String, String)] = []
    ) throws -> HTTPMessage {
        try RawClient(to: port).exchange("GET", target, fields: fields)
    }

    @Test func `there is none unless it is asked for, and then it takes no path of the API's`()
        throws
    {
        let upstream = try FakeUpstream { _ in .ok("the API's") }
        let without = try DirectSetup(to: upstream)
        #expect(!without.proxy.log.contains("status page"))
        let setup = try DirectSetup(to: upstream, settings: [Self.admin])
        for path in ["/", "/readyz", "/metrics", "/status.json"] {
            #expect(try setup.proxy.exchange("GET", path).body == "the API's")
        }
        let port = try setup.proxy.adminPort()
        #expect(try get(port, "/v1/me").status == 404)
    }

    @Test func `a port that is taken is an error, and no other one is tried`() throws {
        let taken = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        let file = try home.directory.write("canary-admin-token", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: taken.url, credential: ["token: { file: \(YAML.quoted(file)) }"],
                settings: ["admin: \"127.0.0.1:\(taken.port)\"", "allow_private_addresses: true"]
            ).components(separatedBy: "upstream: \(taken.url)").joined(
                separator: "upstream: https://api.example.com"))
        let result = try home.run(["serve"])
        #expect(result.status == 1)
        #expect(result.error.contains("cannot listen on 127.0.0.1:\(taken.port)"))
        #expect(result.error.contains("\"admin\""))
    }

    @Test(arguments: [
        ("Host", "rebound.example:8081", 421), ("Origin", "https://evil.example", 403),
        ("Origin", "null", 403), ("Sec-Fetch-Site", "cross-site", 403),
        ("Sec-Fetch-Site", "same-site", 403),
    ])
    func `strange pages and names reach nothing`(_ name: String, _ value: String, _ status: Int)
        throws
    {
        let direct = try Direct()
        defer { withExtendedLifetime(direct) {} }
        let port = direct.port
        for target in ["/", "/status.json", "/readyz", "/metrics"] {
            let answer = try get(port, target, [(name, value)])
            #expect(answer.status == status, "\(target)")
            #expect(!answer.body.text.contains("default"))
            #expect(!answer.has("Access-Control-Allow-Origin"))
        }
        let token = try get(port, "/").formToken ?? "none"
        let answer = try RawClient(to: port).exchange(
            "POST", "/refresh", fields: [Self.form, (name, value)],
            body: Octets("token=\(token)&credential=default"))
        #expect(answer.status == status)
    }

    @Test func `a link from another site opens the page and nothing else`() throws {
        let direct = try Direct()
        defer { withExtendedLifetime(direct) {} }
        let port = direct.port
        let navigation = [
            ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Mode", "navigate"),
            ("Sec-Fetch-Dest", "document"),
        ]
        #expect(try get(port, "/", navigation).status == 200)
        for target in ["/status.json", "/metrics", "/readyz", "/livez", "/readyz?/code", "/no"] {
            #expect(try get(port, target, navigation).status == 403, "\(target)")
        }
        let framed = Array(navigation.dropLast()) + [("Sec-Fetch-Dest", "iframe")]
        #expect(try get(port, "/", framed).status == 403)
        let posted = try RawClient(to: port).exchange(
            "POST", "/refresh", fields: navigation + [Self.form], body: "token=x")
        #expect(posted.status == 403)
    }

    @Test func `a local secret guards it, and health is told in one word without it`() throws {
        let home = try ProxyHome()
        let secret = try home.directory.write("canary-local-secret", to: "settings/secret")
        let direct = try Direct([Self.admin, "local_secret: { file: \(YAML.quoted(secret)) }"])
        defer { withExtendedLifetime(direct) {} }
        let port = direct.port
        for target in ["/", "/status.json", "/metrics"] {
            let answer = try get(port, target)
            #expect(answer.status == 401)
            #expect(answer.value("WWW-Authenticate")?.hasPrefix("Basic ") == true)
        }
        #expect(try get(port, "/readyz").body == "ready\n")
        #expect(try get(port, "/livez").status == 200)
        #expect(try get(port, "/readyz", [("Host", "evil.example")]).status == 421)
        // ":canary-local-secret"
        let basic = ("Authorization", "Basic OmNhbmFyeS1sb2NhbC1zZWNyZXQ=")
        #expect(try get(port, "/", [basic]).status == 200)
        #expect(try get(port, "/readyz", [basic]).body.text.contains("\"credentials\""))
        #expect(try get(port, "/", [("Authorization", "Basic OmNhbmFyeS1sb2NhbC0=")]).status == 401)
        for printed in direct.setup.home.printed() {
            #expect(!printed.text.contains("canary"))
        }
    }

    @Test func `a browser logs in, refreshes and logs out there (requirement 23)`() throws {
        let setup = try LoginSetup(settings: [Self.admin])
        let proxy = try setup.home.serve()
        let port = try proxy.adminPort()
        let empty = try get(port, "/")
        #expect(empty.body.text.contains("default needs a login"))
        #expect(try get(port, "/readyz").status == 503)
        let token = try #require(empty.formToken)
        func post(_ action: String) throws -> HTTPMessage {
            try RawClient(to: port).exchange(
                "POST", "/\(action)",
                fields: [Self.form, ("Origin", "http://127.0.0.1:\(port)")],
                body: Octets("token=\(token)&credential=default"))
        }
        let leaving = try post("login")
        #expect(leaving.status == 200)
        let url = try #require(next(of: leaving.body.text))
        // As a browser does: the provider consents at once and sends it to the callback, whose page leads
        // back to the status page.
        let page = setup.home.directory.path("back")
        let curl = try ChildProcess(
            ["/usr/bin/curl", "-sSL", "--max-time", "20", "-o", page, "--", url],
            environment: setup.home.environment, directory: setup.home.directory.path)
        #expect(try curl.waitForEnd() == .exited(0))
        let callback = try #require(try Files.read(page)).text
        #expect(callback.contains("Logged in"))
        let home = try #require(next(of: callback))
        #expect(home.hasPrefix("http://127.0.0.1:\(port)/?notice="))
        let back = try get(port, String(home.dropFirst("http://127.0.0.1:\(port)".count))).body.text
        #expect(back.contains("Logged in to default."))
        #expect(back.contains("until this token expires"))
        #expect(try get(port, "/readyz").status == 200)
        #expect(try proxy.exchange("GET", "/v1").status == 200)

        let before = setup.server.refreshRequests.count
        let refreshed = try post("refresh")
        let place = try #require(refreshed.value("Location"))
        #expect(try get(port, place).body.text.contains("Refreshed default"))
        #expect(setup.server.refreshRequests.count == before + 1)

        let out = try post("logout")
        let told = try #require(out.value("Location"))
        #expect(try get(port, told).body.text.contains("Logged out of default"))
        #expect(try Files.read(setup.home.loginFile()) == nil)
        #expect(try get(port, "/readyz").status == 503)
        for printed in setup.home.printed() { #expect(!printed.text.contains(token)) }
    }

    @Test func `no page and no document holds a token (requirement 22)`() throws {
        let setup = try LoginSetup(settings: [Self.admin])
        let login = try setup.importLogin()
        let proxy = try setup.home.serve()
        let port = try proxy.adminPort()
        #expect(try proxy.exchange("GET", "/v1?key=canary-query").status == 200)
        for target in ["/", "/status.json", "/readyz", "/metrics"] {
            let text = try get(port, target).body.text
            #expect(!text.contains(login.access))
            #expect(!text.contains(login.refresh ?? "?"))
            #expect(!text.contains("canary-query"))
        }
    }

    @Test func `health asks over TCP and over a Unix socket`() throws {
        let setup = try LoginSetup()
        let path = setup.home.directory.path("admin.sock")
        try setup.home.write(
            configuration: YAML.short(
                upstream: setup.api.url,
                credential: [
                    "issuer: \(setup.server.issuer)", "client_id: \(setup.server.policy.clientID)",
                    "scopes: [api]",
                ], settings: ["admin: \(YAML.quoted("unix:" + path))"]))
        let nobody = try setup.home.run(["health"])
        #expect(nobody.status == 1)
        #expect(nobody.error.contains("no proxy answers at unix:\(path)"))
        let proxy = try setup.home.serve()
        let unready = try setup.home.run(["health"])
        #expect(unready.status == 1)
        #expect(unready.error.contains("not ready: default: never logged in"))
        #expect(try setup.home.run(["health", "--live"]).status == 0)
        try setup.importLogin()
        let ready = try setup.home.run(["health", "default"])
        #expect((ready.status, ready.output) == (0, "ready\n"))
        #expect(try setup.home.run(["health", "--json"]).output.contains("\"ready\":true"))
        try proxy.stop()
        #expect(try Files.read(path) == nil, "the socket file is removed")

        let direct = try Direct()
        let text = try #require(try Files.read(direct.setup.home.configurationFile)).text
        try direct.setup.home.write(
            configuration: text.components(separatedBy: "admin: \"127.0.0.1:0\"").joined(
                separator: "admin: \"127.0.0.1:\(direct.port)\""))
        #expect(try direct.setup.home.run(["health"]).status == 0)
    }

    @Test func `a reload changes who may come, and keeps the page where it is`() throws {
        let direct = try Direct()
        defer { withExtendedLifetime(direct) {} }
        let (home, port) = (direct.setup.home, direct.port)
        #expect(try get(port, "/").status == 200)
        let text = try #require(try Files.read(home.configurationFile)).text
        let secret = try home.directory.write("canary-new-secret", to: "settings/secret")
        try home.write(
            configuration: text + "local_secret: { file: \(YAML.quoted(secret)) }\n")
        try waited(for: "the new rule") {
            (try? get(port, "/"))?.status == 401 ? () : nil
        }
        // ":canary-new-secret"
        let basic = ("Authorization", "Basic OmNhbmFyeS1uZXctc2VjcmV0")
        #expect(try get(port, "/", [basic]).status == 200)
        try home.write(
            configuration: text.components(separatedBy: Self.admin).joined(
                separator: "admin: \"127.0.0.1:1\""))
        try waited(for: "the refusal on the page") {
            (try? get(port, "/", [basic]))?.body.text.contains("&quot;admin&quot;")
                ?? false ? () : nil
        }
        #expect(try get(port, "/").status == 401)
    }

    @Test func `health without an admin listener says what to write`() throws {
        let setup = try LoginSetup()
        let result = try setup.home.run(["health"])
        #expect(result.status == 78)
        #expect(result.error.contains("admin: 127.0.0.1:8081"))
    }
}
