import Configuration
import Routing
import Testing
import Vocabulary

@Suite struct `Short form` {
    @Test func `is enough, and everything else has its default`() throws {
        let read = try settings(short(credential: "scopes: [openid, offline_access, api.read]"))
        #expect(read.listen.map(\.description) == ["127.0.0.1:8080", "[::1]:8080"])
        #expect(read.routeSpecs.count == 1)
        #expect(read.routes.upstreams.map(\.origin.description) == ["https://api.example.com"])
        #expect(read.routes.routes[0].credential == CredentialSlot(0))
        #expect(read.credentials.map(\.id.name) == ["default"])
        #expect(read.credentials[0].injection == Injection())
        #expect(read.credentials[0].isExportable)
        let oauth = try read.oauth
        guard case .issuer("https://login.example.com") = oauth.endpoints else {
            Issue.record("\(oauth.endpoints)")
            return
        }
        #expect(oauth.clientID == "my-cli")
        #expect(oauth.clientSecret == nil)
        #expect(oauth.clientAuthentication == nil)
        #expect(oauth.scopes == ["openid", "offline_access", "api.read"])
        #expect(oauth.callbackPort == nil)
        #expect(oauth.callbackHost == "127.0.0.1")
        #expect(oauth.callbackPath == "/callback")
        #expect(oauth.login == .onDemand)
        #expect(oauth.loginWaitMilliseconds == 120_000)
        #expect(read.timeouts == TimeoutSettings())
        #expect(read.timeouts.connect == 10_000)
        #expect(read.timeouts.responseHead == 300_000)
        #expect(read.timeouts.clientHead == 10_000)
        #expect(read.timeouts.clientIdle == 75_000)
        #expect(read.limits.headBytes == 65_536)
        #expect(read.limits.fields == 128)
        #expect(read.limits.replayBytes == 1 << 20)
        #expect(read.limits.replayTotalBytes == 64 << 20)
        #expect(read.shutdown.grace == 30_000)
        #expect(!read.shutdown.keepsAccepting)
        #expect(read.log.level == .info)
        #expect(read.log.format == .auto)
        #expect(read.log.access == .failures)
        #expect(read.forwardProxy == .environment)
        #expect(read.caFile == nil)
        #expect(read.stateDirectory == "/home/user/.local/state/credential-proxy")
        #expect(read.workers == 4)
        #expect(read.file == "/etc/proxy/proxy.yaml")
        #expect(read.access.localSecret == nil)
    }

    @Test func `may forward without a credential when that is said`() throws {
        let read = try settings("upstream: http://localhost:3000\ncredential: none")
        #expect(read.credentials.isEmpty)
        #expect(read.routes.routes[0].credential == nil)
        #expect(
            problems("upstream: http://localhost:3000") == [
                "1:1: the configuration needs the key \"credential\" | write credential: "
                    + "{ issuer: …, client_id: … }, or credential: none"
            ])
    }

    @Test func `may name its credential`() throws {
        let read = try settings(
            """
            upstream: https://api.example.com
            credential: key
            credentials: { key: { token: { file: token } } }
            """)
        #expect(read.credentials.map(\.id.name) == ["key"])
        guard case .fixed(.file("/etc/proxy/token")) = read.credentials[0].kind else {
            Issue.record("\(read.credentials[0].kind)")
            return
        }
    }

    @Test(arguments: [
        (
            "credential: { token: { env: A } }",
            "1:1: the configuration needs the key \"upstream\" | it is the URL of the API, "
                + "https://api.example.com"
        ),
        (
            "workers: 1",
            "1:1: there is nothing to forward to | write upstream: https://api.example.com "
                + "and a credential"
        ),
        (
            "upstream: https://a\ncredential: { token: { env: A } }\nroutes: []",
            "1:1: the key \"upstream\" belongs to a route here | move it under \"routes\", or "
                + "leave \"routes\" out"
        ),
        (
            "upstream: https://a\ncredential: { token: { env: A } }\ncredentials: "
                + "{ default: { token: { env: B } } }",
            "2:1: this credential would be named \"default\", and there is one of that name | "
                + "write credential: default, or give the other another name"
        ),
        (
            "upstream:\ncredential: none",
            "1:1: the key \"upstream\" has no value | write it behind the colon, or leave the key out"
        ),
    ])
    func `that is not whole is refused`(_ text: String, _ expected: String) {
        #expect(problems(text).first == expected)
    }
}

@Suite struct `Settings of a file` {
    private func access(_ text: String) throws -> AccessSettings {
        try settings(short(text)).access
    }

