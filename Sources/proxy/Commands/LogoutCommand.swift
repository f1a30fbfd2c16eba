// `proxy logout`: forgets a login on this machine.

import Configuration
import TokenStore
import Vocabulary

/// Removes one login from the store; a running proxy notices within a second.
struct LogoutCommand: Command {
    static let help = CommandHelp(
        name: "logout", summary: "forget a login on this machine",
        examples: [
            .init("proxy logout", "the only credential's login"),
            .init("proxy logout github --local", "without a word about the provider"),
        ],
        synopsis: "[NAME] [--local]",
        flags: [.init("--local", "meant so: the provider is not to be told")]
            + SettingsArguments.help,
        notes: [
            "The provider is not told yet: a token that somebody copied stays good there until it expires or is revoked on the provider's own pages."
        ])

    private let name: String?
    private let isLocal: Bool
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isLocal = try arguments.flag("--local")
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "logout") { $0.isInteractive }
        guard chosen.isInteractive else {
            throw CommandFailure(
                .failure, "\"\(chosen.id)\" has no login: its token comes from the configuration")
        }
        let store = FileLoginStore(directory: loaded.stateDirectory)
        do throws(StoreError) {
            try await store.remove(chosen.id)
        } catch {
            throw CommandFailure(error)
        }
        world.console.note("the login of \"\(chosen.id)\" is forgotten on this machine")
        if !isLocal {
            world.console.warning(
                "the provider was not told: revocation is not supported yet, and a copied token "
                    + "stays good until it expires")
        }
        return .success
    }
}

extension CredentialSettings {
    /// Whether somebody can log in to it.
    var isInteractive: Bool {
        if case .oauth(let oauth) = kind { oauth.grant.needsPerson } else { false }
    }
}
