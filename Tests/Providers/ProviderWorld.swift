// A provider, an API of ours that keeps what it was sent, and a home that is configured for both.

import Bytes
import Support
import Testing
import Vocabulary

/// `/provider` leads to the provider's own endpoints, `/api` to our API, `/upstream` to another one if
/// there is one, all with the credential.
struct ProviderWorld {
    let provider: Provider
    let client: Provider.Client
    let home: ProxyHome
    let api: FakeUpstream

    /// The lines are the credential's, with two spaces before each; they win over what is said by
    /// itself. `issuer` is another one of the same server's.
    init(
        _ provider: Provider, _ client: Provider.Client = .publicly, issuer: String? = nil,
        names: Bool = true, upstream: String? = nil, lines: [String] = []
    ) throws {
        self.provider = provider
        self.client = client
        api = try FakeUpstream(answering: { _ in .ok("served") })
        let secret = try provider.secret(of: client)
        var said = ["issuer: \(issuer ?? provider.issuer)"]
        let grant = lines.first { $0.hasPrefix("grant: ") }
        if grant == nil || grant == "grant: device_code" { said.append("login: manual") }
        said.append("scopes: [\(provider.kind.scopes.joined(separator: ", "))]")
        if names {
            said.append("client_id: \(try provider.name(of: client))")
            said.append("client_authentication: \(client.method)")
            if secret != nil { said.append("client_secret: { file: client.secret }") }
        }
        if !provider.kind.takesAnyPort, grant == nil {
            said.append("redirect_uri: http://127.0.0.1:\(provider.callbackPort)/callback")
        }
        let replaced = Set(lines.map(Self.key))
        let credential = said.filter { !replaced.contains(Self.key($0)) } + lines
        home = try ProxyHome(
            configuration: """
                listen: ["127.0.0.1:0"]
                routes:
                  - path: /provider
                    upstream: http://127.0.0.1:\(provider.port)
                    credential: default
                  - path: /api
                    upstream: \(api.url)
                    credential: default
                  - path: /upstream
                    upstream: \(upstream ?? api.url)
                    credential: default
                credentials:
                  default:
                    \(credential.joined(separator: "\n    "))

                """)
        if let secret { try write(secret + "\n", to: "client.secret") }
    }

    private static func key(_ line: String) -> String { line.components(separatedBy: ":")[0] }

    /// A file beside the configuration.
    func write(_ text: String, to name: String) throws {
        try home.directory.write(Octets(text.utf8), to: "settings/\(name)")
    }

    // MARK: A person

    /// `proxy login` with the scripted person for a browser.
    @discardableResult
    func login(_ flags: [String] = [], person: String? = nil) throws -> CommandResult {
        let login = try tryLogin(flags, person: person)
        try #require(login.status == 0, "\(login.error)")
        return login
    }

    func tryLogin(_ flags: [String] = [], person: String? = nil) throws -> CommandResult {
        settle()
        do {
            return try home.run(
                ["login", "--browser", person ?? provider.kind.person] + flags,
                within: .seconds(60))
        } catch let failure as Failure {
            Issue.record("\(failure); it printed:\n\(home.printed().map(\.text))")
            throw failure
        }
    }

    /// `proxy refresh --force`.
    func refresh() throws {
        settle()
        let refresh = try home.run(["refresh", "--force"])
        try #require(refresh.status == 0, "\(refresh.error)")
    }

    /// Canaille cannot make two tokens for one person and client in one second: they would be the same,
    /// and it answers 500.
    func settle() {
        if provider.kind == .canaille { pause(.milliseconds(1100)) }
    }

    /// The scripted person at a page, to the end.
    @discardableResult
    func person(_ flags: [String], at url: String) throws -> CommandResult {
        let words = provider.kind.person.components(separatedBy: " ")
        let child = try ChildProcess(
            words + flags + [url], environment: home.environment, directory: home.directory.path)
        return try CommandResult(of: child, within: .seconds(30))
    }

    // MARK: The store

    struct Tokens: Equatable {
        let access: String
        let refresh: String
    }

    /// The login as it is stored.
    func record() throws -> JSONObject {
        try Provider.object(try #require(try Files.read(home.loginFile())))
    }

    /// What the store holds now.
    func stored() throws -> Tokens {
        let record = try record()
        return Tokens(
            access: try #require(record["access_token"]?.asString),
            refresh: try #require(record["refresh_token"]?.asString))
    }

    /// What the store holds once it no longer holds these.
    func stored(after old: Tokens) throws -> Tokens {
        try waited(for: "a refresh", within: .seconds(20)) {
            let tokens = try stored()
            return tokens == old ? nil : tokens
        }
    }

    // MARK: Requests

    /// Sends a request through the proxy to our API, and returns the token that it got.
    func sentToken(_ proxy: ProxyProcess, scheme: String = "Bearer") throws -> String {
        let answer = try proxy.exchange("GET", "/api/things")
        try #require(answer.status == 200, "\(answer)\n\(proxy.log)")
        let request = try #require(api.requests.last)
        let words = try #require(request.value("Authorization")).components(separatedBy: " ")
        try #require(words.count == 2 && words[0] == scheme)
        return words[1]
    }

    /// Asks the provider who the token is for, through the proxy.
    func userinfo(_ proxy: ProxyProcess) throws -> HTTPMessage {
        let path = try #require(provider.kind.userinfoPath)
        return try proxy.exchange("GET", "/provider" + path)
    }

    /// Secrets in anything that the proxy printed.
    func leaks() throws -> [String] {
        let record = Files.exists(home.loginFile()) ? try self.record() : nil
        let names = ["access_token", "refresh_token", "id_token"]
        let stored = names.compactMap { record?[$0]?.asString }
        let secret = try provider.secret(of: client)
        let search = SecretSearch(stored + (secret.map { [$0] } ?? []))
        return home.printed(byErrorStreamOnly: true).flatMap { search.found(in: $0) }
    }
}
