import Configuration
import Routing
import Testing
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A directory of its own, removed with its owner.
private final class Folder {
    let path: String

    init() throws {
        var template = Array("/tmp/configuration-XXXXXX".utf8CString)
        path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit {
        // Two levels are all that these tests make.
        for name in ["proxy.yaml", "x.yaml", "credential-proxy/config.yaml", "credential-proxy"] {
            remove("\(path)/\(name)")
        }
        rmdir(path)
    }

    func write(_ text: String, to name: String) throws {
        if name.contains("/") { mkdir("\(path)/credential-proxy", 0o700) }
        let file = try #require(fopen("\(path)/\(name)", "w"))
        fputs(text, file)
        fclose(file)
    }

    func surroundings(_ environment: [String: String] = [:]) -> Surroundings {
        var surroundings = Surroundings(environment: environment, directory: path, coreCount: 1)
        surroundings.systemFile = "\(path)/system.yaml"
        return surroundings
    }
}

@Suite struct `Search for the configuration` {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func text(_ name: String) -> String {
        "upstream: https://\(name).example\ncredential: { token: { file: \(name) } }"
    }

    private func found(
        _ request: SettingsRequest = SettingsRequest(), _ environment: [String: String] = [:]
    ) throws -> String {
        let settings = try Settings.load(request, in: folder.surroundings(environment))
        return try #require(settings.routes.upstreams.first).origin.host
    }

    @Test func `goes from the nearest to the farthest`() throws {
        let home = ["HOME": folder.path, "XDG_CONFIG_HOME": folder.path]
        #expect(throws: ConfigurationError.self) { try found(SettingsRequest(), home) }
        try folder.write(text("home"), to: "credential-proxy/config.yaml")
        #expect(try found(SettingsRequest(), home) == "home.example")
        try folder.write(text("here"), to: "proxy.yaml")
        #expect(try found(SettingsRequest(), home) == "here.example")
        try folder.write(text("chosen"), to: "x.yaml")
        let chosen = home.merging(["PROXY_CONFIG": "\(folder.path)/x.yaml"]) { $1 }
        #expect(try found(SettingsRequest(), chosen) == "chosen.example")
        let flag = SettingsRequest(configFile: "\(folder.path)/proxy.yaml")
        #expect(try found(flag, chosen) == "here.example")
    }

    @Test func `names every place when nothing is there`() throws {
        do {
            _ = try Settings.load(SettingsRequest(), in: folder.surroundings(["HOME": "/nowhere"]))
            Issue.record("something was found")
        } catch {
            #expect(
                error.problems.map(\.description) == [
                    "no configuration in \(folder.path)/proxy.yaml, "
                        + "/nowhere/.config/credential-proxy/config.yaml, \(folder.path)/system.yaml"
                ])
        }
    }

    @Test func `stops where a file that was named is missing`() throws {
        try folder.write(text("here"), to: "proxy.yaml")
        do {
            _ = try found(SettingsRequest(configFile: "/nowhere/x.yaml"))
            Issue.record("something was found")
        } catch let error as ConfigurationError {
            #expect(
                error.problems.map(\.description) == [
                    "--config: cannot read \"/nowhere/x.yaml\": No such file or directory"
                ])
        }
        #expect(throws: ConfigurationError.self) {
            try found(SettingsRequest(), ["PROXY_CONFIG": "/nowhere/x.yaml"])
        }
    }

    @Test func `stops where a file cannot be read`() throws {
        try folder.write(text("home"), to: "credential-proxy/config.yaml")
        mkdir("\(folder.path)/proxy.yaml", 0o700)
        defer { rmdir("\(folder.path)/proxy.yaml") }
        #expect(throws: ConfigurationError.self) {
            try found(SettingsRequest(), ["XDG_CONFIG_HOME": folder.path])
        }
    }

    @Test func `takes paths from where the file is`() throws {
        try folder.write(text("here"), to: "proxy.yaml")
        var surroundings = folder.surroundings()
        surroundings.directory = "/"
        let relative = String("\(folder.path)/proxy.yaml".dropFirst())
        let settings = try Settings.load(SettingsRequest(configFile: relative), in: surroundings)
        guard case .fixed(.file(let path)) = settings.credentials[0].kind else {
            Issue.record("no file")
            return
        }
        #expect(path == "\(folder.path)/here")
    }

    @Test(arguments: [
        (["XDG_STATE_HOME": "/s", "HOME": "/h"], "/s/credential-proxy"),
        (["XDG_STATE_HOME": "s", "HOME": "/h"], "/h/.local/state/credential-proxy"),
        (["HOME": "/"], "/.local/state/credential-proxy"), ([:], "/var/lib/credential-proxy"),
    ])
    func `knows where the store is`(_ environment: [String: String], _ expected: String) throws {
        try folder.write(text("here"), to: "proxy.yaml")
        let settings = try Settings.load(
            SettingsRequest(), in: folder.surroundings(environment))
        #expect(settings.stateDirectory == expected)
        #expect(settings.workers == 1)
    }

    @Test func `lets flags replace the addresses`() throws {
        try folder.write(text("here") + "\nlisten: 9000", to: "proxy.yaml")
        var request = SettingsRequest()
        request.listen = ["127.0.0.1:0", "[::1]:7000"]
        let settings = try Settings.load(request, in: folder.surroundings())
        #expect(settings.listen.map(\.description) == ["127.0.0.1:0", "[::1]:7000"])
        request.listen = ["0.0.0.0:80"]
        #expect(throws: ConfigurationError.self) {
            try Settings.load(request, in: folder.surroundings())
        }
    }
}