    @Test(arguments: [
        ("listen: \"127.0.0.1:0\"", ["127.0.0.1:0"]), ("listen: [\"[::1]:9000\"]", ["[::1]:9000"]),
        ("listen: 9000", ["127.0.0.1:9000", "[::1]:9000"]),
        ("listen: localhost:9000", ["127.0.0.1:9000", "[::1]:9000"]),
        ("listen: [\"[0::1]:80\", 127.0.0.2:81]", ["[::1]:80", "127.0.0.2:81"]),
        (
            "listen: [\"0.0.0.0:80\", \"[::]:80\"]\nlocal_secret: { env: S }",
            ["0.0.0.0:80", "[::]:80"]
        ),
    ])
    func `listen where they are told`(_ line: String, _ expected: [String]) throws {
        #expect(try settings(short(line)).listen.map(\.description) == expected)
    }

    @Test(arguments: [
        (
            "listen: \"0.0.0.0:80\"",
            "6:9: 0.0.0.0:80 can be reached from other machines, and no local_secret is set | "
                + "add local_secret: { file: path }, or listen on 127.0.0.1"
        ),
        (
            "listen: \":80\"",
            "6:9: \":80\" is no address to listen on | for every address of the machine write "
                + "0.0.0.0:80"
        ),
        (
            "listen: myhost:80",
            "6:9: \"myhost\" is a name, and only addresses can be listened on | write the address "
                + "itself, such as 127.0.0.1:80"
        ),
        ("listen: 127.0.0.1", "6:9: \"127.0.0.1\" has no port | write it like 127.0.0.1:8080"),
        ("listen: 70000", "6:9: \"70000\" is no port | write it like 127.0.0.1:8080"),
        ("listen: []", "6:1: there is no address to listen on"),
        ("listen: [9000, 9000]", "6:16: 127.0.0.1:9000 is listed twice"),
        (
            "listen: 'unix:'",
            "6:9: \"unix:\" is no path of a socket | it may have up to 107 bytes: "
                + "unix:/run/user/1000/proxy.sock"
        ),
        (
            "listen: [{ address: 9000, mode: '0600' }]",
            "6:27: \"mode\" means nothing for \"9000\" | it is for a socket file, unix:/path.sock"
        ),
        (
            "listen: [{ address: 'unix:/p', mode: 99 }]",
            "6:38: \"99\" is no file mode | write it in octal, such as \"0660\""
        ),
        (
            "listen: [{ address: 9000, tls: { certificate: a.pem } }]",
            "6:32: \"tls\" needs the key \"key\" | \"proxy certificate\" makes a certificate and a key "
                + "for this machine"
        ),
        (
            "listen: [{ name: x }]",
            "6:10: listener needs the key \"address\" | write address: 127.0.0.1:8080 or "
                + "unix:/path.sock"
        ),
        ("workers: 0", "6:10: \"workers\" must be a number from 1 to 64, and this is \"0\""),
        ("workers: two", "6:10: \"workers\" must be a number from 1 to 64, and this is \"two\""),
        ("workers: +2", "6:10: \"workers\" must be a number from 1 to 64, and this is \"+2\""),
        (
            "timeouts: { connect: 10 }",
            "6:22: \"connect\" must be a duration, and this is \"10\" | say in what: 10s or 10m"
        ),
        (
            "timeouts: { connect: ten }",
            "6:22: \"connect\" must be a duration, and this is \"ten\" | write it like 500ms, 10s, "
                + "5m, 1h30m"
        ),
        (
            "timeouts: { connect: 2d }",
            "6:22: \"connect\" must be from 100ms to 1d, and this is \"2d\""
        ),
        (
            "limits: { head: 1MB }",
            "6:17: \"head\" must be a size, and this is \"1MB\" | write it like 512B, 64KiB, 1MiB"
        ),
        (
            "limits: { head: 10B }",
            "6:17: \"head\" must be from 1KiB to 16MiB, and this is \"10B\""
        ),
        (
            "log: { level: verbose }",
            "6:15: \"verbose\" is no value for \"level\" | possible values: debug, info, warning, "
                + "error, off"
        ),
        (
            "log: { level: inof }",
            "6:15: \"inof\" is no value for \"level\" | did you mean \"info\"?"
        ),
        (
            "log: { access: yes }",
            "6:16: \"yes\" is no value for \"access\" | possible values: off, failures, all"
        ),
        ("log: debug", "6:6: \"log\" must be a mapping, and this is a value"),
        ("log: { level: [info] }", "6:15: \"level\" must be a text, and this is a list"),
        (
            "log: { level: }",
            "6:8: the key \"level\" has no value | write it behind the colon, or leave the key out"
        ),
        (
            "admin:",
            "6:1: the key \"admin\" has no value | write admin: 127.0.0.1:8081, or admin: off"
        ),
        ("admin: no", "6:8: \"no\" is no address | write admin: off"),
        ("admin: false", "6:8: \"false\" is no address | write admin: off"),
        (
            "metrics: 127.0.0.1:8081",
            "6:1: unknown key \"metrics\" in the configuration | they are at /metrics of the page that "
                + "admin: 127.0.0.1:8081 opens"
        ),
        (
            "listem: 1",
            "6:1: unknown key \"listem\" in the configuration | did you mean \"listen\"?"
        ),
        (
            "log: { colour: 1 }",
            "6:8: unknown key \"colour\" in \"log\" | known keys: level, format, access"
        ),
        (
            "<<: { workers: 1 }",
            "6:1: unknown key \"<<\" in the configuration | merge keys are not part "
                + "of YAML 1.2; repeat the lines"
        ),
        (
            "forward_proxy: https://proxy:3128",
            "6:16: \"https://proxy:3128\" is no forward proxy that can be used | use the http:// "
                + "address of the same proxy; https traffic is tunnelled"
        ),
        (
            "forward_proxy: { except: [a] }",
            "6:16: \"forward_proxy\" needs the key \"url\" | write url: http://proxy:3128"
        ),
        (
            "require_header: \"a b: c\"",
            "6:17: \"a b\" is no name of a header field | write it like "
                + "\"X-Local-Proxy: 1\""
        ),
        (
            "require_header: Content-Length",
            "6:17: \"Content-Length\" says where a request ends or goes, and must go on with it | "
                + "demand a header of its own, such as \"X-Local-Proxy: 1\""
        ),
        (
            "require_header: \"X-A: \"",
            "6:17: \"X-A: \" has no value that can be sent | write \"X-A: 1\", or \"X-A\" for "
                + "any value"
        ),
        (
            "local_secret: { file: s, header: host }",
            "6:34: \"host\" says where a request ends or goes, and must go on with it | "
                + "demand a header of its own, such as \"X-Proxy-Secret\""
        ),
        (
            "allowed_origins: \"*\"",
            "6:18: \"*\" is no origin | any page could spend the credential; "
                + "name the origins"
        ),
        (
            "allowed_origins: [localhost]",
            "6:19: \"localhost\" is no origin | write scheme, host and "
                + "port, such as http://localhost:3000"
        ),
        (
            "allowed_hosts: [\"*.example.com\"]",
            "6:17: \"*.example.com\" is no host name | name each "
                + "host; there are no wildcards"
        ),
        (
            "allowed_hosts: [\"a:0\"]",
            "6:17: \"a:0\" is no host name | write a name as clients ask for "
                + "it, such as proxy.internal or proxy.internal:9000"
        ),
        (
            "state_dir: \"a\\nb\"", "6:12: \"state_dir\" holds a control character"
        ),
    ])
    func `are refused with place, value and hint`(_ line: String, _ expected: String) {
        #expect(problems(short(line)) == [expected])
    }

