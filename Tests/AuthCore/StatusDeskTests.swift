import Bytes
import Crossing
import Glibc
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Status` {
    private func status(
        _ ground: Ground, _ kind: CredentialSettings.Kind = .oauth(Ground.settings)
    ) async -> CredentialStatus {
        await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: kind))
    }

    @Test func `tells usable, renewable and login required apart`() async throws {
        let ground = try Ground()
        var status = await status(ground)
        #expect(status.state == .loginRequired)
        #expect(status.hint == "proxy login github")
        try await ground.save(secondsLeft: 200)
        status = await self.status(ground)
        #expect(status.state == .usable)
        #expect(status.expiresAt == ground.now.advanced(by: 200))
        #expect(status.nextRefreshAt == ground.now.advanced(by: 170))
        #expect(status.isRenewable)
        ground.clock.advance(seconds: 200)
        #expect(await self.status(ground).state == .renewable)
        try await ground.save(refresh: nil, secondsLeft: -1)
        #expect(await self.status(ground).state == .loginRequired)
        var dead = ground.login(secondsLeft: -1)
        dead.rejection = Login.Rejection(code: "invalid_grant", at: ground.now)
        try await ground.store.save(dead, github)
        status = await self.status(ground)
        #expect(status.state == .loginRequired)
        #expect(status.detail?.contains("invalid_grant") == true)
        #expect(!status.isRenewable)
    }

    @Test func `tells what is wrong with the store and how to mend it`() async throws {
        let ground = try Ground()
        try await ground.save()
        chmod(ground.record, 0o640)
        var status = await status(ground)
        #expect(status.state == .unavailable)
        #expect(status.hint == "chmod go-rwx \(ground.record)")
        chmod(ground.record, 0o600)
        try Files.write("garbage", to: ground.record)
        status = await self.status(ground)
        #expect(status.state == .loginRequired)
        #expect(status.detail?.contains(ground.record) == true)
    }

    @Test func `forgets a failure that somebody else has mended`() async throws {
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(ScriptedFetcher([.error("invalid_grant")]), log: log)
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        await #expect(throws: Refusal.self) { try await keeper.text() }
        try await eventually("it is noted") { await status(ground).failingSince != nil }
        #expect(await status(ground).lastError == "login required (invalid_grant)")
        try await ground.save("AT2")
        #expect(try await keeper.text() == "AT2")
        try await eventually("it is forgotten") { await status(ground).failingSince == nil }
        #expect(try messages().contains("credential is usable again"))
    }

    @Test func `forgets with a new start what the last one saw`() async throws {
        let ground = try Ground(ScriptedFetcher([.page(503)]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        await #expect(throws: Refusal.self) { try await keeper.text() }
        try await eventually("it is noted") { await status(ground).failingSince != nil }
        // A command beside it changes nothing.
        await #expect(throws: Refusal.self) { try await ground.keeper().text() }
        #expect(await status(ground).failingSince != nil)
        try await ground.save("AT2")
        let running = Task { await ground.keeper().run() }
        defer { running.cancel() }
        try await eventually("it is forgotten") { await status(ground).failingSince == nil }
    }

    @Test func `of a token file that is missing is logged once`() async throws {
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(log: log)
        let path = ground.directory.path("token")
        let keeper = ground.keeper(FixedSource(.file(path: path), in: ground.surroundings))
        for _ in 0..<3 { await #expect(throws: Refusal.self) { try await keeper.text() } }
        #expect(try messages().components(separatedBy: path).count == 2)
        try ground.directory.write("token", to: "token")
        #expect(try await keeper.text() == "token")
        try await eventually("that is logged too") {
            try messages().contains("credential is usable again")
        }
    }

    @Test func `of what cannot be written is told in this process, and written once it can be`()
        async throws
    {
        let isFull = Mutex(true)
        let create = FileCalls.system.create
        var calls = FileCalls.system
        calls.create = { directory, name in
            guard isFull.withLock({ $0 }) else { return create(directory, name) }
            errno = EROFS
            return -1
        }
        let (messages, log) = try Ground.logFile()
        let ground = try Ground(calls: calls, log: log)
        let other = try Ground(sharing: ground)
        let command = CredentialSettings.Kind.command(["x"], lifetimeSeconds: nil)
        let path = ground.directory.path("token")
        let keeper = ground.keeper(FixedSource(.file(path: path), in: ground.surroundings))
        for _ in 0..<2 {
            await #expect(throws: Refusal.self) { try await keeper.text() }
            try await eventually("it is told") {
                await status(ground, command).state == .unavailable
            }
            try ground.directory.write("token", to: "token")
            let generation = try await keeper.credential(newerThan: .none).generation
            try await eventually("it is forgotten") {
                await status(ground, command).state == .renewable
            }
            remove(path)
            await #expect(throws: Refusal.self) {
                try await keeper.credential(newerThan: generation)
            }
        }
        #expect(try messages().components(separatedBy: "status cannot be kept").count == 2)
        #expect(await status(other, command).state == .renewable)
        isFull.withLock { $0 = false }
        try ground.directory.write("token", to: "token")
        _ = try await keeper.text()
        remove(path)
        await #expect(throws: Refusal.self) {
            try await keeper.credential(newerThan: Generation(1000))
        }
        try await eventually("others are told") {
            await status(other, command).state == .unavailable
        }
    }

    @Test func `of a machine's token that cannot be written is usable until it ends`() async throws
    {
        let settings = Ground.settings(of: .clientCredentials)
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT1"), .error("invalid_client", status: 401)]),
            calls: .readOnly, environment: ["CLIENT_SECRET": "canary-client"])
        let keeper = ground.machineKeeper(settings)
        #expect(await status(ground, .oauth(settings)).state == .renewable)
        #expect(try await keeper.text() == "AT1")
        let status = await status(ground, .oauth(settings))
        #expect(status.state == .usable)
        #expect(status.expiresAt == ground.now.advanced(by: 300))
        ground.clock.advance(seconds: 301)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        try await eventually("its failure is told") {
            await self.status(ground, .oauth(settings)).state == .misconfigured
        }
    }

    @Test func `of a login that was just removed is not usable, whoever still has its token`()
        async throws
    {
        let ground = try Ground()
        try await ground.save()
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT1")
        unlink(ground.record)
        #expect(await status(ground).state == .loginRequired)
        #expect(await status(ground).hint == "proxy login github")
    }

    @Test func `of a static token says whether there is one`() async throws {
        let ground = try Ground()
        let path = ground.directory.path("token")
        #expect(await status(ground, .fixed(.file(path: path))).state == .unavailable)
        try ground.directory.write("canary-token", to: "token")
        let status = await status(ground, .fixed(.file(path: path)))
        #expect(status.state == .usable)
        #expect(!JSONWriter.redactedText(status.document).contains("canary"))
        #expect(
            await self.status(ground, .command(["x"], lifetimeSeconds: nil)).state == .renewable)
    }

    @Test func `as JSON shows facts and no secret`() async throws {
        let ground = try Ground()
        var login = ground.login("canary-access", refresh: "canary-refresh")
        login.idToken = SecretBytes(
            "e30.\(base64URL(#"{"iss":"https://login.example.com","sub":"alice"}"#)).Y2FuYXJ5")
        login.extras = JSONObject([.init(name: "device_secret", value: "canary-extra")])
        login.scope = "openid api"
        try await ground.store.save(login, github)
        let document = await status(ground).document
        let text = JSONWriter.write(document).withBytes { String(decoding: $0, as: UTF8.self) }
        #expect(!text.contains("canary"))
        #expect(document.asObject?["state"] == "usable")
        #expect(document.asObject?["subject"] == "alice")
        #expect(document.asObject?["scope"] == "openid api")
        #expect(document.asObject?["extras"] == ["device_secret"])
    }
}
