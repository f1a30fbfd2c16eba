// The store through the binary: encrypted on request, full for a while, under a wrong key (issues I50 and
// I51 of the field; cases C082, C083).

import Glibc
import Support
import Testing

/// A login whose store is encrypted as the lines say.
private struct SealedSetup {
    static let key = "00112233445566778899aabbccddeeff00112233445566778899aabbccddee42"
    let setup: LoginSetup
    var home: ProxyHome { setup.home }

    init(_ store: (ProxyHome) throws -> String?) throws {
        setup = try LoginSetup()
        try write(store)
    }

    /// Another configuration in the place of the first.
    func write(_ store: (ProxyHome) throws -> String?) throws {
        let lines = try store(setup.home).map { ["store: \($0)"] } ?? []
        try home.write(
            configuration: YAML.short(
                upstream: setup.api.url,
                credential: [
                    "issuer: \(setup.server.issuer)",
                    "client_id: \(setup.server.policy.clientID)", "scopes: [api]",
                ], settings: lines))
    }

    static func keyFile(_ home: ProxyHome, _ key: String = key, as name: String = "key") throws
        -> String
    {
        let path = try home.directory.write(Octets("\(key)\n".utf8), to: "settings/\(name)")
        return "key: { file: \(YAML.quoted(path)) }"
    }

    var record: Octets? { get throws { try Files.read(home.loginFile()) } }

    /// Whether anything on disk shows a token.
    func showsTokens() throws -> Bool {
        let search = SecretSearch(setup.server.secrets)
        return try Files.walk(home.stateDirectory).contains { path in
            try Files.read(path).map { !search.found(in: $0).isEmpty } ?? false
        }
    }
}

