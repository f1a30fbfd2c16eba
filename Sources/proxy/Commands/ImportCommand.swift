// `proxy import`: makes a login from tokens that were got elsewhere, given on standard input and never
// on the command line.

import AuthCore
import Bytes
import Configuration
import Crossing
import TokenStore
import Vocabulary

/// Stores what a token endpoint once answered.
struct ImportCommand: Command {
    static let help = CommandHelp(
        name: "import", summary: "make a login from tokens given on standard input",
        examples: [
            .init("proxy import github < tokens.json", "JSON as a token endpoint answers"),
            .init(
                "printf '{\"refresh_token\":\"%s\"}' \"$TOKEN\" | proxy import",
                "a refresh token alone: it is tried at once"),
        ],
        synopsis: "[NAME]",
        flags: SettingsArguments.help,
        notes: [
            "Members: access_token, refresh_token, id_token, token_type, scope, and either expires_in or expires_at (seconds since 1970); further ones are kept. What this configuration stored under the name before is replaced."
        ])

    private static let inputBytesMax = 1 << 20

    private let name: String?
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        // Not by its content: it may be a token that was meant for standard input.
        if try arguments.operand() != nil { throw .tokensOnCommandLine }
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "import") { $0.isInteractive }
        guard case .oauth(let oauth) = chosen.kind else {
            throw CommandFailure(
                .failure, "\"\(chosen.id)\" has no login: its token comes from the configuration")
        }
        let now = SystemTime().wallTime()
        let login = try read(in: world).login(oauth, at: now)
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let known = try? await tools.surroundings.store.load(chosen.id)
        if let foreign = known?.foreign(to: oauth, chosen.id, in: tools.surroundings) {
            throw CommandFailure(
                .failure, foreign.message,
                hint: "forget it first (proxy logout --local), or \(foreign.advice)")
        }
        do throws(StoreError) {
            try await tools.surroundings.store.save(login, chosen.id)
        } catch {
            throw CommandFailure(error)
        }
        // A refresh token that nobody has tried is a promise: try it while somebody is looking.
        if login.accessToken == nil { try await refresh(chosen, tools.surroundings) }
        world.console.note("imported the login of \"\(chosen.id)\"")
        return .success
    }

    private func read(in world: World) throws(CommandFailure) -> ImportedTokens {
        if world.isInputTerminal {
            world.console.note("reading tokens as JSON; end with Ctrl-D")
        }
        let bytes: SecretBytes
        do throws(InputError) {
            bytes = try readAllBlocking(world.input, bytesMax: Self.inputBytesMax)
        } catch {
            throw CommandFailure(
                .failure, error.message, hint: "run \"proxy import < tokens.json\"")
        }
        return try ImportedTokens(bytes)
    }

    private func refresh(
        _ chosen: CredentialSettings, _ surroundings: AuthCore.Surroundings
    ) async throws(CommandFailure) {
        let keeper = CredentialKeeper(
            chosen, discovery: DiscoveryDesk(in: surroundings), desk: nil, in: surroundings)
        let refusal: Refusal?
        do throws(Refusal) {
            _ = try await keeper.credential(newerThan: .none)
            refusal = nil
        } catch {
            refusal = error
        }
        await keeper.finish()
        if let refusal { throw CommandFailure(refusal, chosen.id) }
    }
}

extension InputError {
    fileprivate var message: String {
        switch self {
        case .empty: "standard input holds no tokens"
        case .tooLarge(let limit): "standard input holds more than \(limit) bytes"
        case .unreadable(let code): "cannot read standard input: \(systemMessage(code))"
        }
    }
}
