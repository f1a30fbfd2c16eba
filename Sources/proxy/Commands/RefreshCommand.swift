// `proxy refresh`: renews a login now, for whoever does not want to wait for a request to do it. A
// running proxy takes over what it brings within a second.

import AuthCore
import Configuration
import Crossing
import Vocabulary

/// Refreshes what is due; everything with `--force`.
struct RefreshCommand: Command {
    static let help = CommandHelp(
        name: "refresh", summary: "renew a login now",
        examples: [
            .init("proxy refresh", "where it is about to expire, or has expired"),
            .init("proxy refresh github --force", "even though it is fresh"),
        ],
        synopsis: "[NAME] [--force] [--json]",
        flags: [
            .init("--force", "a fresh token too; one that another process has just got will do"),
            .init("--json", "for programs; times are seconds since 1970"),
        ] + SettingsArguments.help)

    private let name: String?
    private let isForced: Bool
    private let isJSON: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isForced = try arguments.flag("--force")
        isJSON = try arguments.flag("--json")
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let watch = SignalWatch.startFinishingRefresh(in: world)
        defer { watch.cancel() }
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "refresh") { $0.isRefreshable }
        guard chosen.isRefreshable else {
            throw CommandFailure(
                .failure, "\"\(chosen.id)\" has nothing to refresh: its token is given to us")
        }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let desk = StatusDesk(in: tools.surroundings)
        let before = await desk.status(of: chosen)
        let isNew = try await refresh(chosen, of: loaded, by: tools, before)
        report(before, await desk.status(of: chosen), isNew: isNew, in: world)
        return SignalWatch.hasArrived ? .interrupted : .success
    }

    /// Whether there is another token now.
    private func refresh(
        _ chosen: CredentialSettings, of settings: Settings, by tools: CredentialTools,
        _ before: CredentialStatus
    ) async throws(CommandFailure) -> Bool {
        try await tools.ask(chosen, of: settings) { keeper throws(Refusal) in
            let found = try await keeper.credential(newerThan: .none)
            let now = tools.surroundings.time.wallTime()
            let isDue = before.nextRefreshAt.map { $0 <= now } ?? false
            // What was not usable before has been renewed already.
            guard before.state == .usable else { return true }
            guard isForced || isDue else { return false }
            let fresh = try await keeper.credential(
                newerThan: found.generation, insists: true)
            return fresh.token != found.token
        }
    }

    private func report(
        _ before: CredentialStatus, _ after: CredentialStatus, isNew: Bool, in world: World
    ) {
        // A server may give the same token with more time.
        let isRefreshed = isNew || after.expiresAt != before.expiresAt
        if isJSON {
            func time(_ value: WallTime?) -> JSONValue {
                value.map { .number(JSONNumber($0.seconds)) } ?? .null
            }
            world.console.json([
                "name": .string(after.id.name), "refreshed": .bool(isRefreshed),
                "expired_before_at": time(before.expiresAt), "expires_at": time(after.expiresAt),
            ])
            return
        }
        let now = SystemTime().wallTime()
        func left(_ status: CredentialStatus) -> String {
            guard let expiresAt = status.expiresAt else { return "no known expiry" }
            let left = expiresAt.seconds - now.seconds
            return left > 0 ? "expires in \(durationText(seconds: left))" : "expired"
        }
        world.console.note(
            isRefreshed
                ? "refreshed \"\(after.id)\": \(left(after)) (before: \(left(before)))"
                : "\"\(after.id)\" is fresh, \(left(after)); --force refreshes it all the same")
    }
}

extension CredentialSettings {
    fileprivate var isRefreshable: Bool {
        switch kind {
        case .oauth, .command: true
        case .fixed: false
        }
    }
}
