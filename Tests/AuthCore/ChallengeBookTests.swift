import Crossing
import Testing
import Vocabulary

@testable import AuthCore

@Suite struct `Refusals of upstreams` {
    private func facts(_ host: String, _ scope: String?) -> ChallengeFacts {
        var facts = ChallengeFacts(
            upstream: Origin(scheme: .https, host: host, port: 443), status: 403)
        facts.error = "insufficient_scope"
        facts.scope = scope
        return facts
    }

    @Test func `are kept by upstream, the newest first, for other processes too (F70)`()
        async throws
    {
        let ground = try Ground()
        let book = ChallengeBook(in: ground.surroundings)
        await book.note(facts("a.example", "x"), of: github)
        await book.note(facts("b.example", "y z"), of: github)
        await book.note(facts("a.example", "w"), of: github)
        let kept = await book.challenges(of: github)
        #expect(kept.map(\.upstream) == ["https://a.example", "https://b.example"])
        #expect(kept.map(\.scopes) == [["w"], ["y", "z"]])
        #expect(kept.map(\.at) == [ground.now, ground.now])
        let other = ChallengeBook(in: try Ground(sharing: ground).surroundings)
        #expect(await other.challenges(of: github) == kept)
        let settings = CredentialSettings(id: github, kind: .oauth(Ground.settings))
        #expect(await StatusDesk(in: ground.surroundings).status(of: settings).refusals == kept)
    }

    @Test func `do not grow without end, and are forgotten with a new login`() async throws {
        let ground = try Ground()
        let book = ChallengeBook(in: ground.surroundings)
        for number in 0..<100 { await book.note(facts("\(number).example", nil), of: github) }
        #expect(await book.challenges(of: github).count == ChallengeBook.entriesMax)
        let other = try Ground(sharing: ground)
        await ChallengeBook.clear(github, in: other.surroundings)
        #expect(await book.challenges(of: github).isEmpty)
        // What was there before does not come back with the next.
        await book.note(facts("new.example", nil), of: github)
        #expect(await book.challenges(of: github).map(\.upstream) == ["https://new.example"])
    }

    @Test func `are kept in memory where nothing can be written`() async throws {
        let ground = try Ground(calls: .readOnly)
        let book = ChallengeBook(in: ground.surroundings)
        await book.note(facts("a.example", "x"), of: github)
        await book.note(facts("b.example", "y"), of: github)
        #expect(await book.challenges(of: github).map(\.scopes) == [["y"], ["x"]])
    }

    @Test func `that come at once are all kept`() async throws {
        let ground = try Ground()
        let book = ChallengeBook(in: ground.surroundings)
        await withDiscardingTaskGroup { group in
            for number in 0..<ChallengeBook.entriesMax {
                let facts = facts("\(number).example", nil)
                group.addTask { await book.note(facts, of: github) }
            }
        }
        #expect(await book.challenges(of: github).count == ChallengeBook.entriesMax)
    }

    @Test func `never touch the login (F69)`() async throws {
        let ground = try Ground()
        try await ground.save()
        let before = try ground.recordBytes()
        let book = ChallengeBook(in: ground.surroundings)
        var facts = facts("a.example", nil)
        facts.error = nil
        facts.isAfterRenewal = true
        await book.note(facts, of: github)
        #expect(try ground.recordBytes() == before)
    }

    @Test func `of our proofs are logged with a look at the clocks`() async throws {
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(log: log)
        let book = ChallengeBook(in: ground.surroundings)
        var facts = facts("a.example", nil)
        facts.error = "invalid_dpop_proof"
        facts.date = "Fri, 31 Dec 1999 23:59:59 GMT"
        await book.note(facts, of: github)
        #expect(try messages().contains("the API calls a request of ours wrong"))
        #expect(try messages().contains("s behind ours"))
    }
}
