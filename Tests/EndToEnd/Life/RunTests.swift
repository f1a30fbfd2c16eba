// `proxy run`: what its program finds, what reaches it, and what the shell learns of its end.

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `A program that is run with a proxy` {
    private let upstream: FakeUpstream
    private let home: ProxyHome
    private static let token = "canary-run-token-8Gh3"

    init() throws {
        upstream = try FakeUpstream { request in .ok(Octets(request.path)) }
        home = try ProxyHome()
        try home.write(
            configuration: """
                routes:
                  - { path: /api, upstream: "\(upstream.url)", credential: it, env: API_URL }
                  - { path: /more/, upstream: "\(upstream.url)/v2", credential: it, env: { url: [MORE_URL, MORE_BASE], key: API_TOKEN } }
                credentials:
                  it: { token: { env: API_TOKEN } }
                """)
    }

    private func run(
        _ script: String, environment: [String: String] = [:]
    ) throws -> CommandResult {
        let child = try start(["sh", "-c", script], environment: environment)
        return try CommandResult(of: child)
    }

    private func start(
        _ words: [String], flags: [String] = [], environment: [String: String] = [:]
    ) throws -> ChildProcess {
        try home.start(
            ["run", "--config", home.configurationFile] + flags + ["--"] + words,
            environment: ["API_TOKEN": Self.token].merging(environment) { $1 })
    }

    @Test func `finds its APIs and a key of this run, and no secret`() throws {
        let result = try run("env; tr '\\0' '\\n' < /proc/$$/environ; cat /proc/$$/cmdline")
        #expect(result.status == 0, "\(result)")
        #expect(!result.output.contains(Self.token))
        let values = Dictionary(
            result.output.components(separatedBy: "\n").compactMap { line in
                let parts = line.components(separatedBy: "=")
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { first, _ in first })
        let base = try #require(values["PROXY_URL"])
        #expect(base.hasPrefix("http://127.0.0.1:"))
        #expect(values["API_URL"] == base + "/api")
        #expect(values["MORE_URL"] == base + "/more")
        #expect(values["MORE_BASE"] == base + "/more")
        #expect(values["API_TOKEN"]?.utf8.count == 64)
        #expect(result.error.isEmpty, "the terminal is the program's")
    }

    @Test func `is let in with the key, and nobody else is`() throws {
        let result = try run(
            """
            curl -s -w '%{http_code} ' -o /dev/null "$API_URL/x"
            curl -s -w '%{http_code} ' -o /dev/null -H "Authorization: Bearer $API_TOKEN" "$API_URL/x"
            curl -s -w ' %{http_code}' -H "X-Api-Key: $API_TOKEN" "$MORE_URL/y"
            """)
        #expect(result.output == "401 200 /v2/y 200", "\(result)")
        #expect(
            upstream.requests.map { $0.values("Authorization") } == [
                ["Bearer \(Self.token)"], ["Bearer \(Self.token)"],
            ])
        let other = try run("echo $API_TOKEN")
        let another = try run("echo $API_TOKEN")
        #expect(other.output != another.output, "made anew for each run")
    }

    @Test(arguments: [(0, "exit 0"), (7, "exit 7"), (137, "kill -9 $$"), (143, "kill $$")])
    func `ends the proxy with its code`(code: Int32, script: String) throws {
        #expect(try run(script).status == code)
    }

    @Test func `that is not there, or cannot be started, is told as shells do`() throws {
        let missing = try CommandResult(of: start(["no-such-program"]))
        #expect(missing.status == 127)
        #expect(missing.error.contains("cannot run \"no-such-program\""))
        #expect(missing.error.contains("hint: "))
        let file = try home.directory.write("text", to: "settings/text")
        chmod(file, 0o644)
        #expect(try CommandResult(of: start([file])).status == 126)
        let none = try home.start(["run", "--config", home.configurationFile])
        #expect(try CommandResult(of: none).status == 2)
    }

    @Test(arguments: [SIGTERM, SIGHUP, SIGUSR1, SIGINT])
    func `gets the signals that are sent to the proxy, once`(signal: Int32) throws {
        let child = try start([
            "python3", "-u", "-c",
            """
            import signal, sys, time
            seen = []
            def note(number, frame):
                seen.append(number)
                print("got", number, flush=True)
            for number in (1, 2, 10, 15): signal.signal(number, note)
            print("ready", flush=True)
            while not seen: time.sleep(0.05)
            time.sleep(0.5)
            sys.exit(40 + len(seen))
            """,
        ])
        // The line with its end, which the program writes separately.
        try waited(for: "the program") {
            child.printed(.output).text.contains("ready\n") ? () : nil
        }
        child.kill(signal)
        #expect(try child.waitForEnd(within: .seconds(20)) == .exited(41))
        #expect(child.printed(.output).text == "ready\ngot \(signal)\n")
    }

    @Test func `gets Ctrl-C of a terminal once, and decides itself what it means`() throws {
        // A terminal of its own, whose foreground job the proxy and its program are.
        let script = """
            import os, pty, sys, time
            pid, master = pty.fork()
            if pid == 0: os.execv(sys.argv[1], sys.argv[1:])
            text = b""
            def until(word):
                global text
                while word not in text: text += os.read(master, 4096)
            until(b"ready")
            os.write(master, b"\\x03")
            until(b"got 2")
            try:
                while True: text += os.read(master, 4096)
            except OSError: pass
            print(text.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            """
        let program =
            "import signal, sys, time\nn = []\ndef note(a, b): n.append(a); print('got', a, flush=True)\n"
            + "signal.signal(2, note)\nprint('ready', flush=True)\nwhile not n: time.sleep(0.05)\n"
            + "time.sleep(0.5)\nsys.exit(40 + len(n))"
        let child = try ChildProcess(
            [
                "/usr/bin/python3", "-c", script, Binary.path, "run", "--config",
                home.configurationFile, "--", "python3", "-u", "-c", program,
            ], environment: home.environment.merging(["API_TOKEN": Self.token]) { $1 },
            directory: home.directory.path("home"))
        let result = try CommandResult(of: child)
        #expect(result.output.contains(" 41\n"), "\(result)")
        #expect(result.output.components(separatedBy: "got 2").count == 2)
    }

    @Test func `has its own variables where the command line names them, and a port that is given`()
        throws
    {
        let port = try FakeUpstream { _ in }.port
        let child = try start(
            ["sh", "-c", "echo $URL $KEY"],
            flags: ["--listen", "127.0.0.1:\(port)", "--env", "URL", "--key=KEY"])
        let result = try CommandResult(of: child)
        #expect(result.output.hasPrefix("http://127.0.0.1:\(port)/api "), "\(result)")
        #expect(result.output.utf8.count > 64)
        // A port that is taken is a failure, and no other port an answer.
        let taken = try FakeUpstream { _ in }
        let failed = try CommandResult(
            of: start(["true"], flags: ["--listen", "127.0.0.1:\(taken.port)"]))
        #expect(failed.status == 1)
    }

    @Test(arguments: [
        (["--env", "A=B"], "\"A=B\" is no value for \"--env\""),
        (["--key", "1X"], "\"1X\" is no value for \"--key\""),
        (["--env", "X", "--key", "X"], "the variable \"X\" would have two values"),
        (["--env", "MORE_URL"], "the variable \"MORE_URL\" would have two values"),
        (["--env", "API_TOKEN"], "the variable \"API_TOKEN\" would have two values"),
    ])
    func `is not started with names of flags that no route could have`(
        flags: [String], reason: String
    ) throws {
        let result = try CommandResult(of: start(["true"], flags: flags))
        #expect(result.status == 2)
        #expect(result.error.contains(reason), "\(result)")
    }

    @Test func `reaches the proxy although others are reached through a forward proxy`() throws {
        let result = try run(
            "curl -s -H \"X-Api-Key: $API_TOKEN\" \"$API_URL/z\"; echo \" $no_proxy\"",
            environment: ["http_proxy": "http://127.0.0.1:9", "no_proxy": "corp.internal"])
        #expect(result.output == "/z corp.internal,127.0.0.1,localhost,.localhost\n", "\(result)")
    }

    @Test func `may open as many files as without the proxy, and so may a credential's`() throws {
        let helper = try home.install(
            """
            for turn in $(seq 100); do [ "$(ulimit -Sn)" = 200 ] && break; sleep 0.05; done
            echo "token-$(ulimit -Sn)"
            """, as: "helper")
        try home.write(
            configuration: """
                upstream: "\(upstream.url)"
                credential: { command: ["\(helper)"] }
                """)
        let child = try home.startShell(
            "ulimit -Sn 200; exec \"$0\" run --config \"$1\" -- sh -c 'ulimit -Sn; curl -s $PROXY_URL/x; echo; grep \"open files\" /proc/$PPID/limits'",
            [Binary.path, home.configurationFile])
        let result = try CommandResult(of: child)
        let lines = result.output.components(separatedBy: "\n")
        try #require(lines.count >= 2, "\(result)")
        #expect(lines[0] == "200")
        let limit = lines.first { $0.hasPrefix("Max open files") }?.components(separatedBy: " ")
        #expect(limit?.contains("200") == false, "\(result)")
        #expect(upstream.requests.map { $0.values("Authorization") } == [["Bearer token-200"]])
    }

    @Test(.enabled(if: !Sanitizer.isOn, "a sanitizer's tracer has to look inside"))
    func `may have core files, which the proxy has not`() throws {
        let script = """
            ulimit -Sc 64 2>/dev/null; ulimit -Sc
            exec "$0" run --config "$1" -- sh -c 'ulimit -Sc; grep "core file" /proc/$PPID/limits'
            """
        let child = try ChildProcess(
            ["/bin/sh", "-c", script, Binary.path, home.configurationFile],
            environment: home.environment.merging(["API_TOKEN": Self.token]) { $1 },
            directory: home.directory.path("home"))
        let result = try CommandResult(of: child)
        let lines = result.output.components(separatedBy: "\n")
        try #require(lines.count >= 3, "\(result)")
        #expect(lines[0] == lines[1])
        #expect(lines[2].components(separatedBy: " ").filter { !$0.isEmpty }[4] == "0")
    }
}
