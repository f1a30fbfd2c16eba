// One login while its lock is held: the only way to change it.

import Bytes
import Synchronization
package import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Ends with `release`, or with the last reference.
package final class HeldLogin: Sendable {
    fileprivate struct Hold {
        let directory: StateDirectory
        let lock: StoreLock
        var reservation: TemporaryFile?
    }

    package let id: CredentialID
    /// Why nothing keeps other processes out, where nothing does (ENOLCK; a directory that cannot be
    /// written). To be warned of and lived with.
    package let lockAbsence: StoreError?

    private let hold: Mutex<Hold?>
    private let keyring: Result<Keyring, StoreError>
    private let disk: Disk
    private let time: any TimeSource

    /// Room for a record, kept free during a token request.
    private static let reservedBytes = 16 << 10

    init(
        _ id: CredentialID, directory: StateDirectory, lock: StoreLock,
        keyring: Result<Keyring, StoreError>, disk: Disk, time: any TimeSource
    ) {
        self.id = id
        self.keyring = keyring
        self.disk = disk
        self.time = time
        lockAbsence = lock.absence
        hold = Mutex(Hold(directory: directory, lock: lock, reservation: nil))
    }

    deinit { release() }

    /// Frees the lock; nothing can be read or saved through this value afterwards.
    package func release() {
        hold.withLock { hold in
            hold?.dropReservation()
            hold = nil
        }
    }

    /// Whether what is saved here is found under the directory's path, and its lock the one that others
    /// meet: nobody has removed the directory, or put another one in its place.
    package func isInPlace() async -> Bool {
        let isThere = try? await perform { hold throws(StoreError) in hold.directory.isInPlace }
        return isThere ?? false
    }

    /// The login as it is on disk, or nil.
    package func load() async throws(StoreError) -> Login? {
        try await perform { [id, keyring] hold throws(StoreError) in
            try hold.directory.login(id, try keyring.get())
        }
    }

    /// Makes sure, before a refresh token is spent, that its successor can be written: a directory
    /// that takes files and a disk that has room for one.
    package func reserve() async throws(StoreError) {
        try await perform { [id] hold throws(StoreError) in
            guard hold.reservation == nil else { return }
            hold.reservation = try hold.directory.temporary(
                for: id.recordName, reserving: Self.reservedBytes)
        }
    }

    /// Replaces the record, durably, and returns it as written. What is damaged is set aside first; a
    /// record of a later version, or one that others could have planted, is not touched.
    @discardableResult
    package func save(_ login: Login) async throws(StoreError) -> Login {
        let now = time.wallTime()
        return try await perform { [id, keyring] hold throws(StoreError) in
            guard hold.directory.isInPlace else {
                throw .failed(path: hold.directory.path, operation: "finding", code: ENOENT)
            }
            var login = login
            let keyring = try keyring.get()
            let current = try hold.directory.current(id, keyring)
            login.generation = max(current.generation, login.generation).next
            let file: TemporaryFile
            if let reserved = hold.reservation.take() {
                file = reserved
            } else {
                file = try hold.directory.temporary(for: id.recordName, reserving: 0)
            }
            if case .damaged = current { try hold.directory.setAside(id.recordName, now: now) }
            let record = JSONWriter.write(login.document, style: .indented)
            try hold.directory.commit(
                file, keyring.seal(record, name: id.recordName), as: id.recordName)
            return login
        }
    }

    /// Removes the record and whatever a dead writer left of it.
    package func remove() async throws(StoreError) {
        try await perform { [id] hold throws(StoreError) in
            hold.dropReservation()
            // First, so that nothing can bring the login back.
            for name in try hold.directory.temporaries(of: id) { try hold.directory.remove(name) }
            try hold.directory.remove(id.recordName)
            try hold.directory.synchronize()
        }
    }

    /// Finishes what a writer that was killed between its write and its rename had begun: the only
    /// copy of a rotated refresh token may be in its temporary file. Whoever holds the lock knows
    /// that no such writer lives. A beginning of a record is no JSON and is thrown away; one that only
    /// another key opens is left, and what is older must not be used in its place.
    func recoverBlocking() throws(StoreError) {
        guard lockAbsence == nil, case .success(let keyring) = keyring else { return }
        let now = time.wallTime()
        try withHold { [id] hold throws(StoreError) in
            let directory = hold.directory
            let left = try directory.temporaries(of: id)
            guard !left.isEmpty, let current = try? directory.current(id, keyring) else { return }
            var isDamaged = if case .damaged = current { true } else { false }
            var newest = current.generation
            for name in left {
                guard let login = try directory.whole(name, of: id, keyring),
                    login.generation > newest
                else {
                    try directory.remove(name)
                    continue
                }
                if isDamaged { try directory.setAside(id.recordName, now: now) }
                isDamaged = false
                try directory.rename(name, to: id.recordName)
                try directory.synchronize()
                newest = login.generation
            }
        }
    }

    private func perform<Value: Sendable>(
        _ work: @escaping @Sendable (inout Hold) throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        try await disk.perform { () throws(StoreError) in try self.withHold(work) }
    }

    private func withHold<Value: Sendable>(
        _ work: (inout Hold) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = hold.withLock { hold in
            guard var taken = hold.take() else {
                preconditionFailure("a login was used after its lock was released")
            }
            defer { hold = taken }
            do throws(StoreError) {
                return .success(try work(&taken))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

extension HeldLogin.Hold {
    mutating func dropReservation() {
        if let file = reservation.take() { directory.discard(file) }
    }
}

/// What stands in the place of a record, as far as writing another one goes.
private enum Current {
    case absent
    case login(Generation)
    case damaged

    var generation: Generation {
        switch self {
        case .absent, .damaged: .none
        case .login(let generation): generation
        }
    }
}

extension StateDirectory {
    /// Throws where the record must stay untouched.
    fileprivate func current(
        _ id: CredentialID, _ keyring: Keyring
    ) throws(StoreError) -> Current {
        do throws(StoreError) {
            return try login(id, keyring).map { .login($0.generation) } ?? .absent
        } catch {
            if case .damaged = error { return .damaged }
            throw error
        }
    }

    /// What a dead writer left; nil where it had not come to the end.
    fileprivate func whole(
        _ name: String, of id: CredentialID, _ keyring: Keyring
    ) throws(StoreError) -> Login? {
        do throws(StoreError) {
            return try login(id, file: name, keyring)
        } catch {
            if case .locked = error { throw error }
            return nil
        }
    }

    fileprivate func temporaries(of id: CredentialID) throws(StoreError) -> [String] {
        try names { TemporaryFile.isTemporary($0, of: id.recordName) }
    }

    /// Keeps what cannot be read under another name, for a person to look at.
    func setAside(_ file: String, now: WallTime) throws(StoreError) {
        let base = file + ".corrupt-\(now.seconds)"
        var name = base
        var count = 1
        while stamp(name) != nil {
            count += 1
            name = base + "-\(count)"
        }
        try rename(file, to: name)
    }
}