    @Test(arguments: [
        ("Upstream: https://a", ["unknown key \"Upstream\" in the configuration"]),
        (
            "upstream: https://a\ncredential:\nissuer: https://b",
            ["the key \"credential\" has no value", "unknown key \"issuer\" in the configuration"]
        ),
        (
            "upstream: https://a\ncredential: { issuer: https://b, client-id: c }",
            ["unknown key \"client-id\" in credential \"default\""]
        ),
        (
            "upstream: https://a\ncredential: { issuer: https://b, client_id: c, callback_port: 1 }",
            ["unknown key \"callback_port\" in credential \"default\""]
        ),
    ])
    func `say one mistake once`(_ text: String, _ expected: [String]) {
        let messages = problems(text).map {
            let message = $0.split(separator: ": ", maxSplits: 1).last ?? ""
            return String(message.split(separator: " | ")[0])
        }
        #expect(messages == expected)
    }

    @Test func `take durations and sizes with units`() throws {
        let read = try settings(
            short(
                """
                timeouts: { connect: 500ms, response_head: none, client_head: 1m30s, client_body: 2m }
                limits: { head: 16KiB, fields: 64, replay: 0B, replay_total: 1GiB }
                shutdown: { grace: 0s, keep_accepting: true }
                """))
        #expect(read.timeouts.connect == 500)
        #expect(read.timeouts.responseHead == nil)
        #expect(read.timeouts.clientHead == 90_000)
        #expect(read.timeouts.clientBody == 120_000)
        #expect(read.limits.headBytes == 16_384)
        #expect(read.limits.fields == 64)
        #expect(read.limits.replayBytes == 0)
        #expect(read.limits.replayTotalBytes == 1 << 30)
        #expect(read.shutdown == shutdown(grace: 0, keepsAccepting: true))
    }

    private func shutdown(grace: UInt64, keepsAccepting: Bool) -> ShutdownSettings {
        var settings = ShutdownSettings()
        settings.grace = grace
        settings.keepsAccepting = keepsAccepting
        return settings
    }

