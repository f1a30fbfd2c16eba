// The logins of one user: one file per credential in the state directory. It keeps bytes whole and
// to ourselves, across processes and crashes; what a login means and when it dies is AuthCore's.

import Bytes
import Synchronization
package import Vocabulary

/// The logins below one directory. A value: it holds nothing open between calls.
package struct FileLoginStore: Sendable {
    /// Longer than a token request may take, since a lock is held for that long.
    package static let lockTimeoutMilliseconds: UInt64 = 90_000

    package let directory: String
    let calls: FileCalls
    let disk = Disk()
    let vault: Vault
    let time: any TimeSource

    /// Touches nothing yet; the directory is made by the first write, and keys are read when they are
    /// first needed.
    package init(
        directory: String, keys: StoreKeys = .none, time: any TimeSource = SystemTime(),
        calls: FileCalls = .system
    ) {
        self.directory = directory
        self.time = time
        self.calls = calls
        vault = Vault(keys, directory: directory, time: time)
    }

    /// The same logins, written without encryption from now on.
    package var writingPlain: FileLoginStore {
        FileLoginStore(
            directory: directory, keys: vault.keys.writingPlain, time: time, calls: calls)
    }

    /// Whether what is written is encrypted.
    package var isSealing: Bool { vault.keys.sealing != nil }

    /// The login as it is on disk, or nil. Needs no lock: files are replaced whole.
    package func load(_ id: CredentialID) async throws(StoreError) -> Login? {
        let keyring = try await vault.keyring()
        return try await disk.perform { () throws(StoreError) in
            guard let directory = try open() else { return nil }
            return try directory.login(id, keyring)
        }
    }

    /// Throws where a record is there that `save` would not replace.
    package func checkReplaceable(_ id: CredentialID) async throws(StoreError) {
        do throws(StoreError) {
            _ = try await load(id)
        } catch {
            if case .damaged = error { return }
            throw error
        }
    }

    /// Changes whenever the login is replaced or removed; nil while there is none. Cheap enough to
    /// be asked every second.
    package func stamp(_ id: CredentialID) async -> FileStamp? {
        let path = path(of: id)
        return try? await disk.perform { () throws(StoreError) in FileStamp(path: path) }
    }

    /// The credentials that have a record, readable or not, by name.
    package func list() async throws(StoreError) -> [CredentialID] {
        try await disk.perform { () throws(StoreError) in
            guard let directory = try open() else { return [] }
            let names = try directory.names { $0.hasSuffix(".json") }
            return names.compactMap { CredentialID(String($0.dropLast(5))) }
                .sorted { $0.name < $1.name }
        }
    }

    package func path(of id: CredentialID) -> String { directory + "/" + id.recordName }

    /// Waits for the lock of one credential. Everything that reads a login in order to replace it
    /// happens between this and the end of the value's life: read, refresh, save.
    package func lock(
        _ id: CredentialID, timeoutMilliseconds: UInt64 = lockTimeoutMilliseconds
    ) async throws(StoreError) -> HeldLogin {
        let keyring: Result<Keyring, StoreError>
        do throws(StoreError) {
            keyring = .success(try await vault.keyring())
        } catch {
            // What cannot be read can still be removed.
            keyring = .failure(error)
        }
        let deadline = time.bootTime().advanced(byMilliseconds: timeoutMilliseconds)
        var pause: UInt64 = 1
        while true {
            let held = try await disk.perform { () throws(StoreError) in try attempt(id, keyring) }
            if let held { return held }
            guard time.bootTime() < deadline else {
                throw .busy(path: directory + "/" + id.lockName)
            }
            do {
                try await time.sleep(milliseconds: pause)
            } catch {
                throw .cancelled
            }
            pause = min(pause * 2, 50)
        }
    }

    /// Keeps a second interactive login for one credential out; nil when another process holds it.
    /// Freed by `release`, by the end of the value or of the process.
    package func lockLogin(_ id: CredentialID) async throws(StoreError) -> LoginLock? {
        try await disk.perform { () throws(StoreError) in
            do throws(StoreError) {
                guard let directory = try open(creating: true) else { return LoginLock(nil) }
                switch try StoreLock.attempt(id.name + ".login.lock", in: directory) {
                case .held(let lock): return LoginLock(lock)
                case .heldByAnother: return nil
                }
            } catch {
                guard case .readOnly = error else { throw error }
                return LoginLock(nil)
            }
        }
    }

    /// Replaces a login outside any refresh, as an import does.
    @discardableResult
    package func save(_ login: Login, _ id: CredentialID) async throws(StoreError) -> Login {
        let held = try await lock(id)
        defer { held.release() }
        return try await held.save(login)
    }

    /// Writes a login again, in the form in which this store writes; whether there was one.
    package func rewrite(_ id: CredentialID) async throws(StoreError) -> Bool {
        let held = try await lock(id)
        defer { held.release() }
        guard let login = try await held.load() else { return false }
        try await held.save(login)
        return true
    }

    /// The paths of records that were kept aside as damaged.
    package func setAside() async throws(StoreError) -> [String] {
        try await disk.perform { () throws(StoreError) in
            guard let directory = try open() else { return [] }
            return try directory.names { $0.contains(".json.corrupt-") }.sorted()
                .map(directory.path(of:))
        }
    }

    /// Forgets a login: nothing secret of it stays in the directory, except what was set aside as
    /// damaged.
    package func remove(_ id: CredentialID) async throws(StoreError) {
        let held = try await lock(id)
        defer { held.release() }
        try await held.remove()
    }

    private func attempt(
        _ id: CredentialID, _ keyring: Result<Keyring, StoreError>
    ) throws(StoreError) -> HeldLogin? {
        guard let directory = try StateDirectory.open(directory, creating: true, calls: calls)
        else { throw .failed(path: directory, operation: "opening", code: 2) }
        switch try StoreLock.attempt(id.lockName, in: directory) {
        case .heldByAnother: return nil
        case .held(let lock):
            let held = HeldLogin(
                id, directory: directory, lock: lock, keyring: keyring, disk: disk, time: time)
            try held.recoverBlocking()
            return held
        }
    }

    func open(creating: Bool = false) throws(StoreError) -> StateDirectory? {
        try StateDirectory.open(directory, creating: creating, calls: calls)
    }
}

/// Held while somebody logs in.
package final class LoginLock: Sendable {
    private let lock: Mutex<StoreLock?>

    init(_ lock: StoreLock?) { self.lock = Mutex(lock) }

    package func release() { lock.withLock { $0 = nil } }
}

extension CredentialID {
    var recordName: String { name + ".json" }
    var lockName: String { name + ".lock" }
}

extension StateDirectory {
    func login(_ id: CredentialID, _ keyring: Keyring) throws(StoreError) -> Login? {
        try login(id, file: id.recordName, keyring)
    }

    /// - Parameter name: where the record lies; what it was sealed as is the credential's own.
    func login(
        _ id: CredentialID, file name: String, _ keyring: Keyring
    ) throws(StoreError) -> Login? {
        guard let bytes = try read(name, bytesMax: Login.bytesMax) else { return nil }
        let path = path(of: name)
        return try Login(try keyring.open(bytes, name: id.recordName, path: path), path: path)
    }
}
