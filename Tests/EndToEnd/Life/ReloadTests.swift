// A configuration that changes under a running proxy: by file, by link and by signal, good and bad, quiet
// and under load.

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `A changed configuration` {
    @Test func `fifty times under ten thousand requests fails none and mixes up no credential`()
        throws
    {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        let tally = Tally()
        for number in 0..<8 {
            let name = number % 2 == 0 ? "a" : "b"
            tally.start(
                to: proxy.port, "/\(name)/x", keepsAlive: number < 6,
                expected: "Bearer \(LifeSetup.tokens[name]!)")
        }
        var (taken, refused) = (0, 0)
        for change in 0..<50 {
            let good = setup.text(
                names: change % 4 < 2 ? ["a": "a", "b": "b"] : ["a": "b", "b": "a"],
                isReversed: change % 2 == 1,
                listen: change % 5 == 0
                    ? ["127.0.0.1:0", "unix:\(setup.home.directory.path("s"))"]
                    : ["127.0.0.1:0"])
            let isBroken = change % 3 == 2
            let broken = [
                good + "routs: []\n", String(good.dropLast(40)) + "{", "", "listen: [8080",
            ]
            try setup.home.write(configuration: isBroken ? broken[change / 3 % 4] : good)
            if try proxy.reload() { taken += 1 } else { refused += 1 }
            #expect(proxy.child.isRunning)
            // The requests are spread over the changes.
            try waited(for: "requests", within: .seconds(60)) {
                tally.good >= change * 205 ? () : nil
            }
        }
        tally.stop()
        try tally.waitForEnd()
        #expect((taken, refused) == (34, 16))
        #expect(tally.faults.isEmpty, "\(tally.faults.prefix(5))")
        #expect(tally.refusedConnections == 0)
        #expect(tally.good >= 10_000)
        #expect(!proxy.child.printed(.error).text.contains("canary-life-token"))
        #expect(try proxy.stop() == .exited(0))
    }

    @Test func `that has an error keeps the old one and says where and why`() throws {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        let lines = setup.text().components(separatedBy: "\n")
        let broken = lines.map {
            $0.components(separatedBy: "upstream:").joined(separator: "upstrem:")
        }
        try setup.home.write(configuration: broken.joined(separator: "\n"))
        #expect(try !proxy.reload())
        let log = proxy.child.printed(.error).text
        #expect(log.contains("proxy.yaml:5:"), "the line")
        #expect(log.contains("upstrem") && log.contains("did you mean"), "the key and the hint")
        #expect(try proxy.exchange("GET", "/a").status == 200)
        // What could be half of a file, no file at all, and a file again.
        for text in ["", "listen: [\"127.0.0.1:0\"]\n"] {
            try setup.home.write(configuration: text)
            #expect(try !proxy.reload())
        }
        unlink(setup.home.configurationFile)
        #expect(try !proxy.reload())
        #expect(try proxy.exchange("GET", "/b").status == 200)
        try setup.home.write(configuration: setup.text(isReversed: true))
        #expect(try proxy.reload())
    }

    @Test func `is noticed by itself: in place, by a rename, by a link that leads elsewhere`()
        throws
    {
        let setup = try LifeSetup()
        let folder = setup.home.directory
        // As Kubernetes mounts it: proxy.yaml -> ..data/proxy.yaml, ..data -> ..one.
        let settings: (String) -> String = { path in
            setup.text(settings: []).components(separatedBy: "path: /a").joined(
                separator: "path: /\(path)"
            ).components(separatedBy: "file: \"").joined(
                separator: "file: \"\(folder.path("settings"))/")
        }
        for (name, path) in [("..one", "first"), ("..two", "second")] {
            try folder.makeDirectory("settings/\(name)")
            try folder.write(Octets(settings(path)), to: "settings/\(name)/proxy.yaml")
        }
        let file = setup.home.configurationFile
        unlink(file)
        symlink("..one", folder.path("settings/..data"))
        symlink("..data/proxy.yaml", file)
        let proxy = try setup.home.serve()
        func serves(_ path: String) throws {
            try waited(for: "/\(path)", within: .seconds(10)) {
                (try? proxy.exchange("GET", "/\(path)").status) == 200 ? () : nil
            }
        }
        try serves("first")
        symlink("..two", folder.path("settings/..next"))
        rename(folder.path("settings/..next"), folder.path("settings/..data"))
        try serves("second")
        #expect(try proxy.exchange("GET", "/first").status == 404)
        try folder.write(Octets(settings("third")), to: "settings/new")
        rename(folder.path("settings/new"), file)
        try serves("third")
        try folder.write(Octets(settings("fourth")), to: "settings/proxy.yaml")
        try serves("fourth")
    }

    @Test func `opens and closes listeners, and lets their requests end`() throws {
        let gate = Gate()
        let setup = try LifeSetup { request in
            if request.path == "/slow" { try gate.pass() }
            return .ok("done")
        }
        let path = setup.home.directory.path("socket")
        let proxy = try setup.serve(setup.text(listen: ["127.0.0.1:0", "unix:\(path)"]))
        let slow = try SocketStream.connect(toUnix: path)
        try slow.write("GET /a/slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        try gate.waitForArrivals(1)
        let idle = try SocketStream.connect(toUnix: path)
        try setup.home.write(configuration: setup.text(isReversed: true))
        #expect(try proxy.reload())
        #expect(throws: (any Error).self) { try SocketStream.connect(toUnix: path) }
        #expect(access(path, F_OK) != 0)
        #expect(try idle.waitForEnd(within: .seconds(10)) == .closed)
        gate.open()
        let answer = try slow.readResponse(to: "GET")
        #expect(answer.body == "done")
        #expect(answer.value("Connection") == "close")
        // The other one never noticed, and the path can be had again.
        #expect(try proxy.exchange("GET", "/a").status == 200)
        try setup.home.write(configuration: setup.text(listen: ["127.0.0.1:0", "unix:\(path)"]))
        #expect(try proxy.reload())
        let again = try SocketStream.connect(toUnix: path)
        try again.write("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n")
        #expect(try again.readResponse(to: "GET").status == 200)
    }

    @Test func `that cannot be taken up while it runs is refused, and nothing of it is taken`()
        throws
    {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        for line in [
            "state_dir: elsewhere", "workers: 7", "store: { encrypt: { key: { file: k } } }",
            "limits: { head: 8KiB }", "forward_proxy: none",
        ] {
            let text = setup.text(
                names: ["a": "other", "b": "b"], settings: ["reload: signal", line])
            try setup.home.write(configuration: text)
            #expect(try !proxy.reload(), "\(line)")
            let key = line.components(separatedBy: ":")[0]
            let log = proxy.child.printed(.error).text
            #expect(log.contains("\\\"\(key)\\\" in") && log.contains("restart it"), "\(log)")
        }
        #expect(!proxy.child.printed(.error).text.contains("not in the configuration any more"))
        // A port that somebody else has is one of those as well: no other is taken instead (C106).
        let taken = try FakeUpstream { _ in }
        try setup.home.write(
            configuration: setup.text(listen: ["127.0.0.1:0", "127.0.0.1:\(taken.port)"]))
        #expect(try !proxy.reload())
        #expect(try proxy.exchange("GET", "/a").status == 200)
    }

    @Test func `asks for another secret from the next request on, on open connections too`() throws
    {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        let client = try proxy.connect()
        #expect(try client.exchange("GET", "/a").status == 200)
        try setup.home.directory.write("canary-local-secret-3Zp", to: "settings/secret")
        try setup.home.write(
            configuration: setup.text(
                settings: ["reload: signal", "local_secret: { file: secret, header: X-Secret }"]))
        #expect(try proxy.reload())
        #expect(try client.exchange("GET", "/a").isOurs(401, "local_secret_required"))
        let answer = try proxy.exchange(
            "GET", "/a", fields: [("X-Secret", "canary-local-secret-3Zp")])
        #expect(answer.status == 200)
        #expect(!setup.upstream.requests.contains { $0.has("X-Secret") })
    }

    @Test func `is read by SIGHUP although the terminal of its start has gone`() throws {
        let setup = try LifeSetup()
        try setup.home.write(configuration: setup.text())
        let (result, log) = try serveOnTerminal(setup, inBackground: true)
        let process = try #require(
            Int32(result.output.components(separatedBy: "\n")[0]), "\(result)")
        defer { kill(process, SIGKILL) }
        for _ in 0..<2 {
            kill(process, SIGHUP)
            try waited(for: "the reload") {
                try Files.read(log)?.text.contains(ProxyProcess.taken) ?? false ? () : nil
            }
        }
        #expect(try Files.read(log)?.text.contains("ending") == false)
    }

    @Test func `does not keep a proxy whose terminal closes`() throws {
        let setup = try LifeSetup()
        try setup.home.write(configuration: setup.text())
        let (result, log) = try serveOnTerminal(setup, inBackground: false)
        #expect(result.status == 0, "\(result)")
        try waited(for: "the end") {
            try Files.read(log)?.text.contains("ending") ?? false ? () : nil
        }
    }

    /// What the terminal's owner got, and the file of the proxy's log.
    private func serveOnTerminal(
        _ setup: LifeSetup, inBackground: Bool
    ) throws -> (result: CommandResult, log: String) {
        let log = setup.home.directory.path("log")
        let terminal = try setup.home.startShell(
            "exec /usr/bin/python3 -c \"$0\" \"$@\"",
            [
                Self.terminal, log, inBackground ? "yes" : "no", Binary.path, "serve",
                "--config", setup.home.configurationFile,
            ])
        return (try CommandResult(of: terminal), log)
    }

    /// A shell on a terminal of its own with a proxy as its job, whose number it prints. Once that listens the
    /// shell ends, where the job is in the background; else the terminal closes.
    private static let terminal = """
        import os, pty, sys, time
        log, background, words = sys.argv[1], sys.argv[2] == "yes", sys.argv[3:]
        line = " ".join("'" + word + "'" for word in words) + " 2>'" + log + "'"
        ready = "while ! grep -q listening '" + log + "'; do sleep 0.05; done"
        script = "set -m; " + line + " & echo $! >'" + log + ".pid'; " + ready
        pid, master = pty.fork()
        if pid == 0: os.execv("/bin/sh", ["sh", "-c", script if background else line])
        if background: os.waitpid(pid, 0)
        else:
            while not os.path.exists(log) or "listening" not in open(log).read(): time.sleep(0.05)
        os.close(master)
        if background: print(open(log + ".pid").read(), flush=True)
        """

    @Test func `that is not taken is known to "proxy status" for as long as it is so`() throws {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        func told() throws -> (text: String, json: String) {
            let text = try setup.home.run(["status"])
            return (text.output + text.error, try setup.home.run(["status", "--json"]).output)
        }
        #expect(try told().json.contains("\"configuration_problems\":[]"))
        try setup.home.write(configuration: setup.text() + "workers: 7\n")
        #expect(try !proxy.reload())
        let refused = try waited(for: "the note") {
            let told = try told()
            return told.text.contains("an earlier configuration") ? told : nil
        }
        #expect(refused.text.contains("\"workers\""), "\(refused.text)")
        #expect(refused.json.contains("workers"))
        try setup.home.write(configuration: setup.text())
        #expect(try proxy.reload())
        try waited(for: "its end") {
            try told().text.contains("an earlier configuration") ? nil : ()
        }
        // One that is killed takes its word along.
        try setup.home.write(configuration: setup.text() + "workers: 7\n")
        #expect(try !proxy.reload())
        try proxy.killNow()
        #expect(try told().json.contains("\"configuration_problems\":[]"))
    }

    @Test func `that is not taken is no news once the file is another one`() throws {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text(settings: ["reload: signal"]))
        func told() throws -> Bool {
            try setup.home.run(["status"]).error.contains("an earlier configuration")
        }
        try setup.home.write(configuration: setup.text() + "workers: 7\n")
        #expect(try !proxy.reload())
        try waited(for: "the note") { try told() ? () : nil }
        // Nobody has read this one.
        try setup.home.write(configuration: setup.text(settings: ["reload: signal"]))
        #expect(try !told())
    }

    @Test func `that was refused is in use after a restart, also under the same process number`()
        throws
    {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text())
        try setup.home.write(configuration: setup.text() + "workers: 7\n")
        #expect(try !proxy.reload())
        try waited(for: "the note") {
            let told = try setup.home.run(["status"]).error.contains("an earlier configuration")
            return told ? () : nil
        }
        try proxy.killNow()
        // As in a container, where each start has the number of the one that was killed.
        let script =
            #"cd "$1" && mv reload-*.note "reload-$$.note" && exec "$2" serve --config "$3""#
        let again = try ProxyProcess(
            setup.home.startShell(
                script,
                [
                    "sh", setup.home.stateDirectory, Binary.path, setup.home.configurationFile,
                ]), within: .seconds(20))
        #expect(
            try setup.home.run(["status", "--json"]).output.contains(
                "\"configuration_problems\":[]"))
        _ = again
    }

    @Test func `means nothing where it is off, and SIGHUP says so`() throws {
        let setup = try LifeSetup()
        let proxy = try setup.serve(setup.text(settings: ["reload: off"]))
        try setup.home.write(configuration: "nonsense")
        proxy.child.kill(SIGHUP)
        try waited(for: "a word") { proxy.logged("reload is off") > 0 ? () : nil }
        #expect(try proxy.exchange("GET", "/a").status == 200)
    }
}

