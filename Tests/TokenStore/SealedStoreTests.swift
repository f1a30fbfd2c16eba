import Bytes
import Crypto
import Synchronization
import Testing
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension StoreKeys {
    /// What tests can wait for.
    static let cheap = Scrypt.Cost(work: 16, blockSize: 1, parallelism: 1)

    static func key(_ byte: UInt8, opening other: UInt8? = nil) -> StoreKeys {
        func source(_ byte: UInt8) -> Source {
            { () throws(StoreKeyError) in .key(SecretBytes([UInt8](repeating: byte, count: 32))) }
        }
        return StoreKeys(sealing: source(byte), opening: other.map(source), cost: cheap)
    }

    static func passphrase(_ text: String) -> StoreKeys {
        StoreKeys(
            sealing: { () throws(StoreKeyError) in .passphrase(SecretBytes(text)) }, cost: cheap)
    }
}

@Suite struct `Encrypted store` {
    private let scratch = Scratch()
    private var file: String { scratch.file("github.json") }

    private func store(_ keys: StoreKeys) -> FileLoginStore {
        FileLoginStore(directory: scratch.state, keys: keys)
    }

    static let keys: [(name: String, keys: StoreKeys)] = [
        ("a key", .key(1)), ("a passphrase", .passphrase("correct horse")),
    ]

    @Test(arguments: keys.indices)
    func `gives back what was sealed, and shows none of it`(index: Int) async throws {
        let keys = Self.keys[index].keys
        let saved = try await store(keys).save(
            sampleLogin("canary-AT", refresh: "canary-RT"), github)
        let text = try #require(contents(file))
        for secret in ["canary", "my-cli", "login.example.com", "offline_access"] {
            #expect(!text.contains(secret))
        }
        #expect(text.contains("\"version\": 2"))
        #expect(mode(file) == 0o600)
        // Another process.
        let back = try #require(try await store(keys).load(github))
        #expect(reveal(JSONWriter.write(back.document)) == reveal(JSONWriter.write(saved.document)))
        // The same record never looks the same twice.
        try await store(keys).save(back, github)
        #expect(contents(file) != text)
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `takes over plain records with the next write, and gives them back plain`()
        async throws
    {
        try await store(.none).save(sampleLogin("AT1"), github)
        let sealing = store(.key(1))
        let login = try #require(try await sealing.load(github))
        #expect(login.access == "AT1")
        #expect(contents(file)?.contains("AT1") == true, "reading changes nothing")
        try await sealing.save(login, github)
        #expect(contents(file)?.contains("AT1") == false)
        let plain = sealing.writingPlain
        #expect(sealing.isSealing && !plain.isSealing)
        #expect(try await plain.rewrite(github))
        #expect(contents(file)?.contains("AT1") == true)
        #expect(try await store(.none).load(github)?.refresh == "RT1")
    }

    @Test func `changes its key with the next write`() async throws {
        try await store(.key(1)).save(sampleLogin("AT1"), github)
        let both = store(.key(2, opening: 1))
        #expect(try await both.load(github)?.access == "AT1")
        #expect(try await both.rewrite(github))
        #expect(try await store(.key(2)).load(github)?.access == "AT1")
        await #expect(throws: StoreError.locked(path: file, .otherKey)) {
            try await store(.key(1)).load(github)
        }
    }

