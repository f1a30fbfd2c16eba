// Where a provider's keys come from, and how seldom it is asked.

import Bytes
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `A desk for keys` {
    private static let url = "https://login.example.com/keys"
    private let old = TokenSigner(keyID: "old")
    private let new = TokenSigner(keyID: "new")

    private func token(_ signer: TokenSigner) throws -> IDToken {
        try IDToken(
            SecretBytes(signer.token(#"{"iss":"https://login.example.com","sub":"s"}"#)))
    }

    /// Whether the desk's keys verify a token of the signer's.
    private func knows(_ desk: KeyDesk, _ signer: TokenSigner) async throws -> Bool {
        let token = try token(signer)
        let set = try await desk.keys(at: Self.url) { token.isVerified(by: $0) }
        return token.isVerified(by: set)
    }

    private func ground(_ answer: String) throws -> Ground {
        try Ground(ScriptedFetcher([.json(200, answer)]))
    }

    @Test func `asks once, and not after a restart`() async throws {
        let ground = try ground(old.keySet())
        let desk = KeyDesk(in: ground.surroundings)
        for _ in 0..<5 { #expect(try await knows(desk, old)) }
        #expect(try await knows(KeyDesk(in: ground.surroundings), old))
        #expect(ground.fetcher.urls == [Self.url])
    }

    @Test func `asks once for any number of logins at a time`() async throws {
        let gate = AsyncGate()
        let set = old.keySet()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .json(200, set)
            })
        let desk = KeyDesk(in: ground.surroundings)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<10 { group.addTask { try await knows(desk, old) } }
            try await eventually("the request comes") { ground.fetcher.count == 1 }
            gate.open()
            for try await isKnown in group { #expect(isKnown) }
        }
        #expect(ground.fetcher.count == 1)
    }

    @Test func `F45 asks again for a key that is not known, once a minute at most`() async throws {
        let ground = try ground(old.keySet())
        let desk = KeyDesk(in: ground.surroundings)
        #expect(try await knows(desk, old))
        // The provider changes its keys; tokens of nobody's come as well.
        let (both, stranger) = (new.keySet(with: [old]), TokenSigner(keyID: "stranger"))
        ground.fetcher.answer { _, _ in .json(200, both) }
        for _ in 0..<20 { #expect(try await !knows(desk, stranger)) }
        #expect(ground.fetcher.count == 1)
        ground.clock.advance(seconds: 59)
        #expect(try await !knows(desk, new))
        #expect(ground.fetcher.count == 1)
        ground.clock.advance(seconds: 1)
        #expect(try await knows(desk, new))
        #expect(ground.fetcher.count == 2)
        for _ in 0..<20 { #expect(try await !knows(desk, stranger)) }
        #expect(try await knows(desk, old))
        #expect(ground.fetcher.count == 2)
    }

    @Test func `asks again for another key under a known name`() async throws {
        let ground = try ground(TokenSigner(keyID: "new").keySet())
        let desk = KeyDesk(in: ground.surroundings)
        #expect(try await !knows(desk, new))
        let set = new.keySet()
        ground.fetcher.answer { _, _ in .json(200, set) }
        ground.clock.advance(seconds: 60)
        #expect(try await knows(desk, new))
    }

    @Test(
        arguments: [
            .failure(.connectionRefused(host: "x")), .failure(.responseTooLarge(limit: 1)),
            .page(503), .page(200), .page(302, [("Location", "https://evil.example/keys")]),
            .json(200, #"{"keys":7}"#),
        ] as [Result<InboundResponse, FetchError>])
    func `lives through an outage on what it has`(
        answer: Result<InboundResponse, FetchError>
    ) async throws {
        let ground = try ground(old.keySet())
        #expect(try await knows(KeyDesk(in: ground.surroundings), old))
        ground.fetcher.answer { _, _ in answer }
        ground.clock.advance(seconds: 2 * 86_400)
        let desk = KeyDesk(in: ground.surroundings)
        #expect(try await knows(desk, old))
        #expect(ground.fetcher.urls == [Self.url, Self.url])
        // Where nothing is known, there is nothing to live on.
        try FileManagement.removeNotes(ground)
        let empty = KeyDesk(in: ground.surroundings)
        await #expect(throws: KeysError.self) { try await knows(empty, old) }
    }

    @Test func `has no use for what was kept for another address`() async throws {
        let ground = try ground(old.keySet())
        #expect(try await knows(KeyDesk(in: ground.surroundings), old))
        let note = KeyDesk.noteName(Self.url)
        var document = try #require(await ground.store.note(note)?.asObject)
        document["url"] = "https://evil.example/keys"
        try await ground.store.saveNote(note, .object(document))
        #expect(try await knows(KeyDesk(in: ground.surroundings), old))
        #expect(ground.fetcher.count == 2)
    }
}

private enum FileManagement {
    static func removeNotes(_ ground: Ground) throws {
        for name in Files.list(ground.directory.path("state")) where name.hasPrefix("keys-") {
            try Files.write("", to: ground.directory.path("state/\(name)"))
        }
    }
}
