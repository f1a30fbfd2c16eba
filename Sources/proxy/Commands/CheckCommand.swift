// `proxy check`: is the configuration good, and with `--online`, is everything that it names there?

import AuthCore
import Configuration
import Vocabulary

/// Finds out before traffic does.
struct CheckCommand: Command {
    static let help = CommandHelp(
        name: "check", summary: "validate the configuration, and what it names",
        examples: [
            .init("proxy check", "the file, the secrets that it names, the store"),
            .init("proxy check --online", "the providers, the APIs and the clock as well"),
        ],
        synopsis: "[--online] [--json]",
        flags: [
            .init("--online", "ask every provider and every API"),
            .init("--json", "for programs"),
        ] + SettingsArguments.help,
        notes: [
            "Providers are asked for their metadata and APIs for \"/\", without a credential; nothing is refreshed. It ends with 78 when the configuration is at fault, and with 1 when something that it names is."
        ])

    private let isOnline: Bool
    private let isJSON: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isOnline = try arguments.flag("--online")
        isJSON = try arguments.flag("--json")
        settings = try SettingsArguments(&arguments)
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let inspection = Inspection(loaded, tools.surroundings)
        var findings = [inspection.configuration]
        findings += await inspection.offline()
        if isOnline { findings += await inspection.online() }
        if isJSON {
            world.console.json(["checks": .array(findings.map(\.document))])
        } else {
            for finding in findings { show(finding, in: world) }
        }
        return findings.contains { $0.outcome == .failed } ? .failure : .success
    }

    private func show(_ finding: Finding, in world: World) {
        world.console.line("\(finding.outcome.label) \(finding.subject): \(finding.text)")
        if let hint = finding.hint { world.console.line("     \(hint)") }
    }
}