@Suite(.ownThread) struct `Logins across a changed configuration` {
    @Test func `keep their token, and a refresh under way, where their credential is as it was`()
        throws
    {
        let setup = try LoginSetup(settings: ["reload: signal"])
        try setup.importLogin(expiresIn: -10)
        setup.server.set { $0.tokenDelay = .seconds(1) }
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        let text = try #require(try Files.read(setup.home.configurationFile)?.text)
        try setup.home.write(configuration: text + "allowed_hosts: [proxy.internal]\n")
        #expect(try proxy.reload())
        #expect(try client.stream.readResponse().status == 200)
        // By a name that only the new configuration knows, over a connection of the old one's.
        let answer = try client.exchange(
            "GET", "/", fields: [("Host", "proxy.internal:\(proxy.port)")])
        #expect(answer.status == 200)
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test func `finish and save a refresh under way although their credential goes`() throws {
        let setup = try LoginSetup(settings: ["reload: signal"])
        let old = try setup.importLogin(expiresIn: -10)
        setup.server.set { $0.tokenDelay = .seconds(2) }
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        let file = try setup.home.directory.write("canary-other", to: "settings/token")
        try setup.home.write(
            configuration: YAML.short(
                upstream: setup.api.url, credential: ["token: { file: \"\(file)\" }"],
                settings: ["reload: signal"]))
        #expect(try proxy.reload())
        // The request goes on with what it began with.
        #expect(try client.stream.readResponse().status == 200)
        let stored = try #require(try Files.read(setup.home.loginFile()))
        #expect(!stored.contains(Octets(try #require(old.refresh))))
        #expect(setup.server.refreshRequests.count == 1)
        #expect(try proxy.exchange().status == 401, "the next one with the new credential")
    }
}
