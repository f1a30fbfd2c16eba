// Which credential a command is about: the one that is named, or the only one there is.

import Configuration
import TokenStore
import Vocabulary

extension Settings {
    /// The credential of that name; without a name the only one for which the command is made.
    func credential(
        named name: String?, for command: String, where isMeant: (CredentialSettings) -> Bool
    ) throws(CommandFailure) -> CredentialSettings {
        if let name {
            guard let found = credentials.first(where: { $0.id.name == name }) else {
                throw unknown(name, command)
            }
            return found
        }
        let candidates = credentials.filter(isMeant)
        if let first = candidates.first, candidates.count == 1 { return first }
        guard let first = candidates.first else {
            // The command knows best why it is not for this one.
            if let only = credentials.first, credentials.count == 1 { return only }
            throw CommandFailure(
                .configuration, "the configuration has no credential for \"proxy \(command)\"",
                hint: "\"proxy status\" lists the credentials")
        }
        throw CommandFailure(
            .usage, "several credentials: \(list(candidates)); say which",
            hint: "run \"proxy \(command) \(first.id)\"")
    }

    private func unknown(_ name: String, _ command: String) -> CommandFailure {
        let names = credentials.map(\.id.name)
        guard !names.isEmpty else {
            return CommandFailure(.usage, "the configuration has no credentials")
        }
        return CommandFailure(
            .usage, "no credential named \"\(name)\"; there is \(list(credentials))",
            hint: "run \"proxy \(command) \(nearestName(to: name, among: names) ?? names[0])\"")
    }

    private func list(_ credentials: [CredentialSettings]) -> String {
        credentials.map(\.id.name).joined(separator: ", ")
    }
}

extension SettingsArguments {
    /// What somebody pastes into a shell in order to log in to a credential of these settings.
    func loginCommand(_ id: CredentialID, in settings: Settings) -> String {
        let isOnly = settings.credentials.count == 1
        return (["proxy", "login"] + (isOnly ? [] : [id.name]) + typed)
            .map(shellQuoted).joined(separator: " ")
    }
}
