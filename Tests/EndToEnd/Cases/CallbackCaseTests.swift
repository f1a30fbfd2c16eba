// The callback of a login, with the real binary (features F14, F15, F21, F23 to F30; cases C070 to
// C076).

import Glibc
import Support
import Testing

@Suite(.ownThread) struct `Cases: callback` {
    @Test func `listens on loopback only, and only during the login (F23)`() throws {
        let setup = try LoginSetup()
        let login = try LoginVisit(setup.home)
        let port = try login.port
        let hexadecimal = ":" + String(port, radix: 16, uppercase: true)
        var addresses: Set<String> = []
        for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
            for line in (try Files.read(file)?.text ?? "").components(separatedBy: "\n") {
                let words = line.split(separator: " ").map(String.init)
                // 0A is LISTEN (tcp_states.h).
                guard words.count > 3, words[3] == "0A", words[1].hasSuffix(hexadecimal) else {
                    continue
                }
                addresses.insert(String(words[1].dropLast(hexadecimal.count)))
            }
        }
        #expect(addresses.contains("0100007F"))
        #expect(
            addresses.subtracting(["0100007F", "00000000000000000000000001000000"]).isEmpty,
            "\(addresses)")
        try login.visit(try login.consent(at: setup.server))
        #expect(try login.result().status == 0)
        #expect(!login.isListening)
    }

    @Test func `turns away what is not the callback, and succeeds (F12, F24, C071)`() throws {
        let setup = try LoginSetup()
        let login = try LoginVisit(setup.home)
        let good = try login.consent(at: setup.server)
        #expect(try login.visit("/favicon.ico").status == 404)
        #expect(try login.visit(good, fields: [("Host", "evil.example")]).status == 400)
        #expect(try login.visit("/callback/?code=x").status == 404)
        for wrong in [[("code", "x")], [("code", "x"), ("state", "y")]] {
            #expect(try login.visit(login.target(wrong)).status == 400)
        }
        #expect(setup.server.codeRequests.isEmpty)
        #expect(try login.visit(good).status == 200)
        // The state is used now: the same answer again changes nothing, another one is nobody's.
        let again = try? login.visit(
            login.target([("code", "other"), ("state", login.state)]))
        #expect(again.map { $0.status == 400 } ?? true)
        #expect(try login.result().status == 0)
        #expect(setup.server.codeRequests.count == 1)
    }

    @Test func `names what is behind the fragment (F28, I36)`() throws {
        let setup = try LoginSetup()
        let login = try LoginVisit(setup.home)
        let page = try login.visit("/callback")
        #expect(page.status == 400)
        #expect(page.body.text.contains("response_mode"))
        #expect(page.body.text.contains("#"))
        #expect(try login.visit(login.consent(at: setup.server)).status == 200)
        #expect(try login.result().status == 0)
    }

    @Test func `ends at once with the provider's error (F25)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.authorizationError = "access_denied"
        let setup = try LoginSetup(policy)
        let login = try LoginVisit(setup.home)
        let page = try login.visit(login.consent(at: setup.server))
        #expect(page.body.text.contains("Login failed"))
        let result = try login.result(within: .seconds(15))
        #expect(result.status == 4)
        #expect(result.error.contains("access_denied"))
    }

    @Test(arguments: ["access_denied", nil])
    func `believes nothing of another issuer's answer (F14)`(error: String?) throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.authorizationError = error
        policy.issuerOfResponses = "https://evil.example"
        policy.announcesIssuerParameter = true
        let setup = try LoginSetup(policy)
        let login = try LoginVisit(setup.home)
        let page = try login.visit(login.consent(at: setup.server))
        #expect(!page.body.text.contains("access_denied"))
        let result = try login.result()
        #expect(result.status == 1, "\(result)")
        #expect(!result.error.contains("access_denied"))
        #expect(result.error.contains("https://evil.example"))
        #expect(setup.server.codeRequests.isEmpty)
        #expect(!Files.exists(setup.home.loginFile()))
    }

    @Test func `stops waiting after its time, with an exit code of its own (F26)`() throws {
        let setup = try LoginSetup()
        let login = try LoginVisit(setup.home, ["--timeout", "1s"])
        let result = try login.result(within: .seconds(15))
        #expect(result.status == 5, "\(result)")
        #expect(!login.isListening)
    }

    @Test func `stops waiting on Ctrl-C, with an exit code of its own (F26)`() throws {
        let setup = try LoginSetup()
        let login = try LoginVisit(setup.home)
        login.child.kill(SIGINT)
        let result = try login.result(within: .seconds(15))
        #expect(result.status == 130, "\(result)")
        #expect(!login.isListening)
        #expect(!Files.exists(setup.home.loginFile()))
    }

    @Test func `runs once for a credential (F29)`() throws {
        let setup = try LoginSetup()
        let first = try LoginVisit(setup.home)
        let second = try setup.home.run(["login", "--print-url"], within: .seconds(15))
        #expect(second.status == 1)
        #expect(second.error.contains("already in progress"), "\(second)")
        #expect(try first.visit(first.consent(at: setup.server)).status == 200)
        #expect(try first.result().status == 0)
    }

    @Test func `runs for two credentials side by side (F30)`() throws {
        let servers = try [FakeAuthorizationServer(), FakeAuthorizationServer()]
        let api = try FakeUpstream { _ in .ok() }
        let home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:0"]
                routes:
                  - { path: /a, upstream: "\(api.url)", credential: a }
                  - { path: /b, upstream: "\(api.url)", credential: b }
                credentials:
                  a: { issuer: "\(servers[0].issuer)", client_id: cli-4711, scopes: [api] }
                  b: { issuer: "\(servers[1].issuer)", client_id: cli-4711, scopes: [api] }
                """)
        let logins = try [LoginVisit(home, ["a"]), LoginVisit(home, ["b"])]
        let answers = try [0, 1].map { try logins[$0].consent(at: servers[$0]) }
        #expect(try logins[0].port != logins[1].port)
        // At the wrong door nothing happens.
        #expect(try logins[0].visit(answers[1]).status == 400)
        #expect(try logins[1].visit(answers[0]).status == 400)
        for index in [1, 0] {
            #expect(try logins[index].visit(answers[index]).status == 200)
            #expect(try logins[index].result().status == 0)
            #expect(servers[index].codeRequests.count == 1)
        }
        #expect(Files.exists(home.loginFile("a")) && Files.exists(home.loginFile("b")))
    }

    @Test func `starts no browser that it was not told to (F21)`() throws {
        let setup = try LoginSetup()
        let mark = setup.home.directory.path("opened")
        for name in ["xdg-open", "mine"] {
            try setup.home.install("echo \"\(name) $*\" >> \"\(mark)\"", as: name)
        }
        let desktop = ["DISPLAY": ":0"]
        let login = try LoginVisit(setup.home, environment: desktop)
        login.child.kill(SIGINT)
        _ = try login.result()
        #expect(!Files.exists(mark))
        let told = try setup.home.start(
            [
                "login", "--config", setup.home.configurationFile, "--browser", "mine --private",
                "--timeout", "20s",
            ], environment: desktop)
        // The file is there before its line is.
        let words = try waited(for: "the browser", within: .seconds(20)) {
            try Files.read(mark).map(\.text).flatMap { $0.hasSuffix("\n") ? $0 : nil }
        }
        told.kill(SIGINT)
        try told.waitForEnd()
        #expect(words.hasPrefix("mine --private http://127.0.0.1:"), "\(words)")
        #expect(words.components(separatedBy: "\n").count == 2)
    }
}

@Suite(.ownThread) struct `Cases: authorization requests` {
    @Test func `are pushed where the provider demands it (F15)`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.clientSecret = "s/e:c+r&et"
        policy.sessions.requiresPushing = true
        let setup = try LoginSetup(
            policy,
            credential: [
                "client_secret: { env: SECRET }", "audience: a+b&c=d",
                "resource: [\"urn:a\", \"urn:b\"]",
            ])
        let result = try setup.home.run(
            ["login", "--browser", setup.browser()], environment: ["SECRET": "s/e:c+r&et"])
        #expect(result.status == 0, "\(result)")
        let names = setup.server.authorizations.map { $0.pairs.map(\.name) }
        #expect(names == [["client_id", "request_uri"]])
        let pushed = try #require(setup.server.pushedRequests.first)
        #expect(pushed.form["audience"] == "a+b&c=d")
        #expect(pushed.form.values("resource") == ["urn:a", "urn:b"])
        #expect(pushed.form["client_secret"] == nil)
        #expect(pushed.message.value("Authorization")?.hasPrefix("Basic ") == true)
        #expect(setup.server.codeRequests.first?.form.values("resource") == ["urn:a", "urn:b"])
    }

    @Test func `carry what the flags say, once (F16, F18, F20)`() throws {
        let setup = try LoginSetup(credential: ["ui_locales: en", "vtr: [Cl.Cm]"])
        let login = try LoginVisit(
            setup.home,
            [
                "--locale", "cy", "--hint", "a@b", "--prompt", "login consent", "--acr", "phr",
                "--max-age", "5m", "--add-scope", "files",
            ])
        #expect(login.query["ui_locales"] == "cy")
        #expect(login.query["login_hint"] == "a@b")
        #expect(login.query["prompt"] == "login consent")
        #expect(login.query["acr_values"] == "phr")
        #expect(login.query["max_age"] == "300")
        #expect(login.query["vtr"] == "[\"Cl.Cm\"]")
        #expect(login.query["scope"] == "api files")
        let names = login.query.pairs.map(\.name)
        #expect(Set(names).count == names.count)
        login.child.kill(SIGINT)
        _ = try login.result()
    }

    @Test func `step up from what was granted, and say what is missing (F42, F70)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin()
        setup.server.failAlways(.member("scope", "\"api\""))
        let strict = try LoginVisit(setup.home, ["--add-scope", "files", "--strict-scope"])
        #expect(strict.query["scope"] == "api files")
        try strict.visit(strict.consent(at: setup.server))
        let refused = try strict.result()
        #expect(refused.status == 4, "\(refused)")
        #expect(refused.error.contains("files"))
        let login = try LoginVisit(setup.home, ["--add-scope", "files"])
        try login.visit(login.consent(at: setup.server))
        let result = try login.result()
        #expect(result.status == 0, "\(result)")
        #expect(result.error.contains("warning: the provider did not grant: files"))
    }

    @Test func `are suggested where the API wants more, until they are made (F70)`() throws {
        let demand = "Bearer error=\"insufficient_scope\", scope=\"files\""
        let setup = try LoginSetup(
            answering: { _ in FakeResponse(403, fields: [("WWW-Authenticate", demand)]) })
        try setup.importLogin()
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 403)
        try waited(for: "the demand to be noted", within: .seconds(10)) {
            try setup.home.run(["status"]).output.contains("--add-scope=files") ? () : nil
        }
        let login = try LoginVisit(setup.home, ["--add-scope=files"])
        #expect(login.query["scope"] == "api files")
        try login.visit(login.consent(at: setup.server))
        #expect(try login.result().status == 0)
        #expect(try !setup.home.run(["status"]).output.contains("--add-scope"))
    }
}
