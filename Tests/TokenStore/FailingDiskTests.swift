import Bytes
import Synchronization
import Testing
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A system call that a save makes.
enum Step: String, CaseIterable, Sendable {
    case write, synchronize, rename, synchronizeDirectory
}

extension FileCalls {
    /// The system's own calls, but `act` stands before one of them and may make it fail.
    static func intercepting(_ step: Step, _ act: @escaping @Sendable () -> Bool) -> FileCalls {
        var calls = FileCalls.system
        let isDirectory: @Sendable (Int32) -> Bool = { descriptor in
            var status = stat()
            fstat(descriptor, &status)
            return status.st_mode & S_IFMT == S_IFDIR
        }
        switch step {
        case .write:
            let write = calls.write
            calls.write = { act() ? write($0, $1, $2, $3) : -1 }
        case .synchronize, .synchronizeDirectory:
            let synchronize = calls.synchronize
            calls.synchronize = { descriptor in
                isDirectory(descriptor) == (step == .synchronizeDirectory) && !act()
                    ? -1 : synchronize(descriptor)
            }
        case .rename:
            let rename = calls.rename
            calls.rename = { act() ? rename($0, $1, $2) : -1 }
        }
        return calls
    }

    static func failing(_ step: Step, _ code: Int32) -> FileCalls {
        intercepting(step) {
            errno = code
            return false
        }
    }
}

@Suite struct `Failing disk` {
    private let scratch = Scratch()
    private var file: String { scratch.file("github.json") }

    private func store(_ calls: FileCalls) -> FileLoginStore {
        FileLoginStore(directory: scratch.state, calls: calls)
    }

    @Test(arguments: [Step.write, .synchronize, .rename], [ENOSPC, EIO, EDQUOT])
    func `leaves the old record and no debris`(step: Step, code: Int32) async throws {
        try await scratch.store.save(sampleLogin("AT1"), github)
        let before = contents(file)
        let error = await #expect(throws: StoreError.self) {
            try await store(.failing(step, code)).save(sampleLogin("AT2"), github)
        }
        guard case .failed(_, _, code) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(contents(file) == before)
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `a directory that cannot be synchronised holds the new record`() async throws {
        await #expect(throws: StoreError.self) {
            try await store(.failing(.synchronizeDirectory, EIO)).save(sampleLogin(), github)
        }
        #expect(try await scratch.store.load(github)?.access == "AT1")
    }

    @Test func `a full disk is noticed before the refresh token is spent`() async throws {
        let held = try await store(.failing(.write, ENOSPC)).lock(github)
        await #expect(throws: StoreError.self) { try await held.reserve() }
        held.release()
        #expect(names(scratch.state) == ["github.lock"])
    }

    @Test func `short writes are continued`() async throws {
        var calls = FileCalls.system
        calls.write = { pwrite($0, $1, min($2, 7), off_t($3)) }
        let saved = try await store(calls).save(sampleLogin(), github)
        #expect(contents(file) == reveal(JSONWriter.write(saved.document, style: .indented)))
    }

    @Test func `interrupted calls are repeated`() async throws {
        for step in Step.allCases where step != .rename {
            let count = Mutex(0)
            let calls = FileCalls.intercepting(step) {
                errno = EINTR
                return count.withLock { count in
                    count += 1
                    return count % 2 == 0
                }
            }
            try await store(calls).save(sampleLogin("AT-\(step)"), github)
            #expect(try await scratch.store.load(github)?.access == "AT-\(step)")
        }
    }

    @Test func `a directory that cannot be written is reported as such`() async throws {
        try await scratch.store.save(sampleLogin("AT1"), github)
        Handover.give(scratch.state, scratch.path, as: "read-only")
        await #expect(processExitsWith: .success) {
            let words = Handover.take("read-only")
            let (state, parent) = (words[0], words[1])
            // Permissions do not bind root; an ordinary user's do.
            if geteuid() == 0 {
                for path in [parent, parent + "/state", state]
                    + names(state).map({ state + "/" + $0 })
                {
                    chown(path, 65534, 65534)
                }
                setuid(65534)
            }
            chmod(state, 0o500)
            let store = FileLoginStore(directory: state)
            guard try await store.load(github)?.access == "AT1" else { exit(1) }
            let held = try await store.lock(github)
            // The lock file is there, so it can be locked all the same.
            guard held.lockAbsence == nil else { exit(2) }
            do throws(StoreError) {
                try await held.reserve()
                exit(3)
            } catch {
                guard case .readOnly(state, EACCES) = error else { exit(4) }
            }
            do throws(StoreError) {
                try await held.save(sampleLogin("AT2"))
                exit(5)
            } catch {
                guard case .readOnly(state, EACCES) = error else { exit(6) }
            }
            held.release()
            guard try await store.load(github)?.access == "AT1" else { exit(7) }
            let fresh = FileLoginStore(directory: state + "/deeper/still")
            do throws(StoreError) {
                _ = try await fresh.lock(github)
                exit(8)
            } catch {
                guard case .readOnly = error else { exit(9) }
            }
            let other = try await store.lock(CredentialID("other")!)
            guard case .readOnly? = other.lockAbsence else { exit(10) }
            chmod(state, 0o700)
            exit(0)
        }
    }
}

