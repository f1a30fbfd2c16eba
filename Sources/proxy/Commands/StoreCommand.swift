// `proxy store`: encrypts the logins that are there, or decrypts them, without waiting for each to be
// written again.

import AuthCore
import Configuration
import TokenStore
import Vocabulary

/// Rewrites every login in the other form, one lock at a time, so that proxies may go on running.
struct StoreCommand: Command {
    static let help = CommandHelp(
        name: "store", summary: "encrypt the stored logins, or decrypt them",
        examples: [
            .init("proxy store encrypt", "with the key under store.encrypt"),
            .init("proxy store decrypt", "before that key is given up"),
        ],
        synopsis: "encrypt|decrypt", flags: SettingsArguments.help,
        notes: [
            "Each login is encrypted with its next refresh in any case. To go back to plain files, rename \"encrypt\" to \"decrypt\" in the configuration, restart the proxies, and run \"proxy store decrypt\". Old copies may stay in free blocks of the disk."
        ])

    private enum Action: String {
        case encrypt, decrypt
    }

    private let action: Action
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        settings = try SettingsArguments(&arguments)
        let word = try arguments.operand(required: "\"encrypt\" or \"decrypt\"")
        guard let action = Action(rawValue: word) else {
            throw .unexpectedOperand(word, command: "store")
        }
        self.action = action
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let loaded = try world.settings(for: settings)
        try check(loaded.store)
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let configured = tools.surroundings.store
        let store = action == .encrypt ? configured : configured.writingPlain
        let count = try await rewrite(store, in: world)
        let done = action == .encrypt ? "encrypted" : "plain now"
        world.console.note("\(count) \(count == 1 ? "file is" : "files are") \(done)")
        if action == .decrypt, configured.isSealing {
            world.console.warning(
                "the configuration still says \"encrypt\": the next refresh encrypts again")
        }
        for name in (try? await store.setAside()) ?? [] {
            world.console.warning("\"\(name)\" was set aside as damaged and stays as it is")
        }
        return .success
    }

    private func check(_ settings: StoreSettings) throws(CommandFailure) {
        switch action {
        case .encrypt where settings.encryption == nil:
            throw CommandFailure(
                .configuration, "the configuration names no key to encrypt with",
                hint: "run \"openssl rand -hex 32\" into a file of yours, and write "
                    + "store: { encrypt: { key: { file: path } } }")
        case .decrypt where settings.encryption == nil && settings.decryption == nil:
            throw CommandFailure(
                .configuration, "the configuration names no key to decrypt with",
                hint: "write store: { decrypt: { key: { file: path } } }")
        case .encrypt, .decrypt: break
        }
    }

    /// What cannot be rewritten stops nothing else.
    private func rewrite(
        _ store: FileLoginStore, in world: World
    ) async throws(CommandFailure) -> Int {
        var count = 0
        var hasFailed = false
        do throws(StoreError) {
            let logins = try await store.list()
            let notes = try await store.secretNotes()
            for id in logins {
                do throws(StoreError) {
                    if try await store.rewrite(id) { count += 1 }
                } catch {
                    hasFailed = true
                    world.console.error(error.message, hint: error.hint)
                }
            }
            for name in notes {
                do throws(StoreError) {
                    if try await store.rewriteSecretNote(name) { count += 1 }
                } catch {
                    hasFailed = true
                    world.console.error(error.message, hint: error.hint)
                }
            }
        } catch {
            throw CommandFailure(error)
        }
        if hasFailed { throw CommandFailure(.failure, []) }
        return count
    }
}
