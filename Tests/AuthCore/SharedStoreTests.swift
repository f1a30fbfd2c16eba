import Bytes
import Crossing
import Glibc
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// Single-use refresh tokens; one that comes twice ends the family.
final class StrictServer: Sendable {
    private struct State {
        var current = "RT1"
        var count = 1
        var isRevoked = false
        var reuses = 0
    }

    private let state = Mutex(State())
    private let lifetime: Int

    init(lifetime: Int) { self.lifetime = lifetime }

    var reuses: Int { state.withLock { $0.reuses } }
    var count: Int { state.withLock { $0.count - 1 } }

    func answer(_ request: OutboundRequest) -> Result<InboundResponse, FetchError> {
        let text = request.body.map(reveal) ?? ""
        return state.withLock { state in
            guard text.contains("refresh_token=\(state.current)&"), !state.isRevoked else {
                state.isRevoked = true
                state.reuses += 1
                return .error("invalid_grant")
            }
            state.count += 1
            state.current = "RT\(state.count)"
            return .tokens("AT\(state.count)", refresh: state.current, expiresIn: lifetime)
        }
    }
}

@Suite struct `Two proxies on one store` {
    @Test func `send each refresh token once through 200 expiries`() async throws {
        // C004 and requirement 3, with the lock between them.
        let server = StrictServer(lifetime: 1)
        let script: ScriptedFetcher.Script = { request, _ in server.answer(request) }
        let first = try Ground(ScriptedFetcher(script))
        let second = try Ground(ScriptedFetcher(script), sharing: first)
        try await first.save(secondsLeft: -10)
        let keepers = [first.keeper(), second.keeper()]
        for _ in 0..<200 {
            let tokens = try await withThrowingTaskGroup(of: String.self) { group in
                for keeper in keepers {
                    for _ in 0..<5 { group.addTask { try await keeper.text() } }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            first.clock.advance(milliseconds: 1500)
            second.clock.advance(milliseconds: 1500)
        }
        #expect(server.reuses == 0)
        #expect(server.count == 200)
    }

    @Test func `that refuse the same token share one refresh`() async throws {
        let server = StrictServer(lifetime: 300)
        let script: ScriptedFetcher.Script = { request, _ in server.answer(request) }
        let first = try Ground(ScriptedFetcher(script))
        let second = try Ground(ScriptedFetcher(script), sharing: first)
        try await first.save()
        let keepers = [first.keeper(), second.keeper()]
        let generation = try await keepers[0].credential(newerThan: .none).generation
        _ = try await keepers[1].credential(newerThan: .none)
        async let one = keepers[0].text(newerThan: generation)
        async let two = keepers[1].text(newerThan: generation)
        #expect(try await [one, two] == ["AT2", "AT2"])
        #expect(server.count == 1)
    }

    @Test func `take over a sibling's tokens after invalid_grant`() async throws {
        // C005: the sibling does not know of our lock.
        let ground = try Ground()
        try await ground.save(secondsLeft: -10)
        ground.fetcher.answer { [unowned ground] _, _ in
            try? ground.overwrite(ground.login("AT2", refresh: "RT2"))
            return .error("invalid_grant")
        }
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        #expect(ground.fetcher.count == 1)
        let record = try #require(try await ground.store.load(github))
        #expect(record.refresh == "RT2")
        #expect(record.rejection == nil)
    }

    @Test func `refresh once more with a sibling's refresh token where its access token is dead`()
        async throws
    {
        let ground = try Ground()
        try await ground.save(secondsLeft: -10)
        ground.fetcher.answer { [unowned ground] _, number in
            guard number == 1 else { return .tokens("AT3", refresh: "RT3") }
            try? ground.overwrite(ground.login("AT2", refresh: "RT2", secondsLeft: -5))
            return .error("invalid_grant")
        }
        #expect(try await ground.keeper().text() == "AT3")
        #expect(ground.fetcher.spent == ["RT1", "RT2"])
    }

    @Test func `do not hang on a lock that is held for too long`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        let held = try await ground.store.lock(github)
        // The store's own patience is real time; here another store has none.
        let hasty = FileLoginStore(directory: ground.directory.path("state"))
        await #expect(throws: StoreError.self) {
            try await hasty.lock(github, timeoutMilliseconds: 5)
        }
        let keeper = ground.keeper()
        let request = Task { try await keeper.text() }
        try await Task.sleep(for: .milliseconds(20))
        #expect(ground.fetcher.count == 0)
        held.release()
        #expect(try await request.value == "AT2")
    }
}

@Suite struct `Store that cannot be written` {
    /// A store whose writes fail while `isFull` says so.
    private func ground(
        _ fetcher: ScriptedFetcher, isFull: Mutex<Bool>.Box
    ) throws -> Ground {
        var calls = FileCalls.system
        let write = calls.write
        calls.write = { descriptor, base, count, offset in
            guard isFull.value else { return write(descriptor, base, count, offset) }
            errno = ENOSPC
            return -1
        }
        return try Ground(fetcher, calls: calls)
    }