@Suite struct `Addresses of the command line` {
    private let folder: Folder

    init() throws { folder = try Folder() }

    private func load(_ second: String) throws -> Settings {
        try folder.write(
            """
            listen:
              - { address: "127.0.0.1:1", name: a }
              - { address: "127.0.0.1:2", name: b }
            routes:
              - { path: /x, upstream: "https://a.example", credential: none, listeners: [a] }
              - { path: \(second), upstream: "https://b.example", credential: none, listeners: [b] }
            """, to: "proxy.yaml")
        var request = SettingsRequest()
        request.listen = ["127.0.0.1:0"]
        return try Settings.load(request, in: folder.surroundings())
    }

    @Test func `put every route at one listener, whichever it names`() throws {
        let settings = try load("/y")
        #expect(settings.listen.map(\.description) == ["127.0.0.1:0"])
        #expect(settings.routeSpecs.map(\.listeners) == [nil, nil])
        #expect(settings.routes.names == ["/x", "/y"])
    }

    @Test func `say what stands in the way of that`() throws {
        let error = #expect(throws: ConfigurationError.self) { try load("/x") }
        #expect(
            error?.problems.first?.hint?.contains("without --listen each is at its own") == true)
        let wrong = #expect(throws: ConfigurationError.self) { try load("/y, listeners: [c]") }
        #expect(wrong?.problems.isEmpty == false)
    }
}

@Suite struct `Flags` {
    private func request(_ change: (inout SettingsRequest) -> Void) -> SettingsRequest {
        var request = SettingsRequest()
        request.upstream = "https://api.example.com"
        request.issuer = "https://login.example.com"
        request.clientID = "my-cli"
        change(&request)
        return request
    }

    @Test func `say as much as the short form`() throws {
        let settings = try Settings.load(
            request {
                $0.scopes = ["openid", "api.read api.write"]
                $0.listen = ["9000"]
            }, in: surroundings)
        #expect(settings.file == nil)
        #expect(settings.listen.map(\.description) == ["127.0.0.1:9000", "[::1]:9000"])
        #expect(settings.credentials.map(\.id.name) == ["default"])
        #expect(try settings.oauth.scopes == ["openid", "api.read", "api.write"])
    }

    @Test func `go through the same checks`() throws {
        let cases: [(SettingsRequest, String)] = [
            (
                request { $0.upstream = "http://api.example.com" },
                "--upstream: \"http://api.example.com\" would send the credential over the network "
                    + "in the clear"
            ),
            (
                request { $0.issuer = "login.example.com" },
                "--issuer: \"login.example.com\" is no https:// URL of an issuer"
            ),
            (request { $0.clientID = "" }, "--client-id: the value of \"client_id\" is empty"),
            (request { $0.scopes = ["a\"b"] }, "--scope: \"a\"b\" is no scope"),
            (request { $0.listen = ["x"] }, "--listen: \"x\" has no port"),
            (
                request { $0.listen = ["0.0.0.0:1"] },
                "--listen: 0.0.0.0:1 can be reached from other machines, and no local_secret is set"
            ),
            (request { $0.clientID = nil }, "--upstream: it needs --client-id as well"),
            (request { $0.issuer = nil }, "--upstream: it needs --issuer as well"),
            (
                request { $0.configFile = "x" },
                "--upstream: it cannot be given together with --config"
            ),
            (
                request { $0.upstream = nil }, "--issuer: it means nothing without --upstream"
            ),
        ]
        for (request, expected) in cases {
            do {
                _ = try Settings.load(request, in: surroundings)
                Issue.record("accepted: \(expected)")
            } catch {
                #expect(error.problems.map(\.description) == [expected])
            }
        }
    }
}
