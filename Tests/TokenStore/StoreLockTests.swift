import Bytes
import Testing
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `Store lock` {
    private let scratch = Scratch()
    private var lockFile: String { scratch.file("github.lock") }

    private func inode(_ path: String) -> ino_t? {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_ino : nil
    }

    @Test func `is held by one at a time`() async throws {
        let first = try await scratch.store.lock(github)
        await #expect(throws: StoreError.busy(path: lockFile)) {
            try await scratch.store.lock(github, timeoutMilliseconds: 20)
        }
        let other = try await scratch.store.lock(CredentialID("other")!, timeoutMilliseconds: 0)
        other.release()
        first.release()
        let second = try await scratch.store.lock(github, timeoutMilliseconds: 0)
        second.release()
    }

    @Test func `is freed with the last reference`() async throws {
        do { _ = try await scratch.store.lock(github) }
        let again = try await scratch.store.lock(github, timeoutMilliseconds: 0)
        again.release()
    }

    @Test func `a hundred that wait for it hold no thread and all get it`() async throws {
        let store = scratch.store
        let first = try await store.lock(github)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<100 {
                group.addTask {
                    let held = try await store.lock(github)
                    var login = try await held.load() ?? sampleLogin("0")
                    login.accessToken = SecretBytes("\(Int(login.access!)! + 1)")
                    try await held.save(login)
                    held.release()
                }
            }
            // Others get their turn meanwhile.
            _ = try await store.load(github)
            first.release()
            try await group.waitForAll()
        }
        #expect(try await store.load(github)?.access == "100")
    }

    @Test func `waiting for it can be cancelled`() async throws {
        let held = try await scratch.store.lock(github)
        let store = scratch.store
        let waiter = Task { try await store.lock(github).release() }
        waiter.cancel()
        await #expect(throws: StoreError.cancelled) { try await waiter.value }
        held.release()
    }

    @Test func `is a file of its own, which no save replaces`() async throws {
        let held = try await scratch.store.lock(github)
        let before = inode(lockFile)
        try await held.save(sampleLogin("AT1"))
        try await held.save(sampleLogin("AT2"))
        try await held.remove()
        #expect(inode(lockFile) == before)
        #expect(before != nil)
        await #expect(throws: StoreError.self) {
            try await scratch.store.lock(github, timeoutMilliseconds: 0)
        }
        held.release()
    }

    @Test func `is taken anew where somebody removed the file`() async throws {
        let first = try await scratch.store.lock(github)
        unlink(lockFile)
        let second = try await scratch.store.lock(github, timeoutMilliseconds: 0)
        await #expect(throws: StoreError.self) {
            try await scratch.store.lock(github, timeoutMilliseconds: 0)
        }
        second.release()
        first.release()
    }

    @Test func `dies with its holder`() async throws {
        Handover.give(scratch.state, as: "lock")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            let state = Handover.take("lock")[0]
            let held = try await FileLoginStore(directory: state).lock(github)
            try await held.save(sampleLogin("AT1"))
            kill(getpid(), SIGKILL)
            held.release()
        }
        let held = try await scratch.store.lock(github, timeoutMilliseconds: 0)
        #expect(try await held.load()?.access == "AT1")
        held.release()
    }

    @Test(arguments: [ENOLCK, ENOSYS, EOPNOTSUPP])
    func `is done without, and that is told, where a file system has none`(code: Int32)
        async throws
    {
        var calls = FileCalls.system
        calls.lock = { _ in
            errno = code
            return -1
        }
        let store = FileLoginStore(directory: scratch.state, calls: calls)
        let held = try await store.lock(github)
        #expect(
            held.lockAbsence == .failed(path: lockFile, operation: "locking", code: code))
        // Without a lock nobody knows whether a writer lives.
        write("{}", to: scratch.file(".github.json.99-1.tmp"))
        let second = try await store.lock(github)
        #expect(names(scratch.state).contains(".github.json.99-1.tmp"))
        try await held.save(sampleLogin("AT1"))
        second.release()
        held.release()
        #expect(try await store.load(github)?.access == "AT1")
    }
}