    @Test(arguments: [
        ("", ForwardProxySettings.environment), ("forward_proxy: environment", .environment),
        ("forward_proxy: none", .none),
        ("forward_proxy: http://proxy:3128", .url("http://proxy:3128", exceptions: [])),
        (
            "forward_proxy: { url: \"socks5h://proxy:1080\", except: [.internal, a.b] }",
            .url("socks5h://proxy:1080", exceptions: [".internal", "a.b"])
        ),
    ])
    func `know the way out`(_ line: String, _ expected: ForwardProxySettings) throws {
        #expect(try settings(short(line)).forwardProxy == expected)
    }

    @Test func `never repeat a password`() throws {
        for line in [
            "forward_proxy: http://user:canary@proxy:3128", "local_secret: canary",
            "forward_proxy: user:canary@proxy",
        ] {
            let found = problems(short(line))
            #expect(found.count == 1)
            #expect(!found.joined().contains("canary"), "\(found)")
        }
    }

    @Test func `read who may call`() throws {
        let access = try access(
            """
            allowed_hosts: [proxy.internal, "Proxy.Internal:9000"]
            allowed_origins: http://localhost:3000
            local_secret: { file: s.key, header: X-Local }
            require_header: "X-Local-Proxy: 1"
            """)
        #expect(access.allowedHosts.map(\.host) == ["proxy.internal", "proxy.internal"])
        #expect(access.allowedHosts.map(\.port) == [nil, "9000"])
        #expect(access.allowedOrigins.count == 1)
        #expect(access.localSecret?.source == .file(path: "/etc/proxy/s.key"))
        #expect(access.localSecret?.field == "X-Local")
        #expect(access.requiredField == RequiredField(name: "X-Local-Proxy", value: "1"))
        #expect(try self.access("require_header: X-Any").requiredField?.value == nil)
        #expect(try self.access("require_header: \"X-A:  1 \"").requiredField?.value == "1")
    }

    @Test(arguments: [
        "Host", "content-length", "Transfer-Encoding", "Connection", "Upgrade", "TE", "Trailer",
        "Expect", "Keep-Alive", "Proxy-Connection", "HTTP2-Settings",
    ])
    func `never demand what frames a request, and keep it from the upstream (C016)`(
        _ name: String
    ) {
        for line in ["require_header: \"\(name): 1\"", "local_secret: { env: S, header: \(name) }"]
        {
            let found = problems(short(line))
            #expect(found.count == 1 && found[0].contains("\"\(name)\" says where"), "\(found)")
        }
    }

    @Test(arguments: [
        ("a/b.pem", "/etc/proxy/a/b.pem"), ("/a.pem", "/a.pem"), ("~/a.pem", "/home/user/a.pem"),
        ("./~other/a.pem", "/etc/proxy/./~other/a.pem"),
    ])
    func `have absolute paths`(_ path: String, _ expected: String) throws {
        let read = try settings(short("ca_file: \(path)"))
        #expect(read.caFile == expected)
        #expect(read.routeSpecs.map(\.caFile) == [expected], "upstreams are verified by it too")
    }

    @Test(arguments: [
        "state_dir: ~/st", "ca_file: ~/a.pem", "local_secret: { file: ~/s }",
        "listen: unix:~/p.sock",
        "local_secret: { command: [~/bin/secret] }", "state_dir: \"~\"",
        "listen: { address: 1, tls: { certificate: ~/c, key: /k } }",
    ])
    func `never take "~" for a directory beside the file`(_ line: String) throws {
        #expect(try settings(short(line)).file != nil)
        let homeless = Surroundings(environment: [:], directory: "/work", coreCount: 1)
        let error = #expect(throws: ConfigurationError.self) {
            try settings(short(line), in: homeless)
        }
        #expect(error?.problems.map(\.message) == ["`~` needs HOME, which is not set"])
        let other = problems(short(line.replacing("~", with: "~other")))
        #expect(other.count == 1 && other[0].contains("another person's home"), "\(other)")
    }

    @Test func `show several problems at once, in the order of the file`() {
        let text = """
            listen: 70000
            routes:
              - path: api
                upstream: https://api.example.com
                credential: gihtub
              - upstream: api.example.com
                credential: github
            credentials:
              github: { token: secret }
            worker: 2
            """
        #expect(
            problems(text) == [
                "1:9: \"70000\" is no port | write it like 127.0.0.1:8080",
                "3:5: \"api\" is no path prefix | begin it with /, leave out dot segments, encode "
                    + "what a URL cannot hold",
                "5:17: no credential named \"gihtub\" | did you mean \"github\"?",
                "6:15: \"api.example.com\" is no http:// or https:// URL | write "
                    + "https://api.example.com",
                "9:20: a secret must not stand in the configuration | write token: "
                    + "{ file: path }, { env: NAME } or { command: [program] }",
                "10:1: unknown key \"worker\" in the configuration | did you mean \"workers\"?",
            ])
    }
}
