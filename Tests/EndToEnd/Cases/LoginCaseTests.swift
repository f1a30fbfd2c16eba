// Logins by command (issue: the main job; cases C040, C042, C079).

import Support
import Testing

@Suite(.ownThread) struct `Cases: login` {
    @Test func `two commands and a request goes out with a credential`() throws {
        let setup = try LoginSetup()
        let login = try setup.logIn()
        #expect(login.status == 0)
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange("GET", "/v1/me").status == 200)
        #expect(setup.server.authorizations.count == 1)
        #expect(setup.server.codeRequests.count == 1)
        // The page that the browser showed keeps neither code nor state.
        let page = try #require(try Files.read(setup.home.directory.path("page")))
        #expect(SecretSearch(setup.server.secrets).found(in: page).isEmpty)
    }

    @Test func `an error in a 200 is shown and nothing is stored (C040)`() throws {
        let setup = try LoginSetup()
        setup.server.failAlways(.okWithError)
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status != 0)
        #expect(result.error.contains("bad_verification_code"), "\(result.error)")
        #expect(result.error.contains("The code passed is incorrect or expired."))
        #expect(!Files.exists(setup.home.loginFile()))
        #expect(setup.server.codeRequests.count == 1, "a code is never sent twice")
    }

    @Test(arguments: [TokenFault.nullToken, .noToken, .emptyToken, .splittingToken, .htmlOK])
    func `an answer without a usable token stores nothing (C042)`(fault: TokenFault) throws {
        let setup = try LoginSetup()
        setup.server.failAlways(fault)
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status == 1, "\(result)")
        #expect(!Files.exists(setup.home.loginFile()))
    }

    @Test func `a refused login says so with its own exit code`() throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.authorizationError = "access_denied"
        let setup = try LoginSetup(policy)
        let result = try setup.home.run(["login", "--browser", setup.browser()])
        #expect(result.status == 4, "\(result)")
        #expect(setup.server.codeRequests.isEmpty)
    }

    @Test func `the final URL can be pasted (C079)`() throws {
        let setup = try LoginSetup()
        // A person elsewhere follows the URL and copies where it ended.
        let shell = """
            mkfifo "$1/in"
            "\(Binary.path)" login --paste --config "$2" < "$1/in" > "$1/out" 2>&1 &
            exec 3> "$1/in"
            for try in $(seq 1 200); do
              url=$(grep -o 'http://127[^ ]*/authorize[^ ]*' "$1/out" | head -1)
              [ -n "$url" ] && break
              sleep 0.05
            done
            curl -sS -o /dev/null -w '%{redirect_url}\\n' "$url" >&3
            wait
            """
        let child = try ChildProcess(
            [
                "/bin/sh", "-c", shell, "paste", setup.home.directory.path,
                setup.home.configurationFile,
            ], environment: setup.home.environment, directory: setup.home.directory.path)
        try child.waitForEnd()
        let printed = try Files.read(setup.home.directory.path("out"))
        let status = try setup.home.run(["status"])
        #expect(status.status == 0, "\(status) \(printed ?? "")")
        #expect(setup.server.codeRequests.count == 1)
    }

    @Test func `logout forgets, and the next request needs a login`() throws {
        let setup = try LoginSetup()
        let login = try setup.importLogin()
        #expect(try setup.home.run(["logout", "--local"]).status == 0)
        for file in Files.walk(setup.home.stateDirectory) {
            let content = try #require(try Files.read(file))
            #expect(!content.contains(Octets(login.access)), "\(file)")
        }
        #expect(try setup.home.run(["status"]).status == 3)
        #expect(try setup.home.serve().exchange().isOurs(503, "login_required"))
    }

    @Test func `token prints a fresh token`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let result = try setup.home.run(["token"])
        #expect(result.status == 0, "\(result)")
        let token = result.output.components(separatedBy: "\n")[0]
        #expect(setup.server.accepts(accessToken: token))
        let header = try setup.home.run(["token", "--header"])
        #expect(header.output == "Authorization: Bearer \(token)\n", "\(header)")
        #expect(setup.server.refreshRequests.count == 1)
    }

    @Test(arguments: 0..<2)
    func `fifty tokens in a row are refreshed and printed, and nothing else happens`(
        lane: Int
    ) throws {
        // Found so: one in two hundred took an expired token for good when the clock ticked, one in
        // three hundred crashed on its way out.
        let setup = try LoginSetup()
        for round in 0..<50 {
            try setup.importLogin(expiresIn: -10)
            let result = try setup.home.run(["token"])
            #expect(result.status == 0, "round \(round): \(result)")
            #expect(result.error.isEmpty, "round \(round): \(result)")
        }
        #expect(setup.server.refreshRequests.count == 50)
    }

    @Test func `token is refused where the configuration forbids it`() throws {
        let setup = try LoginSetup(credential: ["export: false"])
        let login = try setup.importLogin()
        let result = try setup.home.run(["token"])
        #expect(result.status == 1 || result.status == 78, "\(result)")
        #expect(!(result.output + result.error).contains(login.access))
        #expect(try setup.home.serve().exchange().status == 200)
    }

    @Test func `token without a login says what to do`() throws {
        let setup = try LoginSetup()
        let result = try setup.home.run(["token"])
        #expect(result.status == 3, "\(result)")
        #expect(result.output.isEmpty)
        #expect(result.error.contains("proxy: hint: "))
        #expect(result.error.contains("proxy login"))
    }
}

