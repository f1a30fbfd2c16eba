// The world in which the commands of the documentation are typed: the hosts that it names, on this
// machine; a home with the files that it speaks of; and a PATH on which only what a reader has is found.
// What would change the machine (sudo, systemctl, docker, apt) is a stand-in that looks at its arguments.

import Crypto
import Glibc
import Support

/// One reader, at one section.
final class DocumentWorld {
    struct Surprise: Error, CustomStringConvertible {
        let description: String
    }

    let provider: ScriptedProvider
    private let github: ScriptedProvider
    private let internet: FakeInternet
    private let home: ProxyHome
    private var ports: [String: UInt16] = [:]
    private var running: ProxyProcess?

    init() throws {
        let provider = Self.openIDProvider()
        let github = `Preset: GitHub`.provider(expires: false)
        self.provider = provider
        self.github = github
        internet = try FakeInternet([
            "login.example.com": { try provider.answer($0) },
            "api.example.com": { Self.api($0, provider) },
            "mcp.example.com": { Self.mcpServer($0, provider) },
            "github.com": { try github.answer($0) },
            "api.github.com": { github.api($0) },
        ])
        home = try ProxyHome()
        for (name, text) in Self.files { try write(text, to: name) }
        try installPrograms()
    }

    private static let files = [
        "client.secret": "canary-client-secret", "github.secret": "canary-github-secret",
        "google.secret": "canary-google-secret", "example.key": apiKey,
        "agent.key": "canary-agent-key",
        "tokens.json": """
        {"access_token":"canary-imported-access","refresh_token":"canary-imported-refresh",\
        "token_type":"Bearer","expires_in":3600}
        """,
    ]

    private static let apiKey = "canary-api-key"

    // MARK: Hosts

    private static func openIDProvider() -> ScriptedProvider {
        let signer = TokenSigner(.rs256)
        let base = "https://login.example.com"
        var manner = ScriptedProvider.Manner()
        manner.documents = [
            "/.well-known/openid-configuration": """
            {"issuer":"\(base)","authorization_endpoint":"\(base)/authorize",
            "token_endpoint":"\(base)/token","registration_endpoint":"\(base)/register",
            "revocation_endpoint":"\(base)/revoke","jwks_uri":"\(base)/keys",
            "response_types_supported":["code"],"subject_types_supported":["public"],
            "id_token_signing_alg_values_supported":["RS256"],
            "code_challenge_methods_supported":["S256"],
            "token_endpoint_auth_methods_supported":["none","client_secret_basic"]}
            """,
            "/keys": signer.keySet(),
        ]
        manner.clientFault = { request, form in
            form["client_id"] == nil && !request.has("Authorization") ? "no client" : nil
        }
        manner.answer = { granted in
            var members = [("expires_in", "3600"), ("scope", jsonText(granted.scope))]
            if granted.scope.contains("openid") {
                let token = signer.claims(
                    issuer: base, audience: granted.clientID,
                    nonce: granted.isRefresh ? nil : granted.nonce)
                members.append(("id_token", jsonText(token)))
            }
            return .json(granted.document(members))
        }
        manner.other = { request, provider in
            let form = FormText(reading: request.body.text)
            switch (request.path, form["grant_type"]) {
            case ("/register", _):
                return .json(
                    """
                    {"client_id":"registered-4711","token_endpoint_auth_method":"none",
                    "redirect_uris":["http://127.0.0.1/callback"]}
                    """, status: 201)
            case ("/token", "client_credentials"):
                let granted = provider.grant(scope: form["scope"] ?? "", clientID: "orders-service")
                return .json(granted.document([("expires_in", "3600")]))
            case ("/revoke", _): return .ok()
            default: return nil
            }
        }
        return ScriptedProvider(manner)
    }

    private static func api(_ request: HTTPMessage, _ provider: ScriptedProvider) -> FakeResponse {
        if request.path == "/feed" || request.value("X-Api-Key") == apiKey { return .ok() }
        return provider.api(request)
    }

    private static func mcpServer(
        _ request: HTTPMessage, _ provider: ScriptedProvider
    ) -> FakeResponse {
        let metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
        switch request.path {
        case "/.well-known/oauth-protected-resource/mcp":
            return .json(
                """
                {"resource":"https://mcp.example.com/mcp","scopes_supported":["mcp:tools"],
                "authorization_servers":["https://login.example.com"]}
                """)
        case "/mcp", "/mcp/":
            let answer = provider.api(request) { _ in .json("{\"jsonrpc\":\"2.0\",\"result\":{}}") }
            guard answer.status == 401 else { return answer }
            return FakeResponse(
                401,
                fields: [("WWW-Authenticate", "Bearer resource_metadata=\"\(metadata)\"")],
                body: "who are you?")
        default: return FakeResponse(404, body: "nothing here")
        }
    }

    // MARK: Programs

