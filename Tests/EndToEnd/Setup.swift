// The worlds that the suites here stand in: a configuration, an upstream, perhaps an authorization
// server, and the real binary between them. All YAML is written here and nowhere else.

import Support

/// The text of a configuration.
enum YAML {
    /// The short form with a free port.
    static func short(
        upstream: String, credential: [String], settings: [String] = []
    ) -> String {
        let log = settings.contains { $0.hasPrefix("log:") } ? [] : ["log: { level: debug }"]
        let lines =
            ["listen: [\"127.0.0.1:0\"]"] + log + settings
            + ["upstream: \(upstream)", "credential:"] + credential.map { "  " + $0 }
        return lines.joined(separator: "\n") + "\n"
    }

    /// A JSON string is a YAML scalar.
    static func quoted(_ text: String) -> String { jsonText(text) }
}

/// A proxy whose credential is a token in a file, so that only the data path is under test.
struct DirectSetup {
    static let token = "canary-direct-token-5Nq8w2"
    let home: ProxyHome
    let proxy: ProxyProcess

    init(
        to upstream: FakeUpstream, path: String = "", token: String = token,
        settings: [String] = []
    ) throws {
        home = try ProxyHome()
        let file = try home.directory.write(Octets(token), to: "settings/token")
        try home.write(
            configuration: YAML.short(
                upstream: upstream.url + path,
                credential: ["token: { file: \(YAML.quoted(file)) }"], settings: settings))
        proxy = try home.serve()
    }

    /// What the upstream must see.
    static let authorization = "Bearer \(token)"
}

/// A proxy with an OAuth credential, an authorization server and an API that takes its tokens.
struct LoginSetup {
    let server: FakeAuthorizationServer
    let api: FakeUpstream
    let home: ProxyHome

    /// - Parameters:
    ///   - credential: more lines of the credential.
    ///   - settings: more lines of the whole.
    init(
        _ policy: FakeAuthorizationServer.Policy = .init(), credential: [String] = [],
        settings: [String] = [], scopes: [String] = ["api"],
        answering respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse = { _ in .ok() }
    ) throws {
        let server = try FakeAuthorizationServer(policy)
        try self.init(
            server, FakeUpstream(protectedBy: server, answering: respond), credential: credential,
            settings: settings, scopes: scopes)
    }

    init(
        _ server: FakeAuthorizationServer, _ api: FakeUpstream, credential: [String] = [],
        settings: [String] = [], scopes: [String] = ["api"]
    ) throws {
        self.server = server
        self.api = api
        home = try ProxyHome(
            configuration: YAML.short(
                upstream: api.url,
                credential: [
                    "issuer: \(server.issuer)", "client_id: \(server.policy.clientID)",
                    "scopes: [\(scopes.joined(separator: ", "))]",
                ] + credential,
                settings: settings))
    }

    /// Puts a login into the store, as an earlier `proxy login` would have. Negative seconds make an
    /// access token that is expired already.
    @discardableResult
    func importLogin(expiresIn seconds: Int64? = nil) throws -> (access: String, refresh: String?) {
        let login = server.makeLogin(scope: "api")
        try importTokens(
            access: login.access, refresh: login.refresh,
            expiresIn: seconds ?? server.policy.accessSeconds)
        return login
    }

    func importTokens(access: String, refresh: String?, expiresIn seconds: Int64?) throws {
        var members = ["\"access_token\":\(jsonText(access))", "\"token_type\":\"Bearer\""]
        if let refresh { members.append("\"refresh_token\":\(jsonText(refresh))") }
        if let seconds { members.append("\"expires_in\":\(seconds)") }
        let result = try home.run(
            ["import"], input: Octets("{" + members.joined(separator: ",") + "}\n"))
        guard result.status == 0 else { throw CommandFailed(result) }
    }

    func browser() throws -> String { try home.browser() }

    @discardableResult
    func logIn() throws -> CommandResult { try home.logIn() }
}

extension ProxyHome {
    /// A browser that follows redirects at once and keeps the page.
    ///
    /// - Parameter arguments: more words for curl.
    func browser(_ arguments: String = "") throws -> String {
        try install(
            "exec curl -sSL --max-time 30 \(arguments) -o \"\(directory.path("page"))\" -- \"$1\"",
            as: "browse")
    }

    /// Logs in through the authorization server, without a person.
    @discardableResult
    func logIn(curl arguments: String = "") throws -> CommandResult {
        let result = try run(["login", "--browser", browser(arguments)])
        guard result.status == 0 else { throw CommandFailed(result) }
        return result
    }
}

/// A command that had to succeed did not.
struct CommandFailed: Error, CustomStringConvertible {
    let description: String

    init(_ result: CommandResult) {
        description = "\(result.ending): \(result.output)\(result.error)"
    }
}

extension HTTPMessage {
    /// Whether the proxy itself wrote this answer, with that status and code.
    func isOurs(_ status: Int, _ code: String) -> Bool {
        self.status == status && value("Content-Type") == "application/problem+json"
            && has("Proxy-Status") && problemCode == code
    }

    /// `code` of a problem document.
    var problemCode: String? { member("code") }

    /// A member of a JSON document whose value is a string without escapes.
    func member(_ name: String) -> String? {
        for separator in ["\"\(name)\":\"", "\"\(name)\": \""] {
            let parts = body.text.components(separatedBy: separator)
            if parts.count > 1 { return parts[1].components(separatedBy: "\"")[0] }
        }
        return nil
    }
}
