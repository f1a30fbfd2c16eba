// Small documents beside the logins that hold no secret: what the daemon last saw, provider
// metadata worth keeping over a restart. Losing one costs a request, so nothing here locks. Those
// that do hold one, such as the secret of a registered client, are sealed like logins.

import Bytes
package import Vocabulary

extension FileLoginStore {
    private static var noteBytesMax: Int { 1 << 20 }

    /// The document of that name, or nil when there is none that can be read.
    package func note(_ name: String) async -> JSONValue? {
        try? await disk.perform { () throws(StoreError) in
            guard let bytes = try open()?.read(name + ".note", bytesMax: Self.noteBytesMax)
            else { return nil }
            return try? JSONReader.read(bytes, strings: .plain)
        }
    }

    /// Replaces the document whole. `name` must serve as a file's name.
    package func saveNote(_ name: String, _ document: JSONValue) async throws(StoreError) {
        let text = JSONWriter.write(document, style: .indented)
        try await replace(name + ".note") { text }
    }

    /// Removes a document; one that is not there is no error.
    package func removeNote(_ name: String) async throws(StoreError) {
        try await disk.perform { () throws(StoreError) in try open()?.remove(name + ".note") }
    }

    /// The names of all documents that begin so; none where they cannot be listed.
    package func notes(beginning prefix: String) async -> [String] {
        let found = try? await disk.perform { () throws(StoreError) -> [String] in
            let names = try open()?.names { $0.hasSuffix(".note") && $0.hasPrefix(prefix) }
            return (names ?? []).map { String($0.dropLast(".note".count)) }.sorted()
        }
        return found ?? []
    }

    /// A document that holds secrets, in strings that are read as such; nil when there is none. It
    /// throws where there is one that cannot be read, so that nobody takes it for absent.
    package func secretNote(_ name: String) async throws(StoreError) -> JSONValue? {
        let keyring = try await vault.keyring()
        let file = name + Self.secretSuffix
        return try await disk.perform { () throws(StoreError) in
            guard let directory = try open(),
                let bytes = try directory.read(file, bytesMax: Self.noteBytesMax)
            else { return nil }
            let path = directory.path(of: file)
            let opened = try keyring.open(bytes, name: file, path: path)
            guard let document = try? JSONReader.read(opened, strings: .secret) else {
                throw .damaged(path: path, .notJSON(atByte: nil))
            }
            return document
        }
    }

    /// Replaces a document that holds secrets; encrypted where logins are.
    package func saveSecretNote(
        _ name: String, _ document: JSONValue
    ) async throws(StoreError) {
        let keyring = try await vault.keyring()
        let file = name + Self.secretSuffix
        let text = JSONWriter.write(document, style: .indented)
        try await replace(file) { keyring.seal(text, name: file) }
    }

    /// Writes it again, in the form in which this store writes; whether there was one.
    package func rewriteSecretNote(_ name: String) async throws(StoreError) -> Bool {
        guard let document = try await secretNote(name) else { return false }
        try await saveSecretNote(name, document)
        return true
    }

    /// Removes a document that holds secrets; one that is not there is no error.
    package func removeSecretNote(_ name: String) async throws(StoreError) {
        try await disk.perform { () throws(StoreError) in
            try open()?.remove(name + Self.secretSuffix)
        }
    }

    /// Keeps one that cannot be read under another name, for a person to look at. Only for who holds
    /// the note's lock.
    package func setAsideSecretNote(_ name: String) async throws(StoreError) {
        let now = time.wallTime()
        try await disk.perform { () throws(StoreError) in
            try open()?.setAside(name + Self.secretSuffix, now: now)
        }
    }

    /// The names of all documents that hold secrets.
    package func secretNotes() async throws(StoreError) -> [String] {
        try await disk.perform { () throws(StoreError) in
            let names = try open()?.names { $0.hasSuffix(Self.secretSuffix) && !$0.hasPrefix(".") }
            return (names ?? []).map { String($0.dropLast(Self.secretSuffix.count)) }.sorted()
        }
    }

    private static var secretSuffix: String { ".secret" }

    private func replace(
        _ file: String, _ content: @escaping @Sendable () -> SecretBytes
    ) async throws(StoreError) {
        precondition(!file.utf8.contains(0x2F) && !file.hasPrefix("."), "no name for a file")
        try await disk.perform { () throws(StoreError) in
            guard let directory = try open(creating: true) else { return }
            // Left by writers that died; a live one among them would only have to write again.
            for left in try directory.names({ TemporaryFile.isTemporary($0, of: file) }) {
                try directory.remove(left)
            }
            try directory.commit(
                try directory.temporary(for: file, reserving: 0), content(), as: file)
        }
    }
}
