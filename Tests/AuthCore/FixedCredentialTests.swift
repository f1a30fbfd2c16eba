import Bytes
import Crossing
import Glibc
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Secret text` {
    @Test(arguments: [
        ("s3cr3t", "s3cr3t"), ("s3cr3t\n", "s3cr3t"), ("s3cr3t\r\n", "s3cr3t"),
        ("\u{FEFF}s3cr3t\n", "s3cr3t"), ("s3cr3t  \n", "s3cr3t  "), (" s3cr3t", " s3cr3t"),
    ])
    func `loses one line break and a byte order mark, nothing else`(
        content: String, secret: String
    ) throws {
        #expect(reveal(try SecretText.trimmed(SecretBytes(content), source: "x")) == secret)
    }

    @Test(arguments: ["a\nb", "a\r\nb\n", "a\u{0}b", "a\tb", "a\u{7F}", "a\n\n", "\r\r\n"])
    func `with a control character inside is refused by its source's name`(content: String) throws {
        let error = try #require(throws: SecretError.self) {
            try SecretText.trimmed(SecretBytes(content), source: "\"/run/secret\"")
        }
        guard case .unusableCharacter("\"/run/secret\"", _) = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test(arguments: ["", "\n", "\r\n", "\u{FEFF}"])
    func `that is empty is none`(content: String) {
        #expect(throws: SecretError.empty(source: "x")) {
            try SecretText.trimmed(SecretBytes(content), source: "x")
        }
    }

    @Test(arguments: ["token ", " token", "t\u{F6}ken"])
    func `for a field's value is stricter`(content: String) {
        #expect(throws: SecretError.self) {
            try SecretText.token(SecretBytes(content), source: "x")
        }
    }
}

