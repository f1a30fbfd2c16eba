// `proxy health`: asks a running proxy whether it is ready, for container engines and scripts.

import Bytes
import Configuration
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
        let (place, words) = try Self.place(loaded)
        let target = isLive ? "/livez" : "/readyz" + (name.map { "?credential=\($0)" } ?? "")
        let answer: LocalRequest.Answer
        do throws(LocalRequestError) {
            answer = try LocalRequest(
                place: place, target: target, timeoutMilliseconds: Int(timeoutSeconds) * 1000
            ).sendBlocking()
        } catch {
            throw CommandFailure(
                .failure, "no proxy answers at \(words): \(error.reason)",
                hint: "\"proxy serve\" starts it")
        }
        guard answer.status == 200 || answer.status == 503 else {
            throw CommandFailure(
                .failure, "the answer at \(words) was \(answer.status), not one about health",
                hint: "compare the running proxy's configuration with this one")
        }
        return report(answer, in: world)
    }

    private func report(_ answer: LocalRequest.Answer, in world: World) -> ExitCode {
        let isReady = answer.status == 200
        let facts = answer.body.withUnsafeBytes { try? JSONReader.read($0) }
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

    /// Where to ask, and how to call it.
    private static func place(
        _ settings: Settings
    ) throws(CommandFailure) -> (LocalRequest.Place, String) {
        for listener in settings.admin.listeners {
            switch listener.place {
            case .address(let address) where address.port != 0:
                return (.address(address), "\(address)")
            case .socketFile(let path): return (.socketFile(path: path), "unix:\(path)")
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
}