@Suite(.ownThread) struct `Fixed credentials` {
    private let upstream: FakeUpstream

    init() throws { upstream = try FakeUpstream { _ in .ok() } }

    private func home(_ credential: [String]) throws -> ProxyHome {
        try ProxyHome(configuration: YAML.short(upstream: upstream.url, credential: credential))
    }

    private var sent: [String] { upstream.requests.flatMap { $0.values("Authorization") } }

    @Test func `a token's file is read again when it changes`() throws {
        let setup = try DirectSetup(to: upstream)
        #expect(try setup.proxy.exchange().status == 200)
        try setup.home.directory.write("canary-second\n", to: "settings/token")
        try waited(for: "the new token", within: .seconds(5)) {
            _ = try setup.proxy.exchange()
            return sent.last == "Bearer canary-second" ? () : nil
        }
    }

    @Test func `a token comes from the environment`() throws {
        let home = try home(["token: { env: API_TOKEN }"])
        let proxy = try home.serve(environment: ["API_TOKEN": "canary-environment"])
        #expect(try proxy.exchange().status == 200)
        #expect(sent == ["Bearer canary-environment"])
    }

    @Test(arguments: ["Bearer canary-abc", "two words", #"{"access_token":"canary-x"}"#])
    func `a token that no request would get is found by "proxy check" (C042)`(text: String) throws {
        let home = try home(["token: { file: given }"])
        try home.directory.write(Octets(text), to: "settings/given")
        let check = try home.run(["check"])
        #expect(check.status != 0 && check.output.contains("FAIL"), "\(check)")
        #expect(try home.serve().exchange().isOurs(503, "credential_unavailable"))
    }

    @Test func `a token that is not there becomes a clear 503`() throws {
        let home = try home(["token: { file: missing }"])
        let result = try home.run(["check"])
        #expect(result.status != 0, "\(result)")
        let proxy = try home.serve()
        let response = try proxy.exchange()
        #expect(response.isOurs(503, "credential_unavailable"), "\(response)")
        #expect(upstream.connectionCount == 0)
        try home.directory.write("canary-late", to: "settings/missing")
        try waited(for: "the token to be found", within: .seconds(10)) {
            try proxy.exchange().status == 200 ? () : nil
        }
    }

    @Test func `a command's token is kept for its lifetime`() throws {
        let home = try home([])
        try home.install(
            "n=$(cat \"\(home.directory.path("count"))\" 2>/dev/null || echo 0); n=$((n+1))\n"
                + "echo $n > \"\(home.directory.path("count"))\"\necho canary-command-$n",
            as: "give-token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url,
                credential: ["command: [give-token]", "ttl: 2s"]))
        let proxy = try home.serve()
        for _ in 0..<5 { #expect(try proxy.exchange().status == 200) }
        #expect(Set(sent) == ["Bearer canary-command-1"])
        try waited(for: "the next token", within: .seconds(10)) {
            let status = try proxy.exchange().status
            return status == 200 && sent.last == "Bearer canary-command-2" ? () : nil
        }
    }

    @Test func `a command is asked again after a 401`() throws {
        let home = try home([])
        try home.install(
            "n=$(cat \"\(home.directory.path("count"))\" 2>/dev/null || echo 0); n=$((n+1))\n"
                + "echo $n > \"\(home.directory.path("count"))\"\n"
                + "echo \"{\\\"access_token\\\":\\\"canary-command-$n\\\",\\\"expires_in\\\":3600}\"",
            as: "give-token")
        let api = try FakeUpstream { request in
            request.value("Authorization") == "Bearer canary-command-2" ? .ok() : .invalidToken
        }
        try home.write(
            configuration: YAML.short(upstream: api.url, credential: ["command: [give-token]"]))
        let proxy = try home.serve()
        for _ in 0..<3 { #expect(try proxy.exchange("POST", "/", body: "x").status == 200) }
        #expect(api.requests.count == 4)
    }

    @Test func `a command that fails or hangs becomes a clear 503`() throws {
        for script in ["exit 3", "echo", "printf 'a\\nb\\n'", "sleep 100"] {
            let home = try home([])
            try home.install(script, as: "give-token")
            try home.write(
                configuration: YAML.short(
                    upstream: upstream.url, credential: ["command: [give-token]"]))
            let response = try home.serve().exchange(within: .seconds(60))
            #expect(response.status == 503, "\(script): \(response)")
            #expect(response.problemCode?.hasPrefix("credential_") == true, "\(script)")
        }
        #expect(upstream.connectionCount == 0)
    }

    @Test(arguments: ["a\r\nX-Evil: 1", "a\u{00}b", ""])
    func `a token that would split the head is never sent`(token: String) throws {
        let home = try home([])
        let file = try home.directory.write(Octets(token), to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url, credential: ["token: { file: \(YAML.quoted(file)) }"]))
        #expect(try home.serve().exchange().status == 503)
        #expect(upstream.connectionCount == 0)
    }
}
