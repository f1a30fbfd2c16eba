import Bytes
import Crossing
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Control plane` {
    /// A worker's mailbox, read by polling.
    private final class Worker: Sendable {
        let mailbox = Mailbox<ToWorker> {}
        private let seen = Mutex<[ToWorker]>([])

        /// Everything so far, as text.
        var heard: [String] {
            let fresh = mailbox.takeAll()
            let all = seen.withLock { seen in
                seen += fresh
                return seen
            }
            return all.map { message in
                switch message {
                case .credential(let update):
                    "\(update.slot.index) \(update.generation.count) "
                        + (update.line.map(reveal) ?? "none")
                case .refused(let slot, let newerThan, let refusal):
                    "\(slot.index) refused \(newerThan.count) \(refusal.isLoginRequired)"
                default: "?"
                }
            }
        }
    }

    @Test func `publishes to all workers and answers who asks`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save()
        let file = try ground.directory.write("static\n", to: "token")
        let plane = ControlPlane(
            [
                CredentialSettings(id: github, kind: .oauth(Ground.settings)),
                CredentialSettings(
                    id: CredentialID("static")!, kind: .fixed(.file(path: file)),
                    injection: Injection(field: "X-Api-Key", prefix: "")),
                CredentialSettings(id: CredentialID("none")!, kind: .oauth(Ground.settings)),
            ], person: .absent, in: ground.surroundings)
        let workers = [Worker(), Worker()]
        let (messages, up) = AsyncStream.makeStream(of: ToControl.self)
        let running = Task {
            await plane.run(messages: messages, workers: workers.map(\.mailbox))
        }
        let line = "Authorization: Bearer AT1\r\n"
        for worker in workers {
            try await eventually("it heard of both") {
                Set(worker.heard) == ["0 1 \(line)", "1 1 X-Api-Key: static\r\n"]
            }
        }
        // A 401 in one worker.
        up.yield(.need(CredentialSlot(0), newerThan: Generation(1), worker: 1))
        for worker in workers {
            try await eventually("it heard of the new one") {
                worker.heard.contains("0 2 Authorization: Bearer AT2\r\n")
            }
        }
        up.yield(.need(CredentialSlot(2), newerThan: .none, worker: 0))
        try await eventually("it was refused") {
            workers[0].heard.contains("2 refused 0 true")
        }
        #expect(!workers[1].heard.contains("2 refused 0 true"))
        // Nonsense changes nothing.
        up.yield(.need(CredentialSlot(9), newerThan: .none, worker: 0))
        up.yield(.need(CredentialSlot(0), newerThan: .none, worker: 9))
        up.finish()
        await running.value
    }

    @Test func `ends without losing a refresh that runs`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .tokens("AT2", refresh: "RT2")
            })
        try await ground.save(secondsLeft: -1)
        let plane = ControlPlane(
            [CredentialSettings(id: github, kind: .oauth(Ground.settings))], person: .absent,
            in: ground.surroundings)
        let (messages, up) = AsyncStream.makeStream(of: ToControl.self)
        let running = Task { await plane.run(messages: messages, workers: [Worker().mailbox]) }
        try await eventually("the refresh began") { ground.fetcher.count == 1 }
        up.finish()
        running.cancel()
        gate.open()
        await running.value
        #expect(try await ground.store.load(github)?.refresh == "RT2")
    }

    @Test func `shows no secret at any level`() async throws {
        // Requirement 22
        let canaries = ["canary-access", "canary-refresh", "canary-secret", "canary-fresh"]
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(
            ScriptedFetcher { _, number in
                switch number {
                case 1:
                    .json(
                        400,
                        #"{"error":"x canary-refresh","error_description":"canary-refresh canary-secret"}"#
                    )
                case 2:
                    .json(200, #"{"access_token":"canary\naccess","refresh_token":"canary-fresh"}"#)
                case 3: .success(.init(status: 400, body: SecretBytes("canary-secret")))
                default: .error("invalid_grant")
                }
            }, log: log)
        try ground.directory.write("canary-secret", to: "secret")
        var settings = Ground.settings
        settings.clientSecret = .file(path: ground.directory.path("secret"))
        settings.clientAuthentication = .post
        try await ground.save("canary-access", refresh: "canary-refresh", secondsLeft: -10)
        let desk = ground.desk(settings)
        let keeper = ground.keeper(settings, desk: desk)
        var told = ""
        for _ in 0..<5 {
            do throws(Refusal) { _ = try await keeper.text() } catch { told += "\(error)" }
            ground.clock.advance(seconds: 400)
        }
        await desk.close()
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(settings)))
        told += "\(status)" + JSONWriter.redactedText(status.document)
        told += try messages()
        #expect(told.contains("login required"))
        for canary in canaries { #expect(!told.contains(canary)) }
        for note in Files.list(ground.directory.path("state")) where note.hasSuffix(".note") {
            let text = try #require(
                try Files.read(ground.directory.path("state/" + note))
            ).text
            for canary in canaries { #expect(!text.contains(canary)) }
        }
    }

    private func fixed(_ name: String, _ file: String) -> CredentialSettings {
        CredentialSettings(id: CredentialID(name)!, kind: .fixed(.file(path: file)))
    }

    @Test func `keeps what another configuration has as well, in the slot that it had`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save()
        let files = try ["one", "two", "three"].map {
            try ground.directory.write(Octets($0), to: $0)
        }
        let login = CredentialSettings(id: github, kind: .oauth(Ground.settings))
        let plane = ControlPlane(
            [fixed("one", files[0]), login], person: .absent, in: ground.surroundings)
        let worker = Worker()
        let (messages, up) = AsyncStream.makeStream(of: ToControl.self)
        let running = Task { await plane.run(messages: messages, workers: [worker.mailbox]) }
        try await eventually("it heard of both") { worker.heard.count == 2 }
        // Another order, another file behind the name, and one more.
        let slots = await plane.replace([
            login, fixed("one", files[1]), fixed("three", files[2]),
        ])
        #expect(slots == [CredentialSlot(1), CredentialSlot(2), CredentialSlot(3)])
        try await eventually("it heard of the new ones") {
            Set(worker.heard.suffix(2)) == [
                "2 1 Authorization: Bearer two\r\n", "3 1 Authorization: Bearer three\r\n",
            ]
        }
        #expect(ground.fetcher.count == 0, "nothing was asked for again")
        // A request that began with the old one still gets it: its slot is nobody else's.
        up.yield(.need(CredentialSlot(0), newerThan: .none, worker: 0))
        try await eventually("it got the old one") {
            worker.heard.last == "0 1 Authorization: Bearer one\r\n"
        }
        #expect(await plane.replace([login]) == [CredentialSlot(1)])
        #expect(
            await plane.replace([login, fixed("one", files[1])])
                == [CredentialSlot(1), CredentialSlot(4)], "what has gone comes back anew")
        up.finish()
        await running.value
    }

    @Test func `saves the refresh under way of a credential that goes`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .tokens("AT2", refresh: "RT2")
            })
        try await ground.save(secondsLeft: -1)
        let plane = ControlPlane(
            [CredentialSettings(id: github, kind: .oauth(Ground.settings))], person: .absent,
            in: ground.surroundings)
        let worker = Worker()
        let (messages, up) = AsyncStream.makeStream(of: ToControl.self)
        let running = Task { await plane.run(messages: messages, workers: [worker.mailbox]) }
        up.yield(.need(CredentialSlot(0), newerThan: .none, worker: 0))
        try await eventually("the refresh began") { ground.fetcher.count == 1 }
        #expect(await plane.replace([]) == [])
        gate.open()
        try await eventually("who waited has it") {
            worker.heard.contains("0 1 Authorization: Bearer AT2\r\n")
                || worker.heard.contains("0 2 Authorization: Bearer AT2\r\n")
        }
        #expect(try await ground.store.load(github)?.refresh == "RT2")
        // Later nobody can have begun with it any more, and it is gone.
        try await eventually("it is taken back") {
            // Its keeper may still be at its end, and begins to wait behind it.
            ground.clock.advance(seconds: 601)
            return worker.heard.contains { $0.hasSuffix("none") }
        }
        up.yield(.need(CredentialSlot(0), newerThan: Generation(.max), worker: 0))
        try await eventually("it is refused") {
            worker.heard.contains { $0.hasPrefix("0 refused") }
        }
        up.finish()
        await running.value
    }
}