    struct WrongKey: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let sealed: StoreKeys
        let tried: StoreKeys
        let lock: StoreError.Lock
    }

    static let wrongKeys = [
        WrongKey(
            testDescription: "another key", sealed: .key(1), tried: .key(2), lock: .otherKey),
        WrongKey(testDescription: "no key", sealed: .key(1), tried: .none, lock: .noKey),
        WrongKey(
            testDescription: "another passphrase", sealed: .passphrase("a"),
            tried: .passphrase("b"), lock: .otherKey),
        WrongKey(
            testDescription: "a passphrase for a key", sealed: .key(1), tried: .passphrase("a"),
            lock: .otherKey),
        WrongKey(
            testDescription: "a key for a passphrase", sealed: .passphrase("a"), tried: .key(1),
            lock: .otherKey),
    ]

    @Test(arguments: wrongKeys)
    func `stays as it is under a wrong key, which is said`(wrong: WrongKey) async throws {
        try await store(wrong.sealed).save(sampleLogin("AT1"), github)
        let before = contents(file)
        let error = StoreError.locked(path: file, wrong.lock)
        let other = store(wrong.tried)
        await #expect(throws: error) { try await other.load(github) }
        await #expect(throws: error) { try await other.save(sampleLogin("AT2"), github) }
        await #expect(throws: error) { try await other.rewrite(github) }
        let held = try await other.lock(github)
        await #expect(throws: error) { try await held.load() }
        held.release()
        #expect(contents(file) == before)
        #expect(names(scratch.state) == ["github.json", "github.lock"])
        #expect(error.message.contains("encrypted") && error.message.contains(file))
        // It can be forgotten all the same.
        try await other.remove(github)
        #expect(names(scratch.state) == ["github.lock"])
    }

    @Test func `says why there is no key, and does not ask again at once`() async throws {
        let calls = Calls()
        let keys = StoreKeys(sealing: { () throws(StoreKeyError) in
            calls.add()
            throw StoreKeyError(reason: "no such file")
        })
        let store = store(keys)
        for _ in 0..<5 {
            let error = try await #require(throws: StoreError.self) { try await store.load(github) }
            #expect(error.message.contains("no such file"))
        }
        await #expect(throws: StoreError.self) { try await store.save(sampleLogin(), github) }
        #expect(calls.count == 1)
        #expect(names(scratch.state) == ["github.lock"])
        // A login can be forgotten without its key.
        try await self.store(.key(1)).save(sampleLogin("AT1"), github)
        try await store.remove(github)
        #expect(names(scratch.state) == ["github.lock"])
    }

    @Test func `refuses a record that was sealed for another credential`() async throws {
        let store = store(.key(1))
        try await store.save(sampleLogin("AT1"), github)
        let other = CredentialID("other")!
        write(contents(file)!, to: scratch.file("other.json"))
        await #expect(
            throws: StoreError.damaged(path: scratch.file("other.json"), .unauthentic)
        ) { try await store.load(other) }
    }

    @Test func `gives no login for a box with any byte changed, or cut anywhere`() async throws {
        let store = store(.key(1))
        try await store.save(sampleLogin("AT1"), github)
        let whole = Array(contents(file)!.utf8)
        let letter = UInt8(ascii: "A")
        for index in whole.indices {
            var changed = whole
            changed[index] = changed[index] == letter ? letter + 1 : letter
            write(changed, to: file)
            // White space may change without harm, and that is all.
            if whole[index] != 0x20, whole[index] != 0x0A {
                await #expect(throws: StoreError.self, "byte \(index)") {
                    try await store.load(github)
                }
            }
            write(Array(whole[..<index]), to: file)
            let last = whole.count - 1
            if index < last {
                await #expect(throws: StoreError.self, "cut at \(index)") {
                    try await store.load(github)
                }
            }
        }
    }

    @Test(arguments: [
        (#"{"version":2,"sealed":{"cipher":"A256GCM","key":"k","box":"AAAA"}}"#, true),
        (#"{"version":2,"sealed":{"cipher":"A256GCM","key":"k"}}"#, false),
        (#"{"version":2,"sealed":{"cipher":"A256GCM","key":"k","box":"!"}}"#, false),
        (
            #"{"version":2,"sealed":{"cipher":"A256GCM","key":"k","box":"AAAA","scrypt":{"salt":"AAAA","n":4611686018427387904,"r":1,"p":1}}}"#,
            true
        ),
        (
            #"{"version":2,"sealed":{"cipher":"A256GCM","key":"k","box":"AAAA","scrypt":{"salt":"AAAA","n":-1,"r":1,"p":1}}}"#,
            false
        ),
        (#"{"version":2,"sealed":{"cipher":"A256GCM","key":"k","box":"AAAA","scrypt":7}}"#, false),
    ])
    func `is never trapped by what somebody wrote there`(text: String, isLocked: Bool) async throws
    {
        try await store(.none).save(sampleLogin(), github)
        write(text, to: file)
        let error = try await #require(throws: StoreError.self) {
            try await store(.passphrase("p")).load(github)
        }
        if isLocked {
            #expect(error == .locked(path: file, .otherKey))
        } else if case .damaged = error {
        } else {
            Issue.record("\(error)")
        }
    }

    @Test(arguments: [
        #"{"version":3,"sealed":{"cipher":"A256GCM","key":"k","box":"AAAA"}}"#,
        #"{"version":2,"sealed":{"cipher":"TOMORROW","key":"k","box":"AAAA"}}"#,
    ])
    func `leaves what a later release sealed as it is (F86)`(text: String) async throws {
        try await store(.none).save(sampleLogin(), github)
        write(text, to: file)
        for action in [0, 1] {
            let error = try await #require(throws: StoreError.self) {
                if action == 0 {
                    _ = try await store(.key(1)).load(github)
                } else {
                    try await store(.key(1)).save(sampleLogin(), github)
                }
            }
            guard case .newerVersion = error else {
                Issue.record("\(error)")
                continue
            }
        }
        #expect(contents(file) == text)
    }

    @Test func `takes up what a killed writer had sealed, and nothing under another key`()
        async throws
    {
        try await store(.key(1)).save(sampleLogin("AT1", refresh: "RT1"), github)
        let first = contents(file)!
        try await store(.key(1)).save(sampleLogin("AT2", refresh: "RT2"), github)
        let second = contents(file)!
        write(first, to: file)
        let left = scratch.file(".github.json.99-1.tmp")
        write(second + "\n\n\n", to: left)
        // Without its key nobody may go on with the older record: its refresh token is spent.
        write(reveal(JSONWriter.write(sampleLogin("AT1").document)), to: file)
        await #expect(throws: StoreError.locked(path: left, .noKey)) {
            try await store(.none).lock(github)
        }
        #expect(names(scratch.state).contains(".github.json.99-1.tmp"))
        let held = try await store(.key(1)).lock(github)
        #expect(try await held.load()?.refresh == "RT2")
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `seals other secrets too`() async throws {
        let store = store(.key(1))
        #expect(try await store.secretNote("client-x") == nil)
        try await store.saveSecretNote("client-x", ["client_secret": "canary-secret"])
        let path = scratch.file("client-x.secret")
        #expect(contents(path)?.contains("canary") == false)
        #expect(mode(path) == 0o600)
        let back = try #require(try await store.secretNote("client-x"))
        #expect(back.asObject?["client_secret"]?.asRevealedString == "canary-secret")
        #expect(try await store.secretNotes() == ["client-x"])
        // Absent is one thing, closed another.
        await #expect(throws: StoreError.self) {
            try await self.store(.key(2)).secretNote("client-x")
        }
        #expect(try await store.writingPlain.rewriteSecretNote("client-x"))
        #expect(contents(path)?.contains("canary-secret") == true)
        try await store.removeSecretNote("client-x")
        #expect(try await store.secretNote("client-x") == nil)
    }
}

/// How often something was called.
final class Calls: Sendable {
    private let value = Mutex(0)

    func add() { value.withLock { $0 += 1 } }
    var count: Int { value.withLock { $0 } }
}

@Suite struct `Store key` {
    private static let bytes = (0..<32).map { UInt8($0 * 7 & 0xFF) }

    private func read(_ text: String) -> [UInt8]? {
        guard case .key(let secret)? = StoreKey.read(SecretBytes(text)) else { return nil }
        return secret.withBytes { Array($0) }
    }

    @Test func `is 32 bytes in hexadecimal or Base64`() {
        let hexadecimal = Self.bytes.map { byte in
            (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
        #expect(read(hexadecimal) == Self.bytes)
        #expect(read(hexadecimal.uppercased()) == Self.bytes)
        #expect(read(Base64.encode(Self.bytes, .standard)) == Self.bytes)
        #expect(read(Base64.encode(Self.bytes, .url)) == Self.bytes)
    }

    @Test(arguments: [
        "", "a", "password", String(repeating: "g", count: 64), String(repeating: "a", count: 63),
        String(repeating: "ab", count: 33), "AAAA", String(repeating: "A", count: 44),
    ])
    func `is nothing else`(text: String) { #expect(read(text) == nil) }
}
