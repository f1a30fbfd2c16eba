import Bytes
import Crossing
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Client credentials` {
    private let settings = Ground.settings(of: .clientCredentials)

    @Test func `need no login, and are kept for the next start`() async throws {
        let ground = try Ground.machine([.tokens("AT1", refresh: "RT-unwanted")])
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        let form = try #require(ground.fetcher.forms.first)
        #expect(
            form == [
                "grant_type": "client_credentials", "scope": "a b", "client_id": "my-cli",
                "client_secret": "canary-client",
            ])
        let record = try #require(try await ground.store.load(github))
        #expect(record.access == "AT1")
        #expect(record.refresh == nil)
        #expect(record.purpose != nil)
        // Another process, or the next start.
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `are asked for again ahead of their end and after a refusal`() async throws {
        let ground = try Ground.machine([.tokens("AT1"), .tokens("AT2"), .tokens("AT3")])
        let keeper = ground.machineKeeper(settings)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        let first = try await keeper.credential(newerThan: .none)
        #expect(try await keeper.text(newerThan: first.generation) == "AT2")
        // 30 s of 300 are the lead.
        ground.clock.advance(seconds: 272)
        try await ground.tick("it renewed ahead") { ground.fetcher.count == 3 }
        try await eventually("it has it") { try await keeper.text() == "AT3" }
    }

    @Test func `are asked for once by two processes and many requests`() async throws {
        let first = try Ground.machine([.tokens("AT1")])
        let second = try Ground.machine([.tokens("AT2")], sharing: first)
        let keepers = [first.machineKeeper(settings), second.machineKeeper(settings)]
        let tokens = try await withThrowingTaskGroup(of: String.self) { group in
            for keeper in keepers {
                for _ in 0..<25 { group.addTask { try await keeper.text() } }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(tokens.count == 1)
        #expect(first.fetcher.count + second.fetcher.count == 1)
    }

    @Test func `for other scopes or another client are other tokens`() async throws {
        let ground = try Ground.machine([.tokens("AT1"), .tokens("AT2"), .tokens("AT3")])
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        var other = settings
        other.scopes = ["a"]
        #expect(try await ground.machineKeeper(other).text() == "AT2")
        other.clientID = "another"
        #expect(try await ground.machineKeeper(other).text() == "AT3")
        // The same scopes in another order are the same.
        other.scopes = ["b", "a"]
        var same = other
        same.scopes = ["a", "b"]
        ground.fetcher.answer { _, _ in .tokens("AT4") }
        #expect(try await ground.machineKeeper(other).text() == "AT4")
        #expect(try await ground.machineKeeper(same).text() == "AT4")
        #expect(ground.fetcher.count == 4)
    }

    @Test func `never become a person's login, nor the other way round`() async throws {
        let ground = try Ground.machine([.tokens("AT1")])
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper().text()
        }
        #expect(refusal.isLoginRequired)
        let other = try Ground.machine([.tokens("AT2")])
        try await other.save()
        #expect(try await other.machineKeeper(settings).text() == "AT2")
    }

    @Test(
        arguments: [
            ("invalid_client", 401), ("unauthorized_client", 400), ("invalid_grant", 400),
            ("access_denied", 400),
        ])
    func `that are refused are a matter of the configuration`(
        code: String, status: Int
    ) async throws {
        let ground = try Ground.machine([.error(code, status: status)])
        let keeper = ground.machineKeeper(settings)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isMisconfigured)
        // Not asked again at once, and well again by itself.
        await #expect(throws: Refusal.self) { try await keeper.text() }
        #expect(ground.fetcher.count == 1)
        ground.fetcher.answer { _, _ in .tokens("AT1") }
        ground.clock.advance(seconds: 301)
        #expect(try await keeper.text() == "AT1")
    }

    @Test func `of a provider in trouble are used as long as they last`() async throws {
        let ground = try Ground.machine([.tokens("AT1"), .page(503)])
        let keeper = ground.machineKeeper(settings)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        #expect(try await keeper.text() == "AT1")
        ground.clock.advance(seconds: 280)
        try await ground.tick("it tried ahead") { ground.fetcher.count >= 2 }
        #expect(try await keeper.text() == "AT1")
        ground.clock.advance(seconds: 25)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable)
    }

    @Test func `are asked for again where somebody removed them`() async throws {
        let ground = try Ground.machine([.tokens("AT1"), .tokens("AT2")])
        let keeper = ground.machineKeeper(settings)
        let first = try await keeper.credential(newerThan: .none)
        try await ground.store.remove(github)
        ground.clock.advance(seconds: 2)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await ground.tick("the removal is seen") {
            await keeper.credentialNow(newerThan: .none)?.generation != first.generation
        }
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `live in memory where nothing can be written`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT1"), .tokens("AT2")]), calls: .readOnly,
            environment: ["CLIENT_SECRET": "s"])
        let keeper = ground.machineKeeper(settings)
        #expect(try await keeper.text() == "AT1")
        #expect(try await keeper.text() == "AT1")
        #expect(ground.fetcher.count == 1)
    }

    @Test func `are tried once without a scope that the server does not know`() async throws {
        let ground = try Ground.machine([.error("invalid_scope"), .tokens("AT1")])
        #expect(try await ground.machineKeeper(settings).text() == "AT1")
        #expect(ground.fetcher.forms.map { $0["scope"] } == ["a b", nil])
        let again = try Ground.machine([.error("invalid_scope")])
        let refusal = try await #require(throws: Refusal.self) {
            try await again.machineKeeper(settings).text()
        }
        #expect(refusal.isMisconfigured)
        #expect(again.fetcher.count == 2)
    }
}
