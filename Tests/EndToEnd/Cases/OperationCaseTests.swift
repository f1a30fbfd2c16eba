// Running it: signals, broken pipes, odd users, forward proxies, access rules (cases C027, C029, C109, C111,
// C131).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Cases: operation` {
    @Test func `a client that leaves in the middle of a download ends nothing (C027)`() throws {
        let upstream = try FakeUpstream { request in
            request.path == "/large"
                ? FakeResponse(body: Octets(repeating: 0x61, count: 4 << 20)) : .ok()
        }
        let setup = try DirectSetup(to: upstream)
        for _ in 0..<10 {
            let client = try setup.proxy.connect(receiveBufferBytes: 4096)
            try client.send(client.request("GET", "/large"))
            _ = try client.stream.readHead()
            client.stream.reset()
        }
        #expect(try setup.proxy.exchange().status == 200)
    }

    @Test func `a log that nobody reads ends nothing (C027)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        let file = try home.directory.write("canary-pipe-token", to: "settings/token")
        let port = try FakeUpstream { _ in }.port
        let text = YAML.short(
            upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(file)) }"])
        try home.write(
            configuration: text.components(separatedBy: "127.0.0.1:0").joined(
                separator: "127.0.0.1:\(port)"))
        // The reader of its standard error goes at once.
        let shell = try ChildProcess(
            [
                "/bin/sh", "-c", "\"$0\" serve --config \"$1\" 2>&1 >/dev/null | true; sleep 60",
                Binary.path, home.configurationFile,
            ], environment: home.environment, directory: home.directory.path)
        try waited(for: "the proxy") {
            (try? RawClient(to: port).exchange().status) == 200 ? () : nil
        }
        for _ in 0..<10 { #expect(try RawClient(to: port).exchange().status == 200) }
        shell.kill(SIGKILL, wholeGroup: true)
    }

    @Test(arguments: [SIGTERM, SIGINT])
    func `a signal lets running requests end and then exits with 0`(signal: Int32) throws {
        let gate = Gate()
        let upstream = try FakeUpstream { _ in
            try gate.pass()
            return .ok("finished")
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        try gate.waitForArrivals(1)
        setup.proxy.child.kill(signal)
        try waited(for: "new connections to be refused") {
            (try? setup.proxy.connect()) == nil ? () : nil
        }
        gate.open()
        #expect(try client.stream.readResponse().body == "finished")
        #expect(try setup.proxy.child.waitForEnd(within: .seconds(10)) == .exited(0))
    }

    @Test func `draining ends at the grace period`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(30))
        }
        let setup = try DirectSetup(to: upstream, settings: ["shutdown: { grace: 1s }"])
        let client = try setup.proxy.connect()
        try client.send(client.request())
        try upstream.waitForRequests(1)
        let start = ContinuousClock.now
        setup.proxy.child.kill(SIGTERM)
        _ = try setup.proxy.child.waitForEnd(within: .seconds(10))
        #expect(ContinuousClock.now - start < .seconds(5))
    }

    @Test func `beside an application it keeps accepting while it drains (C109)`() throws {
        let gate = Gate()
        let upstream = try FakeUpstream { request in
            if request.path == "/slow" { try gate.pass() }
            return .ok()
        }
        let setup = try DirectSetup(
            to: upstream, settings: ["shutdown: { grace: 20s, keep_accepting: true }"])
        let slow = try setup.proxy.connect()
        try slow.send(slow.request("GET", "/slow"))
        try gate.waitForArrivals(1)
        setup.proxy.child.kill(SIGTERM)
        for _ in 0..<3 {
            #expect(try setup.proxy.exchange("GET", "/more").status == 200)
            pause(.milliseconds(100))
        }
        gate.open()
        #expect(try slow.stream.readResponse().status == 200)
    }

    @Test func `a refresh that runs while draining is saved (C109)`() throws {
        let setup = try LoginSetup()
        let old = try setup.importLogin(expiresIn: -10)
        setup.server.set { $0.tokenDelay = .seconds(1) }
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        #expect(try proxy.stop() == .exited(0))
        let stored = try #require(try Files.read(setup.home.loginFile()))
        #expect(!stored.contains(Octets(try #require(old.refresh))))
    }

    @Test func `a random user with HOME=/ runs (C131)`() throws {
        guard getuid() == 0 else { return }
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome(
            configuration: YAML.short(upstream: upstream.url, credential: ["token: { env: TOKEN }"])
        )
        for path in ["", "/settings", "/home"] { chmod(home.directory.path + path, 0o755) }
        chmod(home.configurationFile, 0o644)
        let setpriv = "/usr/bin/setpriv"
        guard Files.exists(setpriv) else { return }
        let child = try ChildProcess(
            [
                setpriv, "--reuid=1000690000", "--regid=0", "--clear-groups", Binary.path, "serve",
                "--config", home.configurationFile,
            ],
            environment: ["HOME": "/", "TOKEN": "canary-random-user", "PATH": "/usr/bin:/bin"],
            directory: "/")
        // The build may lie where that user cannot go; then there is nothing to see.
        do {
            let proxy = try ProxyProcess(child)
            for _ in 0..<3 { #expect(try proxy.exchange().status == 200) }
        } catch let error as ProxyProcess.NotReady {
            #expect(error.printed.contains("Permission denied"), "\(error)")
        }
    }

    // MARK: Forward proxies (C029)

    /// A forward proxy that answers CONNECT by connecting to the port it was asked for.
    private func forwardProxy() throws -> FakeUpstream {
        try FakeUpstream { connection in
            let head = try connection.expectHead()
            connection.note(head)
            let port = UInt16(head.target.components(separatedBy: ":").last ?? "") ?? 0
            let onward = try SocketStream.connect(to: port)
            try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
            // One exchange of a known shape is enough.
            guard let request = try connection.stream.readRequest() else { return }
            try onward.write(request.head + request.body)
            let response = try onward.readResponse(to: request.method)
            try connection.write(response.head + response.body)
        }
    }

    @Test func `loopback is never reached through a proxy (C029)`() throws {
        let forward = try forwardProxy()
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve(environment: [
            "http_proxy": forward.url, "https_proxy": forward.url, "HTTPS_PROXY": forward.url,
            "ALL_PROXY": forward.url, "HTTP_PROXY": forward.url,
        ])
        #expect(try proxy.exchange().status == 200)
        #expect(forward.connectionCount == 0)
    }

    @Test func `other hosts are reached through the proxy of the environment (C029)`() throws {
        let forward = try FakeUpstream { connection in
            let head = try connection.expectHead()
            connection.note(head)
            try connection.write("HTTP/1.1 200 Connection established\r\n\r\n")
            let request = try connection.expectRequest()
            try connection.respond(.ok("through the proxy"), to: request)
        }
        let home = try ProxyHome()
        let file = try home.directory.write("canary-forward-token", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: "http://api.test",
                credential: ["token: { file: \(YAML.quoted(file)) }"],
                settings: ["allow_plain_http: true"]))
        let proxy = try home.serve(environment: ["http_proxy": forward.url])
        #expect(try proxy.exchange("GET", "/x").body == "through the proxy")
        #expect(
            forward.requests.map(\.startLine) == [
                "CONNECT api.test:80 HTTP/1.1", "GET /x HTTP/1.1",
            ])
        #expect(
            try !forward.requests.item(0).has("Authorization"), "the token is for the API alone")
        #expect(
            try forward.requests.item(1).values("Authorization") == ["Bearer canary-forward-token"])
        let except = try home.serve(environment: [
            "http_proxy": forward.url, "no_proxy": "localhost,.test",
        ])
        #expect(try except.exchange("GET", "/x").isOurs(502, "upstream_unreachable"))
        #expect(forward.connectionCount == 1)
    }

    @Test func `an upstream that is the proxy itself is refused at start (C029)`() throws {
        let port = try FakeUpstream { _ in }.port
        let home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:\(port)"]
                upstream: http://localhost:\(port)
                credential: { token: { env: TOKEN } }
                """)
        let result = try home.run(["serve"])
        #expect(result.status == 78, "\(result)")
    }

    // MARK: Access rules (C111)

    @Test func `a demanded field keeps others out and is not forwarded (C111)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let setup = try DirectSetup(
            to: upstream, settings: ["require_header: \"X-Local-Proxy: 1\""])
        #expect(try setup.proxy.exchange().isOurs(403, "required_field_missing"))
        let wrong = try setup.proxy.exchange("GET", "/", fields: [("X-Local-Proxy", "2")])
        #expect(wrong.status == 403)
        #expect(upstream.connectionCount == 0)
        for line in [("X-Local-Proxy", "1"), ("x-local-proxy", "1 ")] {
            #expect(try setup.proxy.exchange("GET", "/", fields: [line]).status == 200)
        }
        #expect(!upstream.requests.contains { $0.has("X-Local-Proxy") })
    }

    @Test func `routes go to their upstreams with their credentials`() throws {
        let upstreams = try (0..<3).map { number in
            try FakeUpstream { _ in .ok(Octets("\(number)")) }
        }
        let home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:0"]
                routes:
                  - { path: /a, upstream: "\(upstreams[0].url)/base", credential: a }
                  - { path: /a/b, upstream: "\(upstreams[1].url)", credential: b }
                  - { host: files.localhost, upstream: "\(upstreams[2].url)", credential: none }
                credentials:
                  a: { token: { env: TOKEN_A } }
                  b: { token: { env: TOKEN_B }, header: X-Key, prefix: "" }
                """)
        let proxy = try home.serve(environment: ["TOKEN_A": "canary-a", "TOKEN_B": "canary-b"])
        let cases: [(String, String, String?, Int)] = [
            ("/a/x?q", "0", nil, 200), ("/a", "0", nil, 200), ("/a/b/c", "1", nil, 200),
            ("/ax", "", nil, 404), ("/", "", nil, 404), ("/anything", "2", "files.localhost", 200),
        ]
        for (target, body, host, status) in cases {
            let fields = host.map { [("Host", "\($0):\(proxy.port)")] } ?? []
            let response = try proxy.exchange("GET", target, fields: fields)
            #expect(response.status == status, "\(target)")
            if status == 200 { #expect(response.body == Octets(body), "\(target)") }
            if status == 404 { #expect(response.isOurs(404, "route_not_found")) }
        }
        #expect(upstreams[0].requests.map(\.target) == ["/base/x?q", "/base"])
        #expect(upstreams[1].requests.map(\.target) == ["/c"])
        #expect(try upstreams[1].requests.item(0).values("X-Key") == ["canary-b"])
        #expect(try !upstreams[1].requests.item(0).has("Authorization"))
        #expect(try !upstreams[2].requests.item(0).has("Authorization"))
    }
}
