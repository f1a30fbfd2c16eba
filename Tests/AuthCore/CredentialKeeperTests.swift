import Bytes
import Crossing
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Credential keeper` {
    @Test func `a hundred requests with an expired token cause one token request`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .tokens("AT2", refresh: "RT2")
            })
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 { group.addTask { try await keeper.text() } }
            try await eventually("the refresh began") { ground.fetcher.count == 1 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: "AT2", count: 100))
        #expect(ground.fetcher.spent == ["RT1"])
        #expect(try await ground.store.load(github)?.refresh == "RT2")
    }

    @Test func `a hundred rejections of one generation cause one token request`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .tokens("AT2", refresh: "RT2")
            })
        try await ground.save()
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        #expect(ground.fetcher.count == 0)
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<100 {
                group.addTask { try await keeper.text(newerThan: first.generation) }
            }
            try await eventually("the refresh began") { ground.fetcher.count == 1 }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(tokens == Array(repeating: "AT2", count: 100))
        // A request that was sent with the old token and is answered late.
        #expect(try await keeper.text(newerThan: first.generation) == "AT2")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `a failure is shared by all who wait for it`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .failure(.connectionRefused(host: "x"))
            })
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let refusals = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    do throws(Refusal) {
                        _ = try await keeper.text()
                        return false
                    } catch {
                        return error.isUnreachable
                    }
                }
            }
            try? await eventually("the refresh began") { ground.fetcher.count == 1 }
            gate.open()
            return await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(refusals == 50)
        #expect(ground.fetcher.count == 1)
    }

    @Test func `a newer generation answers without any request`() async throws {
        let ground = try Ground()
        try await ground.save()
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        try await ground.save("AT2", refresh: "RT2")
        // Another process has refreshed in the meantime; our token was rejected.
        let second = try await keeper.credential(newerThan: first.generation)
        #expect(reveal(second.token) == "AT2")
        #expect(second.generation > first.generation)
        #expect(try await keeper.text(newerThan: first.generation) == "AT2")
        #expect(ground.fetcher.count == 0)
    }

    @Test func `a request that goes away takes nothing with it`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return Task.isCancelled ? .failure(.cancelled) : .tokens("AT2", refresh: "RT2")
            })
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let request = Task { try await keeper.text() }
        try await eventually("the refresh began") { ground.fetcher.count == 1 }
        request.cancel()
        gate.open()
        _ = try? await request.value
        #expect(try await keeper.text() == "AT2")
        #expect(try await ground.store.load(github)?.refresh == "RT2")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `the new refresh token is on disk before anybody sees the new access token`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        try await ground.save(secondsLeft: -10)
        let seen = Mutex<[String?]>([])
        let directory = ground.directory
        let source = OAuthSource(
            github, Ground.settings, discovery: DiscoveryDesk(in: ground.surroundings),
            in: ground.surroundings)
        let keeper = CredentialKeeper(github, source: source, desk: nil, in: ground.surroundings) {
            _, credential in
            guard let credential else { return }
            let text = (try? Files.read(directory.path("state/github.json")))?.map { $0.text }
            seen.withLock {
                $0.append(
                    "\(reveal(credential.token)) \(text?.contains(#""RT2""#) ?? false)")
            }
        }
        _ = try await keeper.text()
        #expect(seen.withLock { $0 } == ["AT2 true"])
    }

    @Test func `without a login it says so and starts nothing`() async throws {
        let ground = try Ground()
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper().text()
        }
        guard case .loginRequired(nil, nil, "proxy login github", _) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(ground.fetcher.count == 0)
    }

    @Test func `an access token without a refresh token is used until it expires`() async throws {
        let ground = try Ground()
        try await ground.save(refresh: nil, secondsLeft: 30)
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT1")
        ground.clock.advance(seconds: 30)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        #expect(ground.fetcher.count == 0)
    }

    @Test func `a refusal of a fresh login is the upstream's own, and nobody logs in again (C007)`()
        async throws
    {
        let ground = try Ground()
        try await ground.save(refresh: nil, secondsLeft: nil)
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        // One that may have died asks for a login.
        let refusal = try await #require(throws: Refusal.self) {
            try await keeper.text(newerThan: first.generation)
        }
        #expect(refusal.isLoginRequired)
        ground.clock.advance(seconds: 3600)
        try await ground.save("AT2", refresh: nil, secondsLeft: nil)
        var generation = first.generation
        for _ in 0..<3 {
            let credential = try await keeper.credential(newerThan: generation)
            #expect(reveal(credential.token) == "AT2")
            generation = credential.generation
            ground.clock.advance(seconds: 50)
        }
    }

    @Test func `a refusal of what a login had just brought is remembered (C007)`() async throws {
        let ground = try Ground()
        try await ground.save(refresh: nil, secondsLeft: nil)
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        try await ground.save("AT2", refresh: nil, secondsLeft: nil)
        let second = try await keeper.credential(newerThan: first.generation)
        await keeper.wasRefusedOnArrival(first.generation)
        await keeper.wasRefusedOnArrival(second.generation)
        ground.clock.advance(seconds: 3599)
        #expect(try await keeper.text(newerThan: second.generation) == "AT2")
        // Another token is judged anew.
        try await ground.save("AT3", refresh: nil, secondsLeft: nil)
        ground.clock.advance(seconds: 2)
        let third = try await keeper.credential(newerThan: Generation(second.generation.count + 1))
        #expect(reveal(third.token) == "AT3")
        ground.clock.advance(seconds: 3600)
        let refusal = try await #require(throws: Refusal.self) {
            try await keeper.text(newerThan: third.generation)
        }
        #expect(refusal.isLoginRequired)
    }

    @Test(arguments: [
        Result<InboundResponse, FetchError>.page(503), .error("invalid_client", status: 401),
        .error("access_denied"), .failure(.connectionRefused(host: "x")),
    ])
    func `a refusal of a token that cannot be replaced now is the upstream's own`(
        answer: Result<InboundResponse, FetchError>
    ) async throws {
        let ground = try Ground(ScriptedFetcher([answer]))
        try await ground.save()
        let keeper = ground.keeper()
        var generation = try await keeper.credential(newerThan: .none).generation
        for _ in 0..<3 {
            let credential = try await keeper.credential(newerThan: generation)
            #expect(reveal(credential.token) == "AT1")
            generation = credential.generation
        }
        #expect(ground.fetcher.count == 1)
        // A person who wants another one is told.
        await #expect(throws: Refusal.self) {
            try await keeper.credential(newerThan: generation, insists: true)
        }
        // Once its time is over, there is nothing to send.
        ground.clock.advance(seconds: 300)
        await #expect(throws: Refusal.self) { try await keeper.text() }
    }

    @Test func `an expired token and a usable refresh token mean refresh now`() async throws {
        // A laptop that slept for hours (C047).
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        try await ground.save(secondsLeft: 100)
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT1")
        ground.clock.advance(seconds: 7200)
        #expect(try await keeper.text() == "AT2")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `a logout elsewhere withdraws the credential`() async throws {
        let ground = try Ground()
        try await ground.save()
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        try await eventually("it was published") { ground.published.tokens == ["AT1"] }
        try await ground.store.remove(github)
        try await ground.tick { ground.published.tokens == ["AT1", nil] }
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        // And a login afterwards counts on.
        try await ground.save("AT2")
        try await ground.tick { ground.published.tokens == ["AT1", nil, "AT2"] }
        #expect(ground.published.generations == [1, 2, 3])
        running.cancel()
    }

    @Test func `a login elsewhere is noticed within a second, without a request`() async throws {
        let ground = try Ground()
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        let running = Task { await keeper.run() }
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        try await ground.save("AT5")
        ground.clock.advance(milliseconds: 1000)
        try await eventually("it was published") { ground.published.tokens == ["AT5"] }
        #expect(try await keeper.text() == "AT5")
        running.cancel()
    }

    @Test func `a login elsewhere is noticed at once by a request`() async throws {
        let ground = try Ground()
        let keeper = ground.keeper()
        _ = try? await keeper.text()
        try await ground.save("AT5")
        #expect(try await keeper.text() == "AT5")
    }

    @Test func `looking costs nothing while nothing changes`() async throws {
        let ground = try Ground()
        try await ground.save(secondsLeft: nil)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        for _ in 0..<20 {
            try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
            ground.clock.advance(seconds: 1)
        }
        #expect(ground.published.tokens == ["AT1"])
        #expect(ground.fetcher.count == 0)
        running.cancel()
    }
}

extension Ground {
    /// Lets seconds pass until it is so.
    func tick(
        within limit: Duration = .seconds(20), sourceLocation: SourceLocation = #_sourceLocation,
        until isTrue: @escaping @Sendable () async throws -> Bool
    ) async throws {
        try await eventually(
            "it became so", within: limit,
            {
                if try await isTrue() { return true }
                self.clock.advance(seconds: 1)
                return false
            }, sourceLocation: sourceLocation)
    }
}

/// A latch for tasks.
final class AsyncGate: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }
}
