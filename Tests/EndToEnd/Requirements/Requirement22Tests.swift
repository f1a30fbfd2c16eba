// What the log says (peers.md requirement 22): lines that programs can read, a line for each request that
// should have one, and no secret and no query anywhere, at any level and in any format.

import Glibc
import Support
import Testing
import Vocabulary

@Suite(.ownThread) struct `Requirement 22: the log` {
    private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
    private static let traceparent = "00-\(trace)-00f067aa0ba902b7-01"

    /// The lines of the log, each read as JSON.
    private func lines(_ log: String) throws -> [JSONObject] {
        try log.components(separatedBy: "\n").filter { !$0.isEmpty }.map { line in
            try #require(
                try JSONReader.read(text: line).asObject, "not an object: \(line)")
        }
    }

    private func requests(_ proxy: ProxyProcess, _ count: Int) throws -> [JSONObject] {
        try waited(for: "\(count) access lines", within: .seconds(20)) {
            let found = try lines(proxy.log).filter { $0["message"]?.asString == "request" }
            return found.count >= count ? found : nil
        }
    }

    @Test func `has a line for each request, with who answered and where the time went`() throws {
        let upstream = try FakeUpstream { request in
            request.target.hasPrefix("/v1/no") ? FakeResponse(404, body: "no") : .ok("fine")
        }
        let setup = try DirectSetup(
            to: upstream, settings: ["log: { level: info, format: json, access: all }"])
        let client = try setup.proxy.connect()
        _ = try client.exchange(
            "POST", "/v1/x?token=canary-query-8Tq1", fields: [("traceparent", Self.traceparent)],
            body: "12345")
        _ = try client.exchange("GET", "/v1/no")
        _ = try client.exchange("GET", "/", fields: [("Host", "evil.example")])
        let found = try requests(setup.proxy, 3)
        func text(_ line: Int, _ name: String) -> String? { found[line][name]?.asString }
        func number(_ line: Int, _ name: String) -> Int64? {
            found[line][name]?.asNumber?.asInteger
        }
        #expect(text(0, "method") == "POST" && text(0, "path") == "/v1/x")
        #expect(text(0, "by") == "upstream" && number(0, "status") == 200)
        #expect(number(0, "in") == 5 && number(0, "out") == 4 && text(0, "route") == "/")
        #expect(text(0, "trace_id") == Self.trace)
        for phase in ["ms", "parked_ms", "connect_ms", "head_ms", "body_ms"] {
            #expect(try #require(number(0, phase)) >= 0, "\(phase)")
        }
        #expect(number(1, "status") == 404 && text(1, "by") == "upstream")
        #expect(number(2, "status") == 421 && text(2, "by") == "host_not_allowed")
        #expect(text(2, "trace_id") == nil)
        #expect(Set(found.map { $0["id"]?.asString }).count == 3)
        // The field itself goes on unchanged.
        #expect(upstream.requests[0].values("traceparent") == [Self.traceparent])
    }

    @Test(arguments: [("failures", 2), ("off", 0)])
    func `has a line for failures only, or for none, as configured`(access: String, count: Int)
        throws
    {
        let upstream = try FakeUpstream { request in
            request.target == "/503" ? FakeResponse(503) : .ok("fine")
        }
        let setup = try DirectSetup(
            to: upstream, settings: ["log: { format: json, access: \(access) }"])
        let client = try setup.proxy.connect()
        for target in ["/a", "/503", "/b"] { _ = try client.exchange("GET", target) }
        _ = try client.exchange("GET", "/", fields: [("Host", "evil.example")])
        try setup.proxy.stop()
        let found = try lines(setup.proxy.log).filter { $0["message"]?.asString == "request" }
        #expect(found.count == count)
        let statuses = found.compactMap { $0["status"]?.asNumber?.asInteger }
        let levels = found.compactMap { $0["level"]?.asString }
        #expect(statuses == Array([503, 421].prefix(count)))
        #expect(levels == Array(["warning", "info"].prefix(count)))
    }

    @Test func `tells of a wait for a credential and of a replay`() throws {
        let setup = try LoginSetup(settings: ["log: { format: json, access: all }"])
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange("GET", "/x").status == 200)
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange("GET", "/y").status == 200)
        #expect(try requests(proxy, 2).allSatisfy { $0["status"]?.asNumber?.asInteger == 200 })
    }

    @Test(arguments: ["json", "text"], ["debug", "info"])
    func `holds no secret and no query`(format: String, level: String) throws {
        let setup = try LoginSetup(
            credential: ["client_secret: { env: CLIENT_SECRET }"],
            settings: [
                "log: { level: \(level), format: \(format), access: all }",
                "local_secret: { env: LOCAL }",
            ])
        let secrets = [
            "canary-client-secret-71", "canary-local-secret-72", "canary-query-73",
            "canary-cookie-74", "canary-client-field-75", "canary-body-76", "canary-user-77",
            "canary-answer-78",
        ]
        setup.server.set { $0.clientSecret = secrets[0] }
        let tokens = try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve(
            environment: ["CLIENT_SECRET": secrets[0], "LOCAL": secrets[1]])
        let fields = [
            ("Authorization", "Bearer \(secrets[1])"), ("Cookie", "session=\(secrets[3])"),
            ("X-Api-Key", secrets[4]), ("Referer", "http://x/?q=\(secrets[2])"),
        ]
        let target = "/v1/x?key=\(secrets[2])"
        #expect(
            try proxy.exchange("POST", target, fields: fields, body: .init(secrets[5])).status
                == 200)
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange("GET", target, fields: fields).status == 200)
        setup.server.failNext(.answer(FakeResponse(500, body: "canary-answer-78")))
        setup.server.revokeAccessTokens()
        _ = try proxy.exchange("GET", target, fields: fields)
        // Refused, in every way there is.
        for fields in [
            [("Host", "evil.example")], [("Authorization", "Bearer \(secrets[4])")],
            [("Origin", "https://\(secrets[6]).example")],
        ] {
            #expect(try proxy.exchange("GET", target, fields: fields).status >= 400)
        }
        _ = try proxy.answer(
            toRaw: Octets("GET \(target) HTTP/1.1\r\n Authorization: \(secrets[4])\r\n\r\n"))
        proxy.child.kill(SIGUSR1)
        try proxy.waitForLog("log level changed")
        #expect(try proxy.exchange("GET", target, fields: fields).status < 600)
        try proxy.stop()
        #expect(setup.server.secrets.contains(tokens.access))
        let found = SecretSearch(setup.server.secrets.union(secrets)).found(in: Octets(proxy.log))
        #expect(found.isEmpty)
        #expect(proxy.log.contains("/v1/x"))
        if format == "json" { #expect(try lines(proxy.log).count > 5) }
    }

    @Test func `says more at once when asked, and what is configured again`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["log: { level: warning, format: json }"])
        let child = setup.proxy.child
        child.kill(SIGUSR1)
        try setup.proxy.waitForLog("\"now\":\"debug\"")
        child.kill(SIGUSR2)
        try setup.proxy.waitForLog("\"now\":\"warning\"")
        #expect(try setup.proxy.exchange().status == 200)
        let before = try lines(setup.proxy.log)
        #expect(before.allSatisfy { $0["message"] != nil && $0["time"] != nil })
    }

    @Test func `says as much as a changed configuration wants, without a restart`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        let token = try home.directory.write("canary-token-2", to: "settings/token")
        func configure(_ log: String) throws {
            try home.write(
                configuration: YAML.short(
                    upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(token)) }"],
                    settings: [log]))
        }
        try configure("log: { level: error, format: json, access: off }")
        let proxy = try home.serve()
        #expect(try proxy.exchange("GET", "/first").status == 200)
        try configure("log: { level: info, format: json, access: all }")
        proxy.child.kill(SIGHUP)
        try proxy.waitForLog("the configuration was loaded again")
        #expect(try proxy.exchange("GET", "/second").status == 200)
        let line = try requests(proxy, 1)[0]
        #expect(line["path"]?.asString == "/second")
        #expect(!proxy.log.contains("/first"))
    }

    @Test func `holds up no request when nobody reads it`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        let token = try home.directory.write("canary-token-1", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(token)) }"],
                settings: [
                    "log: { format: json, access: all }", "workers: 1", "admin: \"127.0.0.1:0\"",
                ]))
        // A pipe that is read until the ports are known, and then no more.
        let pipe = home.directory.path("pipe")
        try #require(mkfifo(pipe, 0o600) == 0)
        let reader = open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(reader) }
        var seen = ""
        func readMore() {
            var piece = [UInt8](repeating: 0, count: 65_536)
            while case let count = read(reader, &piece, piece.count), count > 0 {
                seen += String(decoding: piece[..<count], as: UTF8.self)
            }
        }
        let child = try home.startShell(
            "exec \"$0\" serve --config \"$1\" 2> \"$2\"",
            [Binary.path, home.configurationFile, pipe])
        // The proxy's own, then the status page's.
        let ports = try waited(for: "the ports", within: .seconds(20)) { () -> [UInt16]? in
            readMore()
            let parts = seen.components(separatedBy: "http://127.0.0.1:").dropFirst()
            let ports = parts.compactMap { UInt16($0.components(separatedBy: "\"")[0]) }
            return ports.count == 2 ? ports : nil
        }
        let client = try RawClient(to: ports[0])
        let path = "/" + String(repeating: "x", count: 900)
        // A pipe takes 64 KiB and the queue a mebibyte.
        for _ in 0..<2000 { #expect(try client.exchange("GET", path).status == 200) }
        let metrics = try RawClient(to: ports[1]).exchange("GET", "/metrics").body.text
        let lost = metrics.components(separatedBy: "\ncredential_proxy_log_lines_lost_total ").last
        #expect(try #require(UInt64((lost ?? "").prefix { $0.isNumber })) > 0)
        child.kill(SIGTERM)
        seen = ""
        try waited(for: "the number of lost lines", within: .seconds(20)) {
            readMore()
            return seen.contains("log lines were lost") ? () : nil
        }
        _ = try child.waitForEnd()
    }
}
