// Where the proxy listens besides TCP in the clear: Unix sockets with their access, TLS with certificates
// that change, sockets that systemd passes, and routes of one listener alone.

import Crypto
import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Listeners` {
    private let upstream: FakeUpstream
    private let home: ProxyHome

    init() throws {
        upstream = try FakeUpstream { .ok(Octets($0.target)) }
        home = try ProxyHome()
    }

    private var socketPath: String { home.directory.path("p.sock") }

    private func configure(_ listen: [String], routes: [String]? = nil) throws {
        let file = try home.directory.write("token-1", to: "settings/token")
        let credential = "token: { file: \(YAML.quoted(file)) }"
        let rest =
            routes.map { ["credentials: { a: { \(credential) } }", "routes:"] + $0 } ?? [
                "upstream: \(upstream.url)", "credential: { \(credential) }",
            ]
        let lines = ["listen:"] + listen.map { "  - \($0)" } + rest
        try home.write(configuration: lines.joined(separator: "\n") + "\n")
    }

    private func ask(_ path: String, host: String = "localhost") throws -> HTTPMessage {
        let stream = try SocketStream.connect(toUnix: path)
        try stream.write(Octets("GET /over/unix HTTP/1.1\r\nHost: \(host)\r\n\r\n"))
        return try stream.readResponse()
    }

    private func mode(_ path: String) -> UInt32 {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    // MARK: Unix sockets

    @Test func `a Unix socket is private, serves any Host and goes with the proxy`() throws {
        try configure(["127.0.0.1:0", "unix:\(socketPath)"])
        let proxy = try home.serve()
        #expect(mode(socketPath) == 0o600)
        for host in ["localhost", "docker", "x.example:1"] {
            #expect(try ask(socketPath, host: host).body == "/over/unix")
        }
        #expect(upstream.requests.last?.value("Authorization") == "Bearer token-1")
        let page = try SocketStream.connect(toUnix: socketPath)
        try page.write("GET / HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\n\r\n")
        #expect(try page.readResponse().isOurs(403, "origin_not_allowed"))
        #expect(try proxy.stop() == .exited(0))
        #expect(access(socketPath, F_OK) != 0)
    }

    @Test func `its mode and owner are what is configured from the start`() throws {
        try configure([
            "127.0.0.1:0",
            "{ address: \"unix:\(socketPath)\", mode: \"0660\", group: \(getgid()) }",
        ])
        let proxy = try home.serve()
        #expect(mode(socketPath) == 0o660)
        try proxy.stop()
    }

    @Test(.enabled(if: geteuid() == 0))
    func `a process of another user is turned away whatever the mode (expectation 6)`() throws {
        try configure([
            "127.0.0.1:0", "{ address: \"unix:\(socketPath)\", mode: \"0666\", users: [65533] }",
        ])
        let proxy = try home.serve()
        for path in [home.directory.path(""), home.directory.path("..")] { chmod(path, 0o755) }
        let script = """
            import os, socket, sys
            os.setgid(65534); os.setuid(int(sys.argv[1]))
            s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[2])
            s.sendall(b"GET /x HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
            try: sys.stdout.write(s.recv(15).decode())
            except ConnectionResetError: pass
            """
        for (user, answer) in [("65534", ""), ("65533", "HTTP/1.1 200 OK")] {
            let child = try ChildProcess(
                ["/usr/bin/python3", "-c", script, user, socketPath], environment: [:],
                directory: "/")
            _ = try child.waitForEnd()
            #expect(child.printed(.output).text.hasPrefix(String(answer.prefix(12))))
            #expect(child.printed(.output).text.isEmpty == answer.isEmpty)
        }
        #expect(upstream.requests.count == 1)
        try proxy.stop()
    }

    @Test func `a dead socket is replaced; a live one and other files are not`() throws {
        try configure(["127.0.0.1:0", "unix:\(socketPath)"])
        let first = try home.serve()
        try first.killNow()
        #expect(access(socketPath, F_OK) == 0, "nobody could remove it")
        let second = try home.serve()
        #expect(try ask(socketPath).status == 200)

        let third = try CommandResult(
            of: home.start(["serve", "--config", home.configurationFile]))
        #expect(third.status == 1)
        #expect(third.error.contains("address already in use"))
        #expect(try ask(socketPath).status == 200)
        try second.stop()

        try home.directory.write("precious", to: "p.sock")
        let fourth = try CommandResult(
            of: home.start(["serve", "--config", home.configurationFile]))
        #expect(fourth.status == 1)
        #expect(fourth.error.contains("something that is no socket is there"))
        #expect(try Files.read(socketPath) == "precious")
        unlink(socketPath)
        symlink(home.directory.path("elsewhere"), socketPath)
        let fifth = try CommandResult(
            of: home.start(["serve", "--config", home.configurationFile]))
        #expect(fifth.status == 1)
        unlink(socketPath)
    }

    @Test func `a socket that has taken our path is not removed at the end`() throws {
        try configure(["127.0.0.1:0", "unix:\(socketPath)"])
        let proxy = try home.serve()
        unlink(socketPath)
        try home.directory.write("new", to: "p.sock")
        try proxy.stop()
        #expect(try Files.read(socketPath) == "new")
    }

    // MARK: TLS

    @Test func `TLS is spoken with a certificate that may change`() throws {
        let authority = TestAuthority()
        let (first, second) = (authority.loopback(), authority.loopback())
        let certificate = home.directory.path("settings/c.pem")
        let key = home.directory.path("settings/k.pem")
        func use(_ identity: TestAuthority.Identity) throws {
            for (from, to) in [(identity.certificateFile, certificate), (identity.keyFile, key)] {
                let copy = try ChildProcess(
                    ["/bin/cp", from, to + ".new"], environment: [:], directory: "/")
                _ = try copy.waitForEnd()
                rename(to + ".new", to)
            }
        }
        try use(first)
        try configure(["{ address: \"127.0.0.1:0\", tls: { certificate: c.pem, key: k.pem } }"])
        let proxy = try home.serve()
        #expect(proxy.log.contains("https://127.0.0.1:"))
        let context = try TLSContext.client(trust: .file(path: authority.caFile))
        func ask() throws -> HTTPMessage {
            let stream = try SocketStream.connect(to: proxy.port, secureWith: context)
            try stream.write(
                Octets("GET /over/tls HTTP/1.1\r\nHost: localhost:\(proxy.port)\r\n\r\n"))
            return try stream.readResponse()
        }
        #expect(try ask().body == "/over/tls")
        try use(second)
        try proxy.waitForLog("certificate loaded")
        #expect(try ask().status == 200)

        try home.directory.write("no certificate", to: "settings/c.pem")
        try proxy.waitForLog("the old one stays in use")
        #expect(try ask().status == 200)

        let plain = try proxy.answer(toRaw: "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        #expect(!plain.text.contains("HTTP/1.1 200"))
        #expect(upstream.requests.count == 3)
    }

    @Test func `the certificate command makes what curl believes`() throws {
        let folder = home.directory.path("settings")
        let made = try CommandResult(of: home.start(["certificate", "--dir", folder]))
        #expect(made.status == 0, "\(made.error)")
        #expect(mode("\(folder)/key.pem") == 0o600)
        let again = try CommandResult(of: home.start(["certificate", "--dir", folder]))
        #expect(again.status == 1)
        try configure([
            "{ address: \"127.0.0.1:0\", tls: { certificate: certificate.pem, key: key.pem } }"
        ])
        let proxy = try home.serve()
        for host in ["localhost", "127.0.0.1"] {
            let curl = try ChildProcess(
                [
                    "/usr/bin/curl", "-sS", "--noproxy", "*", "--cacert",
                    "\(folder)/certificate.pem",
                    "--resolve", "localhost:\(proxy.port):127.0.0.1",
                    "https://\(host):\(proxy.port)/hello",
                ], environment: [:], directory: "/")
            _ = try curl.waitForEnd()
            #expect(curl.printed(.output) == "/hello", "\(curl.printed(.error))")
        }
    }

    // MARK: systemd and routes

    @Test func `sockets that were passed are used, by name and all`() throws {
        try configure(["systemd:web", "systemd"])
        // The launcher binds, then becomes the proxy with the sockets as descriptors 3 and 4.
        let script = """
            import os, socket, sys
            a = socket.socket(); a.bind(("127.0.0.1", 0)); a.listen()
            b = socket.socket(socket.AF_UNIX); b.bind(sys.argv[1]); b.listen()
            fds = [os.dup2(os.dup(s.fileno()), 10 + i) for i, s in enumerate((a, b))]
            a.close(); b.close()
            for i in range(2): os.dup2(10 + i, 3 + i)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="2", LISTEN_FDNAMES="web:api")
            os.execv(sys.argv[2], sys.argv[2:])
            """
        let child = try ChildProcess(
            [
                "/usr/bin/python3", "-c", script, socketPath, Binary.path, "serve", "--config",
                home.configurationFile,
            ], environment: home.environment, directory: home.directory.path("home"))
        let proxy = try ProxyProcess(child)
        #expect(try proxy.exchange("GET", "/passed").body == "/passed")
        #expect(try ask(socketPath).status == 200)
        try proxy.stop()
        #expect(access(socketPath, F_OK) == 0, "it is the service manager's")

        let none = try CommandResult(of: home.start(["serve", "--config", home.configurationFile]))
        #expect(none.status == 1)
        #expect(none.error.contains("no socket was passed"))
    }

    @Test func `a route can be for one listener alone`() throws {
        try configure(
            ["127.0.0.1:0", "{ address: \"unix:\(socketPath)\", name: agent }"],
            routes: [
                "  - { path: /open, upstream: \(upstream.url), credential: a }",
                "  - { path: /over, upstream: \(upstream.url), credential: a, listeners: [agent] }",
            ])
        let proxy = try home.serve()
        #expect(try ask(socketPath).body == "/unix")
        #expect(try proxy.exchange("GET", "/over/unix").isOurs(404, "route_not_found"))
        #expect(try proxy.exchange("GET", "/open/x").status == 200)
    }
}
