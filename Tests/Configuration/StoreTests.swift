import Configuration
import Testing
import Vocabulary

@Suite struct `Store settings` {
    private func store(_ lines: String) throws -> StoreSettings {
        try settings("upstream: http://localhost:3000\ncredential: none\n\(lines)").store
    }

    private func found(_ lines: String) -> [String] {
        // The prefix has two lines.
        problems("upstream: http://localhost:3000\ncredential: none\n\(lines)")
    }

    @Test func `are plain files unless a key is named`() throws {
        #expect(try store("") == StoreSettings())
        #expect(try store("store: { encrypt: { key: { env: K } } }").decryption == nil)
    }

    @Test func `name a key or a passphrase, to write with and to read with`() throws {
        var wanted = StoreSettings()
        wanted.encryption = .key(.file(path: "/etc/proxy/store.key"))
        wanted.decryption = .passphrase(.environment(name: "OLD"))
        #expect(
            try store(
                "store: { encrypt: { key: { file: store.key } }, decrypt: { passphrase: { env: OLD } } }"
            ) == wanted)
        wanted = StoreSettings()
        wanted.encryption = .passphrase(.command(["pass", "show", "proxy"]))
        #expect(
            try store("store: { encrypt: { passphrase: { command: [pass, show, proxy] } } }")
                == wanted)
    }

    @Test(arguments: [
        "store: plain", "store: { encrypt: canary-key }", "store: { encrypt: { key: canary-key } }",
        "store: { encrypt: {} }", "store: { encrypt: { key: { env: A }, passphrase: { env: B } } }",
        "store: { encrypted: { key: { env: A } } }",
        "store: { encrypt: { key: { env: A, file: B } } }",
    ])
    func `are refused where they are unclear, and no key is repeated`(lines: String) {
        let found = self.found(lines)
        #expect(found.count == 1, "\(found)")
        #expect(!found.joined().contains("canary"))
    }

    @Test func `keep a login alive only where that is said`() throws {
        #expect(try settings(short()).oauth.keepAliveSeconds == nil)
        #expect(try settings(short(credential: "keep_alive: 12h")).oauth.keepAliveSeconds == 43_200)
        #expect(problems(short(credential: "keep_alive: 5s")).count == 1)
    }
}