    private func installPrograms() throws {
        for name in ["bash", "cat", "mkdir", "openssl", "printenv", "sh"] {
            symlink("/usr/bin/\(name)", home.directory.path("bin/\(name)"))
        }
        try home.install("exec \"\(Binary.path)\" \"$@\"", as: "proxy")
        try home.install(
            "exec /usr/bin/curl --fail-with-body --silent --show-error --max-time 30 \"$@\"",
            as: "curl")
        // What opens a page for whoever sits there: consents at once.
        try home.install(
            "exec /usr/bin/curl -sSL --max-time 30 \(internet.curlArguments) -o /dev/null -- \"$1\"",
            as: "xdg-open")
        // A dry run: the target is there, and what it is made of.
        try home.install(
            "exec /usr/bin/make --dry-run --directory='\(Document.folder)' \"$@\"", as: "make")
        // Another user has another state.
        try home.install(
            "[ \"$1\" != -u ] || { export XDG_STATE_HOME=\"$HOME/$2\"; shift 2; }\nexec \"$@\"",
            as: "sudo")
        try home.install(
            "[ \"$1\" = install ] && case $2 in ./.build/credential-proxy_*.deb) ;; *) exit 1 ;; esac",
            as: "apt")
        try home.install(Self.systemctl, as: "systemctl")
        try home.install(Self.docker, as: "docker")
    }

    /// Takes what it knows, and only units that are there.
    private static let systemctl = """
        folder='\(Document.folder)/config/systemd'
        [ "$1" != --user ] || { folder=$folder/user; shift; }
        [ "$1 $2" = 'enable --now' ] || exit 64
        case $3 in *.*) unit=$3 ;; *) unit=$3.service ;; esac
        [ -e "$folder/$unit" ] || { echo "no unit $unit in $folder"; exit 64; }
        """

    /// Builds nothing: Tests/Packaging/image does. The flags must be known, the places the image's.
    private static let docker = """
        file='\(Document.folder)/Dockerfile'
        has() { case "$(cat "$file")" in *"$1"*) ;; *) echo "no $1 in the Dockerfile"; exit 64 ;; esac; }
        case "$1 $2" in
        'build --tag') [ "$4" = . ]; exit ;;
        'run --detach') shift 2 ;;
        *) exit 64 ;;
        esac
        while [ $# -gt 1 ]; do
            case $1 in
            --read-only) shift ;;
            --user | --cap-drop | --network) shift 2 ;;
            --volume)
                case $2 in
                *:/etc/credential-proxy/config.yaml:ro) ;;
                *:/state) has 'VOLUME /state' ;;
                *) exit 64 ;;
                esac
                shift 2 ;;
            *) exit 64 ;;
            esac
        done
        [ "$1" = credential-proxy ]
        """

    private var environment: [String: String] {
        var environment = internet.environment
        environment["PATH"] = home.directory.path("bin")
        // Somebody sits here.
        environment["DISPLAY"] = ":0"
        return environment
    }

    // MARK: Blocks

    private func write(_ text: String, to name: String) throws {
        try home.directory.write(Octets(text.utf8), to: "home/\(name)")
    }

    /// Other ports than the documentation's, as those may be taken.
    private func withFreePorts(_ text: String) throws -> String {
        var text = text
        for port in ["8080", "8081", "8765", "8766"] where text.contains(":\(port)") {
            let free = try ports[port] ?? FakeUpstream { _ in }.port
            ports[port] = free
            text = text.components(separatedBy: ":\(port)").joined(separator: ":\(free)")
        }
        return text
    }

    /// Puts a configuration where it is looked for.
    func configure(_ lines: [String]) throws {
        try write(withFreePorts(lines.joined(separator: "\n") + "\n"), to: "proxy.yaml")
    }

    /// Runs the lines of a block as somebody types them.
    func type(_ block: DocumentBlock) throws {
        for line in block.text {
            let place = "line \(block.line): \(line)"
            if line.hasPrefix("proxy serve") {
                try serve(line)
            } else {
                let result = try run(line)
                let isFine =
                    result.status == 0 || line.contains("proxy status") && result.status == 3
                guard isFine else {
                    throw Surprise(
                        description: "\(place)\n\(result.ending)\n\(result.output)\(result.error)"
                            + (running?.log ?? ""))
                }
            }
        }
    }

    private func run(_ line: String) throws -> CommandResult {
        let child = try ChildProcess(
            ["/usr/bin/bash", "-euo", "pipefail", "-c", withFreePorts(line)],
            environment: home.environment.merging(environment) { $1 },
            directory: home.directory.path("home"), input: "canary-github-secret\n")
        return try CommandResult(of: child, within: .seconds(60))
    }

    /// One proxy after the other has the port.
    private func serve(_ line: String) throws {
        _ = try running?.stop()
        let port = try withFreePorts("127.0.0.1:8080")
        let words = Array(line.components(separatedBy: " ").dropFirst())
        running = try ProxyProcess(
            home.start(words + ["--listen", port], environment: environment))
    }
}
