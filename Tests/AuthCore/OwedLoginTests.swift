// A login that was rotated while its store took nothing, as behind a change of owner that is soon undone.

import Bytes
import Glibc
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `A login that the store owes` {
    private let isReadOnly = Mutex<Bool>.Box(false)

    /// - Parameter keepsLock: whether the lock can be had all the same.
    private func ground(_ server: StrictServer, keepsLock: Bool) async throws -> Ground {
        var calls = FileCalls.system
        let create = calls.create
        calls.create = { [isReadOnly] directory, name in
            guard isReadOnly.value else { return create(directory, name) }
            errno = EROFS
            return -1
        }
        let ground = try Ground(
            ScriptedFetcher { request, _ in server.answer(request) }, calls: calls)
        if keepsLock {
            try await ground.save(secondsLeft: -10)
        } else {
            try ground.directory.makeDirectory("state")
            try ground.overwrite(ground.login(secondsLeft: -10))
        }
        return ground
    }

    @Test(arguments: [false, true])
    func `is written at the end (C019, C082)`(keepsLock: Bool) async throws {
        let server = StrictServer(lifetime: 100)
        let ground = try await ground(server, keepsLock: keepsLock)
        isReadOnly.value = true
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        await keeper.finish()
        #expect(try await ground.store.load(github)?.refresh == "RT1")
        isReadOnly.value = false
        await keeper.finish()
        #expect(try await ground.store.load(github)?.refresh == "RT2")
        // The lock is free again.
        try await ground.store.lock(github).release()
    }

    @Test(arguments: [false, true])
    func `is written as soon as that can be (C019, C082)`(keepsLock: Bool) async throws {
        let server = StrictServer(lifetime: 10_000)
        let ground = try await ground(server, keepsLock: keepsLock)
        isReadOnly.value = true
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        isReadOnly.value = false
        try await ground.tick { try await ground.store.load(github)?.refresh == "RT2" }
        // Somebody else goes on with it.
        let other = try Ground(ground.fetcher, sharing: ground)
        #expect(try await other.keeper().text() == "AT2")
        #expect(server.reuses == 0)
    }

    @Test func `gives way to one that came in the meantime`() async throws {
        let server = StrictServer(lifetime: 10_000)
        let ground = try await ground(server, keepsLock: true)
        isReadOnly.value = true
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        try ground.overwrite(ground.login("AT7", refresh: "RT7"))
        isReadOnly.value = false
        await keeper.finish()
        #expect(try await ground.store.load(github)?.refresh == "RT7")
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await ground.tick { ground.published.tokens.last == "AT7" }
        #expect(server.reuses == 0)
    }

    @Test func `is forgotten with a log-out`() async throws {
        let server = StrictServer(lifetime: 10_000)
        let ground = try await ground(server, keepsLock: true)
        isReadOnly.value = true
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        unlink(ground.record)
        isReadOnly.value = false
        await keeper.finish()
        #expect(try ground.recordBytes() == nil)
    }
}