    @Test func `keeps a new login in memory and writes it later`() async throws {
        // C082, I50
        let isFull = Mutex<Bool>.Box(false)
        let ground = try ground(
            ScriptedFetcher([.tokens("AT2", refresh: "RT2", expiresIn: 100)]), isFull: isFull)
        try await ground.save(secondsLeft: -10)
        let before = try ground.recordBytes()
        isFull.value = true
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        #expect(try ground.recordBytes() == before)
        #expect(Files.list(ground.directory.path("state")).allSatisfy { !$0.hasSuffix(".tmp") })
        // Nobody else may spend the old refresh token meanwhile.
        await #expect(throws: StoreError.self) {
            try await ground.store.lock(github, timeoutMilliseconds: 20)
        }
        isFull.value = false
        try await ground.tick { try await ground.store.load(github)?.refresh == "RT2" }
        let held = try await ground.store.lock(github, timeoutMilliseconds: 30_000)
        held.release()
    }

    @Test(arguments: [false, true])
    func
        `whose directory is removed during a refresh is made anew, unless somebody logged in there`(
            hasNewLogin: Bool
        ) async throws
    {
        let ground = try Ground()
        try await ground.save(secondsLeft: -10)
        let state = ground.directory.path("state")
        ground.fetcher.answer { [unowned ground] _, _ in
            rename(state, state + ".gone")
            if hasNewLogin { _ = try? await ground.save("OTHER", refresh: "RT9") }
            return .tokens("AT2", refresh: "RT2", expiresIn: 100_000)
        }
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        #expect(reveal(first.token) == "AT2")
        try await ground.tick {
            try await ground.store.load(github)?.refresh == (hasNewLogin ? "RT9" : "RT2")
        }
        await keeper.finish()
        var newest = first.generation
        if hasNewLogin {
            let other = try await keeper.credential(newerThan: newest)
            #expect(reveal(other.token) == "OTHER")
            newest = other.generation
        }
        // It goes on: a login elsewhere is seen.
        try await ground.save("AT7", refresh: "RT7", secondsLeft: 300)
        #expect(try await keeper.text(newerThan: newest) == "AT7")
    }

    @Test func `never spends the old refresh token again`() async throws {
        let isFull = Mutex<Bool>.Box(false)
        let server = StrictServer(lifetime: 100)
        let ground = try ground(
            ScriptedFetcher { request, _ in server.answer(request) }, isFull: isFull)
        try await ground.save(secondsLeft: -10)
        isFull.value = true
        let keeper = ground.keeper()
        for number in 2...6 {
            #expect(try await keeper.text() == "AT\(number)")
            ground.clock.advance(seconds: 101)
        }
        #expect(server.reuses == 0)
        isFull.value = false
        await keeper.finish()
        #expect(try await ground.store.load(github)?.refresh == "RT6")
    }

    @Test func `puts off a refresh that can wait`() async throws {
        let isFull = Mutex<Bool>.Box(false)
        let ground = try ground(
            ScriptedFetcher([.tokens("AT2", refresh: "RT2")]), isFull: isFull)
        try await ground.save(secondsLeft: 20)
        isFull.value = true
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it looked") { ground.published.tokens == ["AT1"] }
        for _ in 0..<10 {
            ground.clock.advance(seconds: 1)
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        }
        #expect(ground.fetcher.count == 0)
        isFull.value = false
        try await ground.tick { ground.published.tokens == ["AT1", "AT2"] }
        #expect(try await ground.store.load(github)?.refresh == "RT2")
    }

    @Test func `goes on from memory where nothing can ever be written`() async throws {
        // C131: a file system that is read-only.
        let server = StrictServer(lifetime: 100)
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(
            ScriptedFetcher { request, _ in server.answer(request) }, calls: .readOnly, log: log)
        try ground.directory.makeDirectory("state")
        try ground.overwrite(ground.login(secondsLeft: -10))
        let before = try ground.recordBytes()
        let keeper = ground.keeper()
        for number in 2...4 {
            #expect(try await keeper.text() == "AT\(number)")
            ground.clock.advance(seconds: 101)
        }
        #expect(server.reuses == 0)
        #expect(try ground.recordBytes() == before)
        // It is said once.
        #expect(try messages().components(separatedBy: "login store has a problem").count == 2)
    }

    @Test func `is told from one that must be mended`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        chmod(ground.record, 0o644)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        guard case .credentialUnavailable(let hint) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(hint.contains("chmod go-rwx \(ground.record)"))
        #expect(ground.fetcher.count == 0)
        // Mended, it works at once.
        chmod(ground.record, 0o600)
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `whose record is damaged needs a login and loses nothing`() async throws {
        // C083, C084
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        try Files.write("{\"access_token\":\"A\"},garbage", to: ground.record)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        #expect(
            try ground.recordBytes().map { Octets($0).text } == "{\"access_token\":\"A\"},garbage")
    }
}

extension Mutex where Value == Bool {
    final class Box: Sendable {
        private let mutex: Mutex<Bool>

        init(_ value: Bool) { mutex = Mutex(value) }

        var value: Bool {
            get { mutex.withLock { $0 } }
            set { mutex.withLock { $0 = newValue } }
        }
    }
}
