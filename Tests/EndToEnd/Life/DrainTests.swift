// How a proxy ends: under load, with idle clients, beside an application, by its parent's end, and under a
// service manager that keeps the socket (C109, C132).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `The end of a proxy` {
    @Test func `under load cuts no request that it took`() throws {
        let upstream = try FakeUpstream { request in
            // From an instant to half a second.
            let milliseconds = request.path.utf8.reduce(0) { $0 &* 31 &+ Int($1) } & 0x1FF
            pause(.milliseconds(milliseconds))
            return .ok(Octets(request.path))
        }
        let setup = try DirectSetup(to: upstream)
        let tally = Tally()
        for number in 0..<12 {
            tally.start(
                to: setup.proxy.port, "/\(number * 7919)", keepsAlive: number < 8,
                expected: "/\(number * 7919)")
        }
        try waited(for: "traffic", within: .seconds(60)) { tally.good >= 100 ? () : nil }
        setup.proxy.child.kill(SIGTERM)
        #expect(try setup.proxy.child.waitForEnd(within: .seconds(30)) == .exited(0))
        try tally.waitForEnd()
        // Every request that came through was answered whole; a connection that came too late was
        // refused, at worst after the system had taken it.
        let answered = tally.good
        #expect(upstream.requests.count == answered)
        #expect(tally.faults.allSatisfy { $0.hasPrefix("new: ") }, "\(tally.faults)")
        #expect(tally.refusedConnections > 0)
    }

    @Test func `answers a request on an idle connection that comes just then, and closes it`()
        throws
    {
        let upstream = try FakeUpstream { _ in .ok("in time") }
        let setup = try DirectSetup(to: upstream)
        let (used, fresh, idle) = (
            try setup.proxy.connect(), try setup.proxy.connect(), try setup.proxy.connect()
        )
        _ = try used.exchange()
        _ = try idle.exchange()
        setup.proxy.child.kill(SIGTERM)
        try waited(for: "new connections to be refused") {
            (try? setup.proxy.connect()) == nil ? () : nil
        }
        for client in [used, fresh] {
            let answer = try client.exchange()
            #expect(answer.body == "in time")
            #expect(answer.value("Connection") == "close")
        }
        #expect(try idle.stream.waitForEnd(within: .seconds(5)) == .closed)
        #expect(try setup.proxy.child.waitForEnd(within: .seconds(10)) == .exited(0))
    }

    @Test func `a second signal ends it at once`() throws {
        let upstream = try FakeUpstream { connection in
            _ = try connection.expectRequest()
            _ = try connection.stream.waitForEnd(within: .seconds(30))
        }
        let setup = try DirectSetup(to: upstream)
        let client = try setup.proxy.connect()
        try client.send(client.request())
        try upstream.waitForRequests(1)
        setup.proxy.child.kill(SIGTERM)
        try waited(for: "the first") {
            (try? setup.proxy.connect()) == nil ? () : nil
        }
        setup.proxy.child.kill(SIGTERM)
        #expect(
            try setup.proxy.child.waitForEnd(within: .seconds(2)) == .exited(128 + SIGTERM))
    }

    @Test func `a stream has the grace period, beside an application that still calls (C109)`()
        throws
    {
        let gate = Gate()
        let upstream = try FakeUpstream { (connection: FakeConnection) in
            while let request = try connection.readRequest() {
                guard request.path == "/events" else {
                    try connection.respond(.ok(), to: request)
                    continue
                }
                try connection.write(
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: 1\n\n")
                try gate.pass()
                return try connection.write("data: 2\n\n")
            }
        }
        let setup = try DirectSetup(
            to: upstream, settings: ["shutdown: { grace: 3s, keep_accepting: true }"])
        let client = try setup.proxy.connect()
        try client.send(client.request("GET", "/events"))
        #expect(try client.stream.readHead()?.status == 200)
        let start = ContinuousClock.now
        setup.proxy.child.kill(SIGTERM)
        for _ in 0..<3 {
            #expect(try setup.proxy.exchange("GET", "/more").status == 200)
            pause(.milliseconds(300))
        }
        gate.open()
        let rest = try client.stream.readToEnd().text
        #expect(rest.contains("data: 1") && rest.contains("data: 2"))
        #expect(try setup.proxy.child.waitForEnd(within: .seconds(20)) == .exited(0))
        #expect(ContinuousClock.now - start > .seconds(2), "until the grace is over")
    }

    @Test func `comes with the parent's where that was asked for (C132)`() throws {
        let upstream = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome()
        let file = try home.directory.write("canary-parent-token", to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(file)) }"]))
        for flag in ["--exit-with-parent", ""] {
            // The shell waits for its input's end, and has a proxy for a child.
            let shell = try ChildProcess(
                [
                    "/bin/sh", "-c", "\"$0\" serve --config \"$1\" $2 & echo $! >&2; sleep 600",
                    Binary.path, home.configurationFile, flag,
                ], environment: home.environment, directory: home.directory.path)
            let proxy = try ProxyProcess(shell)
            #expect(try proxy.exchange().status == 200)
            shell.kill(SIGKILL)
            if flag.isEmpty {
                pause(.milliseconds(800))
                #expect(try proxy.exchange().status == 200)
            } else {
                try waited(for: "its end", within: .seconds(10)) {
                    (try? proxy.connect()) == nil ? () : nil
                }
            }
            // What is left of the session.
            Glibc.kill(-shell.identifier, SIGKILL)
        }
    }

    @Test func `under socket activation refuses no connection to the next process`() throws {
        let upstream = try FakeUpstream { _ in .ok("served") }
        let home = try ProxyHome()
        let file = try home.directory.write("canary-activation-token", to: "settings/token")
        try home.write(
            configuration: """
                listen: [systemd]
                upstream: \(upstream.url)
                credential: { token: { file: "\(file)" } }
                """)
        // As a service manager does: it opens the socket once, and starts the service again and again.
        let manager = """
            import os, signal, socket, sys, time
            s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(128)
            fd = os.dup2(os.dup(s.fileno()), 10); s.close()
            print("listening on http://127.0.0.1:%d" % socket.socket(fileno=os.dup(10)).getsockname()[1], file=sys.stderr, flush=True)
            for turn in range(4):
                child = os.fork()
                if child == 0:
                    os.dup2(10, 3)
                    os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
                    os.execv(sys.argv[1], sys.argv[1:])
                time.sleep(1.5)
                os.kill(child, signal.SIGTERM)
                status = os.waitpid(child, 0)[1]
                print("turn %d ended with %d" % (turn, status), file=sys.stderr, flush=True)
            """
        let child = try ChildProcess(
            [
                "/usr/bin/python3", "-c", manager, Binary.path, "serve", "--config",
                home.configurationFile,
            ], environment: home.environment, directory: home.directory.path("home"))
        let proxy = try ProxyProcess(child)
        let tally = Tally()
        for number in 0..<6 {
            tally.start(to: proxy.port, "/x", keepsAlive: number < 2, expected: "served")
        }
        try waited(for: "three restarts", within: .seconds(60)) {
            child.printed(.error).text.contains("turn 2 ended") ? () : nil
        }
        tally.stop()
        try tally.waitForEnd()
        #expect(tally.refusedConnections == 0)
        #expect(tally.faults.isEmpty, "\(tally.faults.prefix(5))")
        #expect(tally.good > 100)
        for turn in 0..<3 {
            #expect(child.printed(.error).text.contains("turn \(turn) ended with 0"))
        }
        child.kill(SIGKILL, wholeGroup: true)
    }

    @Test func `never comes for want of a provider: it starts and serves offline (C106)`() throws {
        let setup = try LoginSetup()
        let login = try setup.importLogin()
        // Nobody listens there any more.
        setup.server.goDown()
        let proxy = try setup.home.serve()
        _ = login
        #expect(try proxy.exchange().status == 200)
    }
}