@Suite(.ownThread) struct `Cases: encrypted store` {
    /// Where the key is, as the configuration names it.
    struct KeyPlace: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let environment: [String: String]
        let store: @Sendable (ProxyHome) throws -> String
    }

    static let places = [
        KeyPlace(testDescription: "a key in a file", environment: [:]) {
            "{ encrypt: { \(try SealedSetup.keyFile($0)) } }"
        },
        KeyPlace(
            testDescription: "a key in a variable", environment: ["STORE_KEY": SealedSetup.key]
        ) { _ in "{ encrypt: { key: { env: STORE_KEY } } }" },
        KeyPlace(testDescription: "a key from a program", environment: [:]) {
            let program = try $0.install("echo \(SealedSetup.key)", as: "give-key")
            return "{ encrypt: { key: { command: [\(YAML.quoted(program))] } } }"
        },
        KeyPlace(
            testDescription: "a passphrase", environment: ["STORE_WORDS": "correct horse battery"]
        ) { _ in "{ encrypt: { passphrase: { env: STORE_WORDS } } }" },
    ]

    @Test(arguments: places)
    func `a login lives as ever, and no token is on disk`(place: KeyPlace) throws {
        let sealed = try SealedSetup(place.store)
        let (setup, home) = (sealed.setup, sealed.home)
        let login = setup.server.makeLogin(scope: "api")
        let tokens =
            "{\"access_token\":\(jsonText(login.access)),\"expires_in\":-10,"
            + "\"refresh_token\":\(jsonText(login.refresh!))}"
        let imported = try home.run(
            ["import"], environment: place.environment, input: Octets(tokens))
        #expect(imported.status == 0, "\(imported)")
        #expect(try !sealed.showsTokens())
        let proxy = try home.serve(environment: place.environment)
        #expect(try proxy.exchange().status == 200)
        #expect(try !sealed.showsTokens())
        // Another process of the same key, then a restart.
        #expect(try home.run(["token"], environment: place.environment).status == 0)
        try proxy.killNow()
        setup.server.revokeAccessTokens()
        #expect(try home.serve(environment: place.environment).exchange().status == 200)
        #expect(setup.server.reuses == 0)
        #expect(try !sealed.showsTokens())
        let printed = home.printed(byErrorStreamOnly: true)
        let search = SecretSearch([SealedSetup.key, "correct horse battery"])
        #expect(printed.allSatisfy { search.found(in: $0).isEmpty })
    }

    @Test func `a wrong key is reported, and costs nothing (I51)`() throws {
        let sealed = try SealedSetup { "{ encrypt: { \(try SealedSetup.keyFile($0)) } }" }
        try sealed.setup.importLogin()
        let before = try sealed.record
        let wrong = String(SealedSetup.key.reversed())
        let keys: [(ProxyHome) throws -> String?] = [
            { "{ encrypt: { \(try SealedSetup.keyFile($0, wrong, as: "wrong")) } }" },
            { _ in "{ encrypt: { passphrase: { command: [echo, guess] } } }" },
            { _ in nil },
        ]
        for key in keys {
            try sealed.write(key)
            let status = try sealed.home.run(["status"])
            #expect(status.status == 1, "\(status)")
            #expect(status.output.contains("encrypted"), "\(status)")
            #expect(status.output.contains(sealed.home.loginFile()), "\(status)")
            let answer = try sealed.home.serve().exchange()
            #expect(answer.isOurs(503, "credential_unavailable"), "\(answer)")
            let login = try sealed.home.run(["login", "--browser", sealed.setup.browser()])
            #expect(login.status == 1, "\(login)")
            #expect(login.error.contains("encrypted"), "\(login)")
            #expect(try sealed.record == before)
        }
        #expect(
            !Files.list(sealed.home.stateDirectory).contains { $0.contains("corrupt") },
            "nothing is set aside")
        // With the right key all is well again.
        try sealed.write { "{ encrypt: { \(try SealedSetup.keyFile($0)) } }" }
        #expect(try sealed.home.serve().exchange().status == 200)
    }

    @Test func `a missing or malformed key is a matter of the configuration`() throws {
        let sealed = try SealedSetup { "{ encrypt: { \(try SealedSetup.keyFile($0)) } }" }
        try sealed.setup.importLogin()
        let before = try sealed.record
        for text in ["", "short", "canary-not-a-key-at-all-but-long-enough-to-be-looked-at-twice"] {
            try sealed.write { "{ encrypt: { \(try SealedSetup.keyFile($0, text)) } }" }
            let check = try sealed.home.run(["check"])
            #expect(check.status != 0, "\(check)")
            #expect(check.output.contains("settings/key"), "\(check)")
            #expect(!(check.output + check.error).contains("canary"))
            let token = try sealed.home.run(["token"])
            #expect(token.status == 1, "\(token)")
            #expect(try sealed.record == before)
        }
    }

    @Test func `plain becomes sealed and plain again, under a running proxy`() throws {
        let sealed = try SealedSetup { _ in nil }
        let (setup, home) = (sealed.setup, sealed.home)
        try setup.importLogin()
        #expect(try sealed.showsTokens())
        let refused = try home.run(["store", "encrypt"])
        #expect(refused.status == 78, "\(refused)")
        try sealed.write { "{ encrypt: { \(try SealedSetup.keyFile($0)) } }" }
        let proxy = try home.serve()
        #expect(try proxy.exchange().status == 200)
        let encrypted = try home.run(["store", "encrypt"])
        #expect(encrypted.status == 0, "\(encrypted)")
        #expect(encrypted.error.contains("1 file is encrypted"), "\(encrypted)")
        #expect(try !sealed.showsTokens())
        #expect(try proxy.exchange().status == 200)
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange().status == 200)
        #expect(try !sealed.showsTokens())
        try proxy.stop()

        try sealed.write { "{ decrypt: { \(try SealedSetup.keyFile($0)) } }" }
        let reader = try home.serve()
        #expect(try reader.exchange().status == 200)
        let decrypted = try home.run(["store", "decrypt"])
        #expect(decrypted.status == 0, "\(decrypted)")
        #expect(try sealed.showsTokens())
        try sealed.write { _ in nil }
        setup.server.revokeAccessTokens()
        #expect(try home.serve().exchange().status == 200)
        #expect(setup.server.reuses == 0)
    }

    @Test func `a key is replaced by the next refresh`() throws {
        let other = String(SealedSetup.key.reversed())
        let sealed = try SealedSetup { "{ encrypt: { \(try SealedSetup.keyFile($0)) } }" }
        try sealed.setup.importLogin(expiresIn: -10)
        try sealed.write { home in
            let old = try SealedSetup.keyFile(home)
            let new = try SealedSetup.keyFile(home, other, as: "new")
            return "{ encrypt: { \(new) }, decrypt: { \(old) } }"
        }
        #expect(try sealed.home.serve().exchange().status == 200)
        try sealed.write { "{ encrypt: { \(try SealedSetup.keyFile($0, other, as: "new")) } }" }
        sealed.setup.server.revokeAccessTokens()
        #expect(try sealed.home.serve().exchange().status == 200)
        #expect(sealed.setup.server.reuses == 0)
    }
}

@Suite(.ownThread) struct `Cases: full store` {
    /// Lets no file of the process grow beyond so much, as a full disk would: writes fail
    /// (prlimit(1), setrlimit(2)).
    private func limitFiles(of proxy: ProxyProcess, to bytes: String) throws {
        let command = try ChildProcess(
            [
                "/usr/bin/prlimit", "--pid", "\(proxy.child.identifier)", "--fsize=\(bytes):",
            ], environment: [:], directory: "/")
        guard try command.waitForEnd() == .exited(0) else {
            throw Failure.ended(command.printed(.error).text)
        }
    }

