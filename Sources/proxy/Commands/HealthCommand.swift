// `proxy health`: asks a running proxy whether it is ready, for container engines and scripts.

import Bytes
import Configuration
import Fetch
import Vocabulary

/// Asks the admin listener of the configuration; needs no secret and changes nothing.
struct HealthCommand: Command {
    static let help = CommandHelp(
        name: "health", summary: "ask a running proxy whether it is ready",
        examples: [
            .init("proxy health", "exits with 0 when every credential has a token or a way to one"),
            .init("proxy health github", "as far as one credential matters"),
            .init("proxy health --json", "why, credential by credential"),
        ],
        synopsis: "[NAME] [--live] [--timeout D] [--json]",
        flags: [
            .init("--live", "only whether it answers at all"),
            .init("--timeout D", "how long to wait for the answer; three seconds by itself"),
            .init("--json", "the answer, for programs"),
        ] + SettingsArguments.help,
        notes: [
            "It asks the address that \"admin\" in the configuration names. It ends with 1 when the proxy is not ready or does not answer. Where a local_secret is set, the answer is one word."
        ])

    private let name: String?
    private let isLive: Bool
    private let isJSON: Bool
    private let timeoutSeconds: Int64
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isLive = try arguments.flag("--live")
        isJSON = try arguments.flag("--json")
        timeoutSeconds = try LoginWishes.seconds("--timeout", from: 1, &arguments) ?? 3
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        if let name { _ = try loaded.credential(named: name, for: "health") { _ in true } }
        let (request, words) = try request(loaded)
        let driver = CurlDriver()
        defer { driver.stop() }
        let answer: InboundResponse
        do throws(FetchError) {
            // What is on this machine is reached without a forward proxy.
            answer = try await CurlFetcher(driver: driver, proxy: .none).fetch(request)
        } catch {
            throw CommandFailure(
                .failure, "no proxy answers at \(words): \(Self.reason(error))",
                hint: "\"proxy serve\" starts it")
        }
        guard answer.status == 200 || answer.status == 503 else {
            throw CommandFailure(
                .failure, "the answer at \(words) was \(answer.status), not one about health",
                hint: "compare the running proxy's configuration with this one")
        }
        return report(answer, in: world)
    }

    private static func reason(_ error: FetchError) -> String {
        switch error {
        case .connectionRefused: "connection refused"
        case .notHTTP: "what answers there is not this proxy"
        default: error.words
        }
    }

    private func report(_ answer: InboundResponse, in world: World) -> ExitCode {
        let isReady = answer.status == 200
        let facts = answer.body.withBytes { try? JSONReader.read($0) }
        if isJSON {
            world.console.json(facts ?? ["ready": .bool(isReady)])
        } else if isReady {
            world.console.line(isLive ? "alive" : "ready")
        } else {
            let causes = reasons(facts)
            world.console.error(
                "not ready" + (causes.isEmpty ? "" : ": ") + causes.joined(separator: "; "),
                hint: "\"proxy status\" says what to do")
        }
        return isReady ? .success : .failure
    }

    private func reasons(_ facts: JSONValue?) -> [String] {
        guard let facts = facts?.asObject else { return [] }
        var reasons: [String] = []
        if facts["draining"]?.asBool ?? false { reasons.append("it is ending") }
        for credential in facts["credentials"]?.asArray ?? [] {
            guard let members = credential.asObject, let own = members["name"]?.asString,
                let reason = members["reason"]?.asString, name == nil || name == own
            else { continue }
            reasons.append("\(own): \(reason)")
        }
        return reasons
    }

    /// What to ask, and how to call the place.
    private func request(
        _ settings: Settings
    ) throws(CommandFailure) -> (OutboundRequest, String) {
        for listener in settings.admin.listeners {
            switch listener.place {
            case .address(let address) where address.port != 0:
                return (
                    request("\(Self.reachable(address))", host: "localhost:\(address.port)"),
                    "\(address)"
                )
            case .socketFile(let path):
                var request = request("localhost", host: "localhost")
                request.unixSocket = path
                return (request, "unix:\(path)")
            case .address, .inherited: continue
            }
        }
        throw CommandFailure(
            .configuration,
            settings.admin.listeners.isEmpty
                ? "the configuration has no admin listener to ask"
                : "the admin listener has no address that is known beforehand",
            hint: "write admin: 127.0.0.1:8081, or admin: unix:/run/proxy-admin.sock")
    }

    private func request(_ authority: String, host: String) -> OutboundRequest {
        let target = isLive ? "/livez" : "/readyz" + (name.map { "?credential=\($0)" } ?? "")
        return OutboundRequest(
            .get, "http://\(authority)\(target)",
            fields: [.init("Host", host), .init("Accept", "application/json")],
            timeoutMilliseconds: UInt64(timeoutSeconds) * 1000)
    }

    /// A wildcard is asked at this machine's own address.
    private static func reachable(_ address: ListenAddress) -> ListenAddress {
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][address.host] ?? address.host
        return ListenAddress(host: host, port: address.port)
    }
}