@Suite struct `Credential text` {
    private func problem(_ text: String, _ injection: Injection = Injection()) -> SecretError? {
        do throws(SecretError) {
            _ = try SecretText.credential(SecretBytes(text), source: "x", for: injection)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        #"{"access_token":"T","refresh_token":"R","scope":"a","scope":"a"}"#,
        #"{"access_token":"T",}"#, #"{"access_token":"T"#, #"["T"]"#, #""T""#, "\"T\"\n",
        "{\n  \"access_token\": \"T\"\n}\n", "\u{FEFF}{\"a\":1}",
    ])
    func `that is a document is not sent as a token (C042)`(text: String) {
        #expect(problem(text) == .looksLikeJSON(source: "x"))
        let isAnswer = text.contains("access_token")
        #expect(
            problem(text, Injection(field: "X-Key", prefix: ""))
                == (isAnswer ? .looksLikeJSON(source: "x") : nil) || text.contains("\n"))
    }

    @Test(arguments: [#"{a"b"#, #""quoted""#, #"{"user":"x"}"#])
    func `that is a strange password is sent as one`(text: String) {
        var basic = Injection(prefix: "Basic ")
        basic.form = .basic(user: "u")
        #expect(problem(text, basic) == nil)
        #expect(problem(text, Injection(field: "X-Key", prefix: "")) == nil)
        #expect(problem(#"{"refresh_token":"x"}"#, basic) == .looksLikeJSON(source: "x"))
    }

    @Test(arguments: ["ERROR: please run login first", "Bearer abc"])
    func `that is a sentence is no bearer token`(text: String) {
        #expect(problem(text) == .severalWords(source: "x"))
    }

    @Test func `that is only unusual is sent`() {
        for text in ["{abc}", "[x", "\"x", "a{\"b\"}", "abc"] { #expect(problem(text) == nil) }
        #expect(problem("a b", Injection(field: "X-Key", prefix: "")) == nil)
        var basic = Injection(prefix: "Basic ")
        basic.form = .basic(user: "u")
        #expect(problem("pass word", basic) == nil)
    }
}

@Suite struct `Token from a file` {
    private func credential(_ path: String) -> CredentialSettings {
        CredentialSettings(id: github, kind: .fixed(.file(path: path)))
    }

    private func keeper(_ ground: Ground, _ path: String) -> CredentialKeeper {
        ground.keeper(FixedSource(.file(path: path), in: ground.surroundings))
    }

    @Test func `is read again when the file changes`() async throws {
        let ground = try Ground()
        let path = try ground.directory.write("first\n", to: "token")
        let keeper = keeper(ground, path)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        #expect(try await keeper.text() == "first")
        try ground.directory.write("second\r\n", to: "token")
        try await ground.tick { ground.published.tokens == ["first", "second"] }
        // At once, when a request was refused.
        let generation = try await keeper.credential(newerThan: .none).generation
        try ground.directory.write("third-token", to: "token")
        #expect(try await keeper.text(newerThan: generation) == "third-token")
    }

    @Test func `is followed through the links that mounted secrets are`() async throws {
        let ground = try Ground()
        for name in ["one", "two"] {
            try ground.directory.makeDirectory(name)
            try ground.directory.write(Octets(name), to: "\(name)/token")
        }
        let data = ground.directory.path("data")
        symlink("one", data)
        symlink("data/token", ground.directory.path("token"))
        let keeper = keeper(ground, ground.directory.path("token"))
        let first = try await keeper.credential(newerThan: .none)
        #expect(reveal(first.token) == "one")
        symlink("two", data + ".new")
        rename(data + ".new", data)
        #expect(try await keeper.text(newerThan: first.generation) == "two")
    }

    @Test func `that was refused is given once more, so that the refusal is passed on`()
        async throws
    {
        let ground = try Ground()
        let keeper = keeper(ground, try ground.directory.write("token", to: "token"))
        let first = try await keeper.credential(newerThan: .none)
        let second = try await keeper.credential(newerThan: first.generation)
        #expect(reveal(second.token) == "token")
        #expect(second.generation > first.generation)
    }

    @Test func `that is missing or unusable is told by the file's name, and mended later`()
        async throws
    {
        let ground = try Ground()
        let path = ground.directory.path("token")
        let keeper = keeper(ground, path)
        func hint() async throws -> String {
            let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
            guard case .credentialUnavailable(let hint) = refusal else { return "\(refusal)" }
            return hint
        }
        #expect(try await hint().contains(path))
        try ground.directory.write("canary\nvalue", to: "token")
        #expect(try await hint().contains(path))
        #expect(try await !hint().contains("canary"))
        try Files.write(Octets(repeating: 0x61, count: 70_000), to: path)
        #expect(try await hint().contains("larger"))
        unlink(path)
        mkfifo(path, 0o600)
        #expect(try await hint().contains("regular"))
        unlink(path)
        try ground.directory.write("good", to: "token")
        #expect(try await keeper.text() == "good")
    }

    @Test func `leaves with its file`() async throws {
        let ground = try Ground()
        let path = try ground.directory.write("token", to: "token")
        let keeper = keeper(ground, path)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it was published") { ground.published.tokens == ["token"] }
        unlink(path)
        try await ground.tick { ground.published.tokens == ["token", nil] }
    }
}

@Suite struct `Token from the environment` {
    @Test func `is the variable's value`() async throws {
        let ground = try Ground(environment: ["TOKEN": "value\n"])
        let keeper = ground.keeper(
            FixedSource(.environment(name: "TOKEN"), in: ground.surroundings))
        #expect(try await keeper.text() == "value")
        let missing = ground.keeper(
            FixedSource(.environment(name: "OTHER"), in: ground.surroundings))
        let refusal = try await #require(throws: Refusal.self) { try await missing.text() }
        guard case .credentialUnavailable(let hint) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(hint.contains("OTHER"))
    }
}

@Suite struct `Token from a program` {
    private func keeper(
        _ ground: Ground, _ arguments: [String], lifetimeSeconds: Int64? = nil
    ) -> CredentialKeeper {
        ground.keeper(
            ProgramSource(
                arguments, lifetimeSeconds: lifetimeSeconds, in: ground.surroundings))
    }

    private func hint(_ keeper: CredentialKeeper) async throws -> String {
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        guard case .credentialUnavailable(let hint) = refusal else { return "\(refusal)" }
        return hint
    }

    @Test func `is what it prints, for as long as is configured`() async throws {
        let ground = try Ground()
        let counter = ground.directory.path("count")
        let script = try ground.directory.writeScript(
            "echo x >> \(counter); echo token-$(wc -l < \(counter))", to: "helper")
        let keeper = keeper(ground, [script], lifetimeSeconds: 100)
        #expect(try await keeper.text() == "token-1")
        ground.clock.advance(seconds: 99)
        #expect(try await keeper.text() == "token-1")
        ground.clock.advance(seconds: 1)
        let second = try await keeper.credential(newerThan: .none)
        #expect(reveal(second.token) == "token-2")
        // And anew when it was refused.
        #expect(try await keeper.text(newerThan: second.generation) == "token-3")
    }

    @Test func `may be JSON that tells its own lifetime`() async throws {
        let ground = try Ground()
        for (lifetime, milliseconds) in [("60", UInt64(60_000)), (#""60""#, 60_000), ("0", 9000)] {
            let script = try ground.directory.writeScript(
                #"echo '{"access_token":"abc","expires_in":\#(lifetime),"other":1}'"#, to: "helper")
            let keeper = keeper(ground, [script], lifetimeSeconds: 9)
            let credential = try await keeper.credential(newerThan: .none)
            #expect(reveal(credential.token) == "abc")
            #expect(
                credential.usableUntil
                    == ground.clock.bootTime().advanced(byMilliseconds: milliseconds))
        }
    }

    @Test func `is run as it stands, by no shell and without our secrets`() async throws {
        let ground = try Ground(
            environment: ["PATH": "/usr/bin:/bin", "SECRET": "canary", "KEPT": "yes"])
        let script = try ground.directory.writeScript(
            #"printf '%s' "$1|${SECRET-none}|${KEPT}|$(cat)""#, to: "helper")
        let keeper = keeper(ground, [script, "$(id);`id`"])
        #expect(try await keeper.text() == "$(id);`id`|none|yes|")
    }

    @Test func `that fails is told without what it said`() async throws {
        let ground = try Ground()
        let keeper = keeper(
            ground, ["/bin/sh", "-c", "echo canary-out; echo canary-err >&2; exit 3"])
        let hint = try await hint(keeper)
        #expect(hint == "\"/bin/sh\" ended with status 3")
    }

    @Test(arguments: [
        (["/no/such/program"], "cannot run"), (["/bin/sh", "-c", "kill -9 $$"], "signal 9"),
        (["/bin/sh", "-c", "printf 'a\\nb'"], "character"),
        (["/bin/sh", "-c", "printf 'a\\r\\nX-Evil: b\\n'"], "character"),
        (["/bin/sh", "-c", "true"], "empty"), (["/bin/sh", "-c", "echo '{}'"], "access_token"),
        (["/bin/sh", "-c", #"printf '%s' '{"access_token":"a\nb"}'"#], "character"),
        (["/bin/sh", "-c", "yes | head -c 100000"], "more than"),
        (["/bin/sh", "-c", #"echo '{"access_token":"a","a":1,"a":1}'"#], "JSON"),
        (["/bin/sh", "-c", "echo ERROR: please log in"], "space"),
    ])
    func `that is none is refused`(arguments: [String], reason: String) async throws {
        let ground = try Ground()
        #expect(try await hint(keeper(ground, arguments)).contains(reason))
    }

    @Test func `is not waited for longer than its limit, and nothing of it is left`() async throws {
        let ground = try Ground()
        let mark = ground.directory.path("mark")
        let program = Program(
            ["/bin/sh", "-c", "sleep 600 & echo $! > \(mark); wait"],
            environment: ground.surroundings.environment, secondsMax: 1)
        await #expect(throws: ProgramError.timedOut(program: "/bin/sh", seconds: 1)) {
            try await program.output()
        }
        let text = try #require(try Files.read(mark)).text
        let child = try #require(pid_t(text.dropLast()))
        try await eventually("its child ended too") {
            kill(child, 0) != 0
                || (try? Files.read("/proc/\(child)/stat"))??.text.contains(") Z ") == true
        }
    }

    @Test func `that closes its output and goes on is ended`() async throws {
        let ground = try Ground()
        let program = Program(
            ["/bin/sh", "-c", "echo token; exec >&-; sleep 600"],
            environment: ground.surroundings.environment, secondsMax: 1)
        await #expect(throws: ProgramError.killed(program: "/bin/sh", signal: SIGKILL)) {
            try await program.output()
        }
    }

    @Test func `that leaves something running behind it has said all`() async throws {
        let ground = try Ground()
        let mark = ground.directory.path("mark")
        let begin = ContinuousClock.now
        let program = Program(
            ["/bin/sh", "-c", "sleep 600 & echo $! > \(mark); echo token"],
            environment: ground.surroundings.environment, secondsMax: 30)
        #expect(reveal(try await program.output()) == "token\n")
        #expect(begin.duration(to: .now) < .seconds(20))
        // An agent that it started for later is left alone.
        let text = try #require(try Files.read(mark)).text
        let child = try #require(pid_t(text.dropLast()))
        #expect(kill(child, SIGKILL) == 0)
    }

    @Test func `runs once for a hundred requests`() async throws {
        let ground = try Ground()
        let counter = ground.directory.path("count")
        let script = try ground.directory.writeScript(
            "echo x >> \(counter); sleep 0.1; echo token", to: "helper")
        let keeper = keeper(ground, [script])
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<100 { group.addTask { _ = try? await keeper.text() } }
        }
        #expect(try Files.read(counter)?.text == "x\n")
    }
}

@Suite struct `Browser command` {
    @Test(arguments: [
        ("firefox --private-window", ["firefox", "--private-window"]),
        ("  a  'b c' \"d e\"f ", ["a", "b c", "d ef"]), ("", []), ("a ''", ["a", ""]),
        ("a;b $(c)", ["a;b", "$(c)"]),
    ])
    func `is split into words and nothing else`(command: String, words: [String]) {
        #expect(PersonPresence.words(command) == words)
    }

    @Test func `with an open quote is none`() {
        #expect(PersonPresence.words("a 'b") == nil)
    }

    @Test func `is found only where somebody sits`() {
        func detect(
            _ environment: [String: String], browser: [String]? = nil, terminal: Bool = false
        ) -> PersonPresence {
            PersonPresence.detect(
                environment: environment, browser: browser, hasTerminal: terminal
            ) { $0 == "xdg-open" }
        }
        #expect(detect([:]) == .absent)
        #expect(detect(["DISPLAY": ""]) == .absent)
        #expect(detect(["DISPLAY": ":0"]) == .present(browser: ["xdg-open"]))
        #expect(detect(["WAYLAND_DISPLAY": "wayland-0"]) == .present(browser: ["xdg-open"]))
        #expect(detect([:], terminal: true) == .absent)
        #expect(detect([:], browser: ["b"], terminal: true) == .present(browser: ["b"]))
        #expect(detect([:], browser: ["b"]) == .absent)
        #expect(
            PersonPresence.detect(
                environment: ["DISPLAY": ":0"], browser: nil, hasTerminal: true
            ) { _ in false } == .absent)
    }
}