    @Test func `keeps the new token, writes it later, and never spends the old one (C082, I50)`()
        throws
    {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let before = try Files.read(setup.home.loginFile())
        let proxy = try setup.home.serve()
        try limitFiles(of: proxy, to: "0")
        for count in 1...3 {
            #expect(try proxy.exchange().status == 200)
            #expect(setup.server.refreshRequests.count == count)
            #expect(try Files.read(setup.home.loginFile()) == before)
            setup.server.revokeAccessTokens()
        }
        #expect(setup.server.reuses == 0)
        #expect(proxy.log.contains("login store has a problem"))
        try limitFiles(of: proxy, to: "unlimited")
        try waited(for: "the login to be written", within: .seconds(40)) {
            let record = try Files.read(setup.home.loginFile())
            return setup.server.liveRefreshTokens.contains {
                record?.contains(Octets($0)) == true
            } ? () : nil
        }
        // On disk is what a restart goes on with.
        try proxy.killNow()
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.reuses == 0)
        #expect(Set(setup.server.refreshRequests.map(\.refreshToken)).count == 4)
    }

    @Test func `saves what it holds before it ends`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        let proxy = try setup.home.serve()
        try limitFiles(of: proxy, to: "0")
        #expect(try proxy.exchange().status == 200)
        try limitFiles(of: proxy, to: "unlimited")
        try proxy.stop()
        let record = try #require(try Files.read(setup.home.loginFile()))
        #expect(setup.server.liveRefreshTokens.contains { record.contains(Octets($0)) })
    }
}

@Suite(.ownThread) struct `Cases: end during a refresh` {
    @Test func `a token request is waited for beyond the grace period, and saved (C109)`() throws {
        let setup = try LoginSetup(settings: ["shutdown: { grace: 100ms }"])
        try setup.importLogin(expiresIn: -10)
        setup.server.set { $0.tokenDelay = .seconds(2) }
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        #expect(try proxy.stop() == .exited(0))
        let record = try #require(try Files.read(setup.home.loginFile()))
        #expect(setup.server.liveRefreshTokens.contains { record.contains(Octets($0)) })
    }

    @Test func `a second signal ends it at once`() throws {
        let setup = try LoginSetup(settings: ["shutdown: { grace: 100ms }"])
        try setup.importLogin(expiresIn: -10)
        setup.server.failAlways(.silence)
        let proxy = try setup.home.serve()
        let client = try proxy.connect()
        try client.send(client.request())
        try waited(for: "the refresh") { setup.server.refreshRequests.isEmpty ? nil : () }
        proxy.child.kill(SIGTERM)
        try proxy.waitForLog("ending")
        let start = ContinuousClock.now
        proxy.child.kill(SIGTERM)
        _ = try proxy.child.waitForEnd(within: .seconds(10))
        #expect(ContinuousClock.now - start < .seconds(5))
    }
}

@Suite(.ownThread) struct `Cases: proxy refresh` {
    @Test func `refreshes what is due, and all with --force (F57, I45, I74)`() throws {
        let setup = try LoginSetup()
        try setup.importLogin()
        let fresh = try setup.home.run(["refresh"])
        #expect(fresh.status == 0 && fresh.error.contains("is fresh"), "\(fresh)")
        #expect(setup.server.refreshRequests.isEmpty)
        let forced = try setup.home.run(["refresh", "--force"])
        #expect(forced.status == 0 && forced.error.contains("refreshed"), "\(forced)")
        #expect(forced.error.contains("before"), "\(forced)")
        #expect(setup.server.refreshRequests.count == 1)
        let json = try setup.home.run(["refresh", "--force", "--json"])
        #expect(json.output.contains("\"refreshed\":true"), "\(json)")
        #expect(setup.server.refreshRequests.count == 2)
        // A running proxy takes it over.
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.refreshRequests.count == 2)
        #expect(setup.server.reuses == 0)
    }

    @Test func `refreshes an expired login once`() throws {
        let setup = try LoginSetup()
        try setup.importLogin(expiresIn: -10)
        for arguments in [["refresh", "--force"], ["refresh"]] {
            #expect(try setup.home.run(arguments).status == 0)
            #expect(setup.server.refreshRequests.count == 1)
        }
    }

    @Test func `tells the kinds of failure apart`() throws {
        let setup = try LoginSetup()
        try setup.importLogin()
        for (fault, code) in [
            (TokenFault.unavailable, Int32(1)), (.error(401, "invalid_client"), 78),
            (.error(403, "access_denied"), 4), (.error(400, "invalid_grant"), 3),
        ] {
            setup.server.failAlways(fault)
            let result = try setup.home.run(["refresh", "--force"])
            #expect(result.status == code, "\(result)")
        }
        // The grant is gone and the token was good: it goes on until it expires.
        let status = try setup.home.run(["status"])
        #expect(status.output.contains("invalid_grant"), "\(status)")
    }
}
