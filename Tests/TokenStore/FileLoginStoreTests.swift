import Bytes
import Testing
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `File login store` {
    private let scratch = Scratch()
    private var store: FileLoginStore { scratch.store }
    private var file: String { scratch.file("github.json") }

    @Test func `a directory that is not there holds nothing`() async throws {
        #expect(try await store.load(github) == nil)
        #expect(await store.stamp(github) == nil)
        #expect(try await store.list().isEmpty)
        #expect(names(scratch.path).isEmpty)
    }

    @Test func `what was saved is loaded, with a generation more each time`() async throws {
        let first = try await store.save(sampleLogin("AT1"), github)
        let second = try await store.save(sampleLogin("AT2"), github)
        let loaded = try #require(try await store.load(github))
        #expect(loaded.access == "AT2")
        #expect(first.generation == Generation(1))
        #expect(second.generation == Generation(2))
        #expect(loaded.generation == Generation(2))
    }

    @Test(.serialized, arguments: [mode_t(0), 0o022, 0o777])
    func `files are 0600 in a 0700 directory under any umask`(mask: mode_t) async throws {
        // The umask belongs to the whole process; the child has one of its own.
        Handover.give(scratch.path, "\(mask)", as: "umask")
        await #expect(processExitsWith: .success) {
            let words = Handover.take("umask")
            let path = words[0]
            umask(mode_t(words[1])!)
            let store = FileLoginStore(directory: path + "/a/b")
            try await store.save(sampleLogin(), github)
            let isPrivate =
                mode(path + "/a") == 0o700 && mode(path + "/a/b") == 0o700
                && mode(path + "/a/b/github.json") == 0o600
                && mode(path + "/a/b/github.lock") == 0o600
            exit(isPrivate ? 0 : 1)
        }
    }

    @Test func `a shorter record leaves no tail of a longer one, nor the other way round`()
        async throws
    {
        let long = sampleLogin(String(repeating: "x", count: 3000))
        let short = sampleLogin("AT2")
        for login in [long, short, long] {
            let saved = try await store.save(login, github)
            #expect(contents(file) == reveal(JSONWriter.write(saved.document, style: .indented)))
        }
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `a reservation is used up by the save and leaves no trace`() async throws {
        for token in [String(repeating: "y", count: 40_000), "short"] {
            let held = try await store.lock(github)
            try await held.reserve()
            let saved = try await held.save(sampleLogin(token))
            held.release()
            #expect(contents(file) == reveal(JSONWriter.write(saved.document, style: .indented)))
        }
        let held = try await store.lock(github)
        try await held.reserve()
        held.release()
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `each credential has a file of its own`() async throws {
        let other = CredentialID("google")!
        try await store.save(sampleLogin("A"), github)
        try await store.save(sampleLogin("B"), other)
        write("garbage", to: scratch.file("google.json"))
        #expect(try await store.load(github)?.access == "A")
        #expect(try await store.list() == [github, other])
    }

    @Test func `removing forgets the login and what a dead writer left of it`() async throws {
        try await store.save(sampleLogin(), github)
        write(contents(file)!, to: scratch.file(".github.json.1-2.tmp"))
        try await store.remove(github)
        #expect(try await store.load(github) == nil)
        #expect(names(scratch.state) == ["github.lock"])
        try await store.remove(github)
    }

    @Test func `the stamp changes with each save and with a removal`() async throws {
        var stamps: Set<FileStamp?> = [nil]
        for _ in 0..<20 {
            try await store.save(sampleLogin(), github)
            #expect(stamps.insert(await store.stamp(github)).inserted)
        }
        let last = await store.stamp(github)
        #expect(await store.stamp(github) == last)
        try await store.remove(github)
        #expect(await store.stamp(github) == nil)
    }

    @Test func `notes are kept beside the logins and are no logins`() async throws {
        #expect(await store.note("status-github") == nil)
        try await store.saveNote("status-github", ["since": 5])
        try await store.saveNote("status-github", ["since": 6])
        #expect(await store.note("status-github") == ["since": 6])
        #expect(try await store.list().isEmpty)
        #expect(mode(scratch.file("status-github.note")) == 0o600)
        write("garbage", to: scratch.file("status-github.note"))
        #expect(await store.note("status-github") == nil)
    }
}

@Suite struct `Damaged record` {
    private let scratch = Scratch()
    private var file: String { scratch.file("github.json") }

    private func prepare() async throws {
        try await scratch.store.save(sampleLogin(), github)
        unlink(file)
    }

    private func expectSetAside(_ content: String?) async throws {
        await #expect(throws: StoreError.self) { try await scratch.store.load(github) }
        try await scratch.store.save(sampleLogin("AT9"), github)
        #expect(try await scratch.store.load(github)?.access == "AT9")
        let aside = names(scratch.state).filter { $0.hasPrefix("github.json.corrupt-") }
        #expect(aside.count == 1)
        if let content, let name = aside.first { #expect(contents(scratch.file(name)) == content) }
    }

    @Test(arguments: [#"{"access_token":"A"},garbage"#, "", "\u{0}\u{0}", "{\"version\":1"])
    func `is kept aside before a new one is written`(content: String) async throws {
        try await prepare()
        write(content, to: file)
        try await expectSetAside(content)
    }

    @Test func `may be a gigabyte of nothing, which is not read`() async throws {
        try await prepare()
        write("", to: file)
        truncate(file, 1 << 30)
        await #expect(
            throws: StoreError.damaged(path: file, .tooLarge(bytesMax: 1 << 20))
        ) { try await scratch.store.load(github) }
        try await expectSetAside(nil)
    }

    @Test func `may be a directory or a pipe, which hangs nobody`() async throws {
        try await prepare()
        mkdir(file, 0o700)
        try await expectSetAside(nil)
        unlink(file)
        mkfifo(file, 0o600)
        await #expect(throws: StoreError.damaged(path: file, .notAFile)) {
            try await scratch.store.load(github)
        }
    }

    @Test func `two in one second are both kept`() async throws {
        try await prepare()
        for count in 1...3 {
            write("garbage", to: file)
            try await scratch.store.save(sampleLogin(), github)
            let aside = names(scratch.state).filter { $0.contains(".corrupt-") }
            #expect(aside.count == count)
        }
    }

    @Test func `of a later version is neither read nor replaced`() async throws {
        try await prepare()
        let content = #"{"version":7,"tokens":["x"]}"#
        write(content, to: file)
        let error = StoreError.newerVersion(path: file, version: 7)
        await #expect(throws: error) { try await scratch.store.load(github) }
        await #expect(throws: error) { try await scratch.store.save(sampleLogin(), github) }
        #expect(contents(file) == content)
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }
}

@Suite struct `Refused file` {
    private let scratch = Scratch()
    private var file: String { scratch.file("github.json") }

    /// Neither read nor written, and nothing left beside it.
    private func expectRefused(_ problem: StoreError.Problem, hint: String) async throws {
        let before = names(scratch.state)
        let expected = StoreError.refused(path: file, problem)
        await #expect(throws: expected) { try await scratch.store.load(github) }
        await #expect(throws: expected) { try await scratch.store.save(sampleLogin("B"), github) }
        #expect(expected.hint == hint)
        #expect(names(scratch.state) == before)
    }

    @Test func `is a symbolic link, even to a record of ours`() async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        let target = scratch.path + "/target"
        rename(file, target)
        symlink(target, file)
        let content = contents(target)
        try await expectRefused(.symbolicLink, hint: "rm \(file)")
        #expect(contents(target) == content)
    }

    @Test(arguments: [mode_t(0o640), 0o604, 0o660, 0o666, 0o610])
    func `is open to others`(mode: mode_t) async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        chmod(file, mode)
        try await expectRefused(.looseMode(UInt32(mode)), hint: "chmod go-rwx \(file)")
    }

    @Test(.enabled(if: geteuid() == 0)) func `belongs to another user`() async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        chown(file, 12345, 0)
        try await expectRefused(.foreignOwner(uid: 12345, ours: 0), hint: "chown 0 \(file)")
    }

    @Test func `is a directory that others can enter`() async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        chmod(scratch.state, 0o755)
        let error = StoreError.refused(path: scratch.state, .looseMode(0o755))
        await #expect(throws: error) { try await scratch.store.load(github) }
        await #expect(throws: error) { try await scratch.store.save(sampleLogin(), github) }
        await #expect(throws: error) { try await scratch.store.list() }
        #expect(error.hint == "chmod go-rwx \(scratch.state)")
    }

    @Test(.enabled(if: geteuid() == 0)) func `is a directory of another user`() async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        chown(scratch.state, 12345, 0)
        await #expect(
            throws: StoreError.refused(path: scratch.state, .foreignOwner(uid: 12345, ours: 0))
        ) { try await scratch.store.load(github) }
    }

    @Test func `is no directory at all`() async throws {
        mkdir(scratch.path + "/state", 0o700)
        write("", to: scratch.state)
        await #expect(throws: StoreError.refused(path: scratch.state, .notADirectory)) {
            try await scratch.store.save(sampleLogin(), github)
        }
    }

    @Test func `is not a directory that the user chose to link elsewhere`() async throws {
        let elsewhere = scratch.path + "/elsewhere"
        mkdir(elsewhere, 0o700)
        mkdir(scratch.path + "/state", 0o700)
        symlink(elsewhere, scratch.state)
        try await scratch.store.save(sampleLogin("A"), github)
        #expect(names(elsewhere) == ["github.json", "github.lock"])
    }

    @Test func `is a lock that is a link`() async throws {
        try await scratch.store.save(sampleLogin("A"), github)
        let lock = scratch.file("github.lock")
        unlink(lock)
        symlink(scratch.path + "/planted", lock)
        await #expect(throws: StoreError.refused(path: lock, .symbolicLink)) {
            try await scratch.store.save(sampleLogin(), github)
        }
        #expect(names(scratch.path) == ["state"])
    }

    @Test(arguments: [("/a/b.json", "/a/b.json"), ("/a b", "'/a b'"), ("it's", #"'it'\''s'"#)])
    func `has a path that a shell takes for one word`(path: String, quoted: String) {
        #expect(shellQuoted(path) == quoted)
    }
}
