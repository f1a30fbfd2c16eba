import Bytes
import Glibc
import Support
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