@Suite struct `Killed writer` {
    private let scratch = Scratch()
    private var file: String { scratch.file("github.json") }

    @Test(.serialized, arguments: Step.allCases, [false, true])
    func `leaves the old record or the new one whole`(step: Step, reserving: Bool) async throws {
        try await scratch.store.save(sampleLogin("AT1", refresh: "RT1"), github)
        Handover.give(scratch.state, step.rawValue, "\(reserving)", as: "killed")
        await #expect(processExitsWith: .signal(SIGKILL)) {
            let words = Handover.take("killed")
            let (state, step, reserving) = (words[0], Step(rawValue: words[1])!, words[2] == "true")
            let isArmed = Mutex(!reserving)
            let calls = FileCalls.intercepting(step) {
                if isArmed.withLock({ $0 }) { kill(getpid(), SIGKILL) }
                return true
            }
            let held = try await FileLoginStore(directory: state, calls: calls).lock(github)
            if reserving { try await held.reserve() }
            isArmed.withLock { $0 = true }
            try await held.save(sampleLogin("AT2", refresh: "RT2"))
        }
        // Whoever only reads sees a whole record at once.
        let seen = try #require(try await scratch.store.load(github))
        #expect(["RT1", "RT2"].contains(seen.refresh))
        // Whoever wants to refresh gets the newest that reached the disk.
        let held = try await scratch.store.lock(github, timeoutMilliseconds: 0)
        let login = try #require(try await held.load())
        #expect(login.refresh == (step == .write ? "RT1" : "RT2"))
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `a beginning of a record is thrown away`() async throws {
        try await scratch.store.save(sampleLogin("AT1"), github)
        let whole = Array(contents(file)!.utf8)
        for (number, count) in stride(from: 0, to: whole.count - 2, by: 16).enumerated() {
            write(Array(whole[..<count]), to: scratch.file(".github.json.99-\(number).tmp"))
        }
        let held = try await scratch.store.lock(github)
        #expect(try await held.load()?.access == "AT1")
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `an older record that was left over does not come back`() async throws {
        try await scratch.store.save(sampleLogin("AT1"), github)
        write(contents(file)!, to: scratch.file(".github.json.99-1.tmp"))
        try await scratch.store.save(sampleLogin("AT2"), github)
        #expect(try await scratch.store.load(github)?.access == "AT2")
        #expect(names(scratch.state) == ["github.json", "github.lock"])
    }

    @Test func `the rest of another credential's writer is left alone`() async throws {
        try await scratch.store.save(sampleLogin("AT1"), github)
        let other = ".github.json-2.json.99-1.tmp"
        write("{}", to: scratch.file(other))
        try await scratch.store.save(sampleLogin("AT2"), github)
        #expect(names(scratch.state).contains(other))
    }
}
