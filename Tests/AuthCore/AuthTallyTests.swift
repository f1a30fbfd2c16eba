// What the auth core counts, against what a scripted provider saw.

import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `The auth core's report` {
    private func activity(_ ground: Ground) throws -> CredentialActivity {
        let report = ground.surroundings.tally.report(at: ground.clock)
        return try #require(report.credentials.first { $0.id == github })
    }

    @Test func `counts renewals, their failures by cause, and every token request`() async throws {
        let ground = try Ground(
            ScriptedFetcher([
                .tokens("AT2", refresh: "RT2"), .failure(.timedOut(mayHaveArrived: false)),
                .tokens("AT3", refresh: "RT3"), .error("invalid_grant"),
            ]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        // The same once more, since nothing better is to be had.
        let same = try await keeper.credential(newerThan: first.generation)
        ground.clock.advance(milliseconds: 60_000)
        let second = try await keeper.credential(newerThan: same.generation)
        ground.clock.advance(milliseconds: 60_000)
        _ = try? await keeper.credential(newerThan: second.generation)

        let activity = try activity(ground)
        #expect(activity.refreshes == 2)
        #expect(activity.refreshFailures == ["unreachable": 1, "login_required": 1])
        #expect(activity.tokenRequests.count == UInt64(ground.fetcher.count))
        #expect(activity.tokenRequestFailures == ["timed_out": 1, "invalid_grant": 1])
    }

    @Test func `knows whether the newest token is usable, and until when`() async throws {
        let ground = try Ground()
        try await ground.save(secondsLeft: 100)
        let keeper = ground.keeper()
        _ = try await keeper.credential(newerThan: .none)
        let expiry = ground.now.advanced(by: 100)
        #expect(try activity(ground).isUsable)
        #expect(try activity(ground).expiresAt == expiry)
        ground.clock.advance(milliseconds: 100_000)
        #expect(try !activity(ground).isUsable)
        #expect(try activity(ground).expiresAt == expiry)
    }

    @Test func `notes a login that was made elsewhere`() async throws {
        let ground = try Ground()
        try await ground.save()
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        #expect(try activity(ground).adoptions == 0)
        try await ground.save("AT7", refresh: "RT7")
        let second = try await keeper.credential(newerThan: first.generation)
        #expect(second.token == SecretBytes("AT7"))
        #expect(try activity(ground).adoptions == 1 && activity(ground).refreshes == 0)
    }

    @Test(arguments: [
        ("invented_by_a_provider", "other_code"), ("invalid_client", "invalid_client"),
    ])
    func `has words of its own for causes, never a stranger's`(code: String, word: String)
        async throws
    {
        let ground = try Ground(ScriptedFetcher { _, _ in .error(code) })
        try await ground.save(secondsLeft: -10)
        _ = try? await ground.keeper().credential(newerThan: .none)
        #expect(try Set(activity(ground).tokenRequestFailures.keys) == [word])
    }
}
