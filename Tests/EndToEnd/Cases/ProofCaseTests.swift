// DPoP from the login to the API, with the real binary between strict servers (RFC 9449; oauth.md F73 to
// F76; reports I60, I62).

import Support
import Testing

/// A provider and an API that take nothing without a proof, and hand out nonces.
private struct BoundSetup {
    let login: LoginSetup
    let api: ProofCheck
    var server: FakeAuthorizationServer { login.server }

    init(
        asNonceUses: Int? = 1000, apiNonceUses: Int? = 1000, pushes: Bool = false,
        workers: Int = 1,
        _ change: (inout FakeAuthorizationServer.Policy) -> Void = { _ in }
    ) throws {
        var policy = FakeAuthorizationServer.Policy()
        policy.proofs = .init(isRequired: true, nonceUses: asNonceUses)
        policy.sessions.announcesPushing = pushes
        change(&policy)
        let server = try FakeAuthorizationServer(policy)
        let check = ProofCheck("rs", nonceUses: apiNonceUses)
        api = check
        login = try LoginSetup(
            server, FakeUpstream(protectedBy: server, checking: check),
            credential: ["dpop: true"] + (pushes ? ["par: true"] : []),
            settings: ["workers: \(workers)"])
    }

    /// Every proof that was found good, wherever.
    var proofs: [CheckedProof] { server.proofs.proofs + api.proofs }

    /// The record as if its nonces were an hour old.
    func ageNonces() throws {
        let path = login.home.loginFile()
        let text = try #require(try Files.read(path)).text
        let parts = text.components(separatedBy: "\"at\": ")
        let aged = parts.dropFirst().map { "\"at\": 1" + $0.drop { $0.isNumber } }
        try Files.write(Octets((parts[0] + aged.joined()).utf8), to: path)
    }
}

@Suite(.ownThread) struct `DPoP with the real binary` {
    @Test func `one key from login to API, over refreshes and restarts (F73, F74, F75)`() throws {
        let setup = try BoundSetup()
        try setup.login.logIn()
        do {
            let proxy = try setup.login.home.serve()
            #expect(try proxy.exchange("GET", "/a%2Fb?x=/y").status == 200)
            #expect(try proxy.exchange("POST", "/c", body: "the body").status == 200)
            // The token goes, the key stays.
            setup.server.revokeAccessTokens()
            #expect(try proxy.exchange("GET", "/d").status == 200)
            try proxy.stop()
        }
        let proxy = try setup.login.home.serve()
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange("GET", "/e").status == 200)
        #expect(setup.server.refreshRequests.compactMap(\.refreshToken).count == 2)
        #expect(setup.server.reuses == 0)
        #expect(Set(setup.proofs.map(\.thumbprint)).count == 1)
        #expect(setup.server.proofs.proofs.allSatisfy { $0.nonce?.hasPrefix("as-") == true })
        #expect(setup.api.proofs.allSatisfy { $0.nonce?.hasPrefix("rs-") == true })
        let jkt = try #require(setup.server.authorizations.first?["dpop_jkt"])
        #expect(setup.proofs.first?.thumbprint == jkt)
    }

    @Test func `the key is in the record and nowhere else (F90)`() throws {
        let setup = try BoundSetup()
        try setup.login.logIn()
        let proxy = try setup.login.home.serve()
        #expect(try proxy.exchange().status == 200)
        let record = try #require(try Files.read(setup.login.home.loginFile())).text
        let key = record.components(separatedBy: "\"dpop_key\": \"")
        try #require(key.count == 2)
        let secret = key[1].components(separatedBy: "\"")[0]
        #expect(secret.utf8.count > 100)
        for command in [["status"], ["status", "--json"], ["token"], ["token", "--header"]] {
            let result = try setup.login.home.run(command)
            #expect(result.status == 0, "\(result)")
            #expect(!result.output.contains(secret) && !result.error.contains(secret))
        }
        for text in setup.login.home.printed() { #expect(!text.text.contains(secret)) }
    }

    @Test func `a server that spends the refresh token before it asks for a nonce (F76, I60)`()
        throws
    {
        let setup = try BoundSetup(asNonceUses: 1) { $0.proofs.spendsBeforeNonce = true }
        try setup.login.logIn()
        #expect(setup.server.codeReuses == 0)
        for _ in 0..<3 {
            setup.server.revokeAccessTokens()
            setup.server.proofs.turn()
            try setup.ageNonces()
            let proxy = try setup.login.home.serve()
            #expect(try proxy.exchange().status == 200)
        }
        #expect(setup.server.reuses == 0)
        #expect(setup.server.refreshRequests.compactMap(\.refreshToken).count == 3)
    }

    @Test func `a pushed request is proven with the key that the code is bound to (RFC 9449 10.1)`()
        throws
    {
        let setup = try BoundSetup(asNonceUses: 1, pushes: true)
        try setup.login.logIn()
        #expect(try setup.login.home.serve().exchange().status == 200)
        #expect(Set(setup.proofs.map(\.thumbprint)).count == 1)
        // The pushed request, asked for its nonce once, taught the one for the code.
        #expect(setup.server.proofs.proofs.count == 2)
        #expect(setup.server.tokenRequests.count == 1)
    }

    @Test func `a Bearer token in its place ends the login attempt (F43)`() throws {
        let setup = try BoundSetup { $0.proofs.tokenType = "Bearer" }
        let result = try setup.login.home.run(["login", "--browser", setup.login.browser()])
        #expect(result.status != 0)
        #expect(result.error.contains("bound to no key"), "\(result)")
        #expect(!Files.exists(setup.login.home.loginFile()))
    }

    @Test func `tokens of others cannot be imported, and DPoP turned off wants a login`() throws {
        let setup = try BoundSetup()
        let result = try setup.login.home.run(
            ["import"], input: "{\"access_token\":\"AT\",\"token_type\":\"DPoP\"}\n")
        #expect(result.status == 1)
        #expect(result.error.contains("proxy login"), "\(result)")
    }

    @Test func `a hundred requests on two workers each carry a proof of their own (F52, F73)`()
        throws
    {
        let setup = try BoundSetup(workers: 2)
        try setup.login.logIn()
        let proxy = try setup.login.home.serve()
        let clients = try (0..<20).map { _ in try RawClient(to: proxy.port) }
        for _ in 0..<5 {
            for client in clients { try client.send(client.request()) }
            for client in clients {
                #expect(try client.stream.readResponse(to: "GET").status == 200)
            }
        }
        #expect(setup.api.proofs.count == 100)
        #expect(Set(setup.api.proofs.map(\.identifier)).count == 100)
        #expect(setup.server.refreshRequests.isEmpty)
    }
}
