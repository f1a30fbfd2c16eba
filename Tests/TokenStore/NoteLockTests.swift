import Testing
import Vocabulary

@testable import TokenStore

@Suite struct `A note's lock` {
    @Test func `is held by one, and by the next after that`() async throws {
        let scratch = Scratch()
        let store = scratch.store
        let first = try await store.lockNote("client-1")
        let other = try await store.lockNote("client-2")
        await #expect(throws: StoreError.self) {
            try await store.lockNote("client-1", timeoutMilliseconds: 20)
        }
        first.release()
        let second = try await store.lockNote("client-1", timeoutMilliseconds: 30_000)
        second.release()
        other.release()
    }

    @Test func `has a name for everything, the same each time`() {
        let name = FileLoginStore.noteName("client", of: "https://id.example.com/../x\u{0}")
        #expect(name == FileLoginStore.noteName("client", of: "https://id.example.com/../x\u{0}"))
        #expect(name != FileLoginStore.noteName("client", of: "https://id.example.com/../x"))
        #expect(name.count == "client-".count + 32)
        #expect(name.utf8.allSatisfy { $0 == 0x2D || $0 &- 0x30 < 10 || $0 &- 0x61 < 26 })
    }
}
