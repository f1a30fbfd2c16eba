// `proxy status`: what can be said of each credential without asking anybody.

import AuthCore
import Configuration
import TokenStore
import Vocabulary

/// Prints the facts from the store; nothing is refreshed and no secret is shown.
struct StatusCommand: Command {
    static let help = CommandHelp(
        name: "status", summary: "show which credentials are usable, until when, and what to do",
        examples: [
            .init("proxy status", "all credentials"),
            .init("proxy status github --json", "one, for programs"),
        ],
        synopsis: "[NAME] [--json]",
        flags: [.init("--json", "for programs; times are seconds since 1970")]
            + SettingsArguments.help,
        notes: [
            "It ends with 3 when a login is needed, with 4 when the provider denies access, with 78 when the provider refuses this client as it is configured, and with 1 when a token cannot be had, for now or at all."
        ])

    private let name: String?
    private let isJSON: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isJSON = try arguments.flag("--json")
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        var chosen = loaded.credentials
        if let name { chosen = [try loaded.credential(named: name, for: "status") { _ in true }] }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let desk = StatusDesk(in: tools.surroundings)
        var found: [CredentialStatus] = []
        for credential in chosen { found.append(await desk.status(of: credential)) }
        let problems = await RefusalNote.reasons(of: loaded.file, in: tools.surroundings.store)
        if isJSON {
            world.console.json([
                "credentials": .array(found.map(\.document)),
                "configuration_problems": .array(problems.map { .string($0) }),
            ])
        } else {
            show(found, in: world)
            for problem in problems {
                world.console.warning(
                    "the running proxy goes on with an earlier configuration: \(problem)")
            }
        }
        return exitCode(found)
    }

    private func exitCode(_ found: [CredentialStatus]) -> ExitCode {
        let codes: [(CredentialState, ExitCode)] = [
            (.loginRequired, .loginNeeded), (.denied, .denied), (.misconfigured, .configuration),
            (.unavailable, .failure), (.failing, .failure),
        ]
        return codes.first { code in found.contains { $0.state == code.0 } }?.1 ?? .success
    }

    private func show(_ found: [CredentialStatus], in world: World) {
        if found.isEmpty { world.console.line("the configuration has no credentials") }
        let now = SystemTime().wallTime()
        let width = found.map(\.id.name.count).max() ?? 0
        for status in found {
            let name = status.id.name
            let margin = String(repeating: " ", count: width + 2)
            let gap = margin.dropFirst(name.count)
            world.console.line("\(name)\(gap)\(status.headline(at: now))")
            for detail in status.details(at: now) { world.console.line(margin + detail) }
        }
    }
}

extension CredentialStatus {
    fileprivate func headline(at now: WallTime) -> String {
        switch state {
        case .usable:
            guard let expiresAt else { return "usable" }
            let left = durationText(seconds: expiresAt.seconds - now.seconds)
            return "usable now, expires in \(left)" + (isRenewable ? ", renewed by itself" : "")
        case .renewable: return "renewable: the next request gets a fresh token"
        case .failing:
            guard let failingSince else { return "temporarily failing" }
            let duration = durationText(seconds: now.seconds - failingSince.seconds)
            return "temporarily failing for \(duration): the provider is tried again by itself"
        case .loginRequired: return "login required"
        case .denied: return "denied"
        case .misconfigured: return "misconfigured"
        case .unavailable: return "unavailable"
        }
    }

    fileprivate func details(at now: WallTime) -> [String] {
        var lines: [String] = []
        func ago(_ time: WallTime) -> String {
            durationText(seconds: now.seconds - time.seconds) + " ago"
        }
        if let detail { lines.append(detail) }
        if let issuer { lines.append("provider: \(issuer)") }
        if let subject { lines.append("logged in as: \(subject)") }
        if let scope { lines.append("scope: \(scope)") }
        if !missingScopes.isEmpty {
            lines.append("not granted: \(missingScopes.joined(separator: " "))")
        }
        if let nextRefreshAt, nextRefreshAt > now, state != .renewable {
            let left = durationText(seconds: nextRefreshAt.seconds - now.seconds)
            lines.append(failingSince == nil ? "next refresh: in \(left)" : "next try: in \(left)")
        }
        if let end = refreshTokenExpiresAt {
            let left = end.seconds - now.seconds
            lines.append(
                left > 0
                    ? "the login ends in \(durationText(seconds: left))"
                        + (endsSoon ? ": log in again before" : "")
                    : "the login ended \(ago(end))")
        }
        if let lastRefreshAt { lines.append("last refresh: \(ago(lastRefreshAt))") }
        if let lastError, let lastErrorAt {
            lines.append("last error: \(ago(lastErrorAt)): \(lastError)")
        }
        if state != .failing, let failingSince {
            lines.append("failing since: \(ago(failingSince))")
        }
        if let metadataStaleSince {
            lines.append(
                "provider metadata: not renewed since \(ago(metadataStaleSince)), the last known is used"
            )
        }
        for refusal in refusals {
            lines.append("\(refusal.sentence), \(ago(refusal.at))")
        }
        if !stepUp.flags.isEmpty {
            let flags = stepUp.flags.map(shellQuoted).joined(separator: " ")
            lines.append("to ask for it: \(stepUp.command) \(flags)")
        }
        if clockIsOff, let clockDifference {
            lines.append(
                "this machine's clock is \(durationText(seconds: abs(clockDifference))) "
                    + (clockDifference > 0 ? "ahead of" : "behind") + " the provider's")
        }
        if let hint { lines.append("run: \(hint)") }
        return lines
    }
}

extension UpstreamChallenge {
    /// Printable ASCII, like all that it is made of.
    var sentence: String {
        switch error {
        case _ where wantsLogin: "\(upstream) wants another login"
        case "insufficient_scope":
            "\(upstream) needs the scope \(scopes.isEmpty ? "of another login" : scopes.joined(separator: " "))"
        case "insufficient_user_authentication": "\(upstream) needs a stronger or newer login"
        case let error?: "\(upstream) refused it with \(status) (\(error))"
        case nil: "\(upstream) refused it with \(status)"
        }
    }
}
