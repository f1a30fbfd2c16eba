import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// What a request is told.
enum Told: String, Sendable {
    case unreachable, misconfigured, loginRequired, denied

    init?(_ refusal: Refusal) {
        switch refusal {
        case .tokenEndpointUnreachable: self = .unreachable
        case .credentialMisconfigured: self = .misconfigured
        case .loginRequired: self = .loginRequired
        case .loginDenied: self = .denied
        case .credentialUnavailable: return nil
        }
    }
}

struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let result: Result<InboundResponse, FetchError>
    let told: Told
    /// How often the refresh token is sent for one request.
    var attempts = 1

    init(
        _ name: String, _ result: Result<InboundResponse, FetchError>, _ told: Told,
        attempts: Int = 1
    ) {
        testDescription = name
        self.result = result
        self.told = told
        self.attempts = attempts
    }
}

@Suite struct `Failed refresh` {
    static let kept: [Answer] = [
        Answer("no such name", .failure(.nameNotResolved(host: "x")), .unreachable),
        Answer("refused", .failure(.connectionRefused(host: "x")), .unreachable),
        Answer("TLS", .failure(.tlsFailed(host: "x", reason: "y")), .unreachable),
        Answer("forward proxy", .failure(.forwardProxyFailed(reason: "y")), .unreachable),
        Answer("connect timeout", .failure(.timedOut(mayHaveArrived: false)), .unreachable),
        Answer("timeout", .failure(.timedOut(mayHaveArrived: true)), .unreachable, attempts: 2),
        Answer("reset", .failure(.brokenOff(mayHaveArrived: true)), .unreachable, attempts: 2),
        Answer("too large", .failure(.responseTooLarge(limit: 9)), .unreachable, attempts: 2),
        Answer("not HTTP", .failure(.notHTTP), .unreachable, attempts: 2),
        Answer("500", .page(500), .unreachable),
        Answer("502 with HTML", .page(502), .unreachable),
        Answer("503 with text", .page(503), .unreachable),
        Answer("503 that says invalid_grant", .error("invalid_grant", status: 503), .unreachable),
        Answer("500 that says invalid_client", .error("invalid_client", status: 500), .unreachable),
        Answer("408", .page(408), .unreachable),
        Answer("429 with HTML", .page(429), .unreachable),
        Answer("403 of a firewall", .page(403), .unreachable),
        Answer("404 during a deploy", .page(404), .unreachable),
        Answer("200 with HTML", .page(200), .unreachable),
        Answer("200 without a token", .json(200, "{}"), .unreachable),
        Answer("200 with an empty token", .json(200, #"{"access_token":""}"#), .unreachable),
        Answer(
            "200 with a token that breaks a header",
            .json(200, #"{"access_token":"a\r\nX: y"}"#), .unreachable),
        Answer("a redirect", .page(307, [("Location", "https://elsewhere.example")]), .unreachable),
        Answer("temporarily_unavailable", .error("temporarily_unavailable"), .unreachable),
        Answer("an unknown code", .error("invalid_refresh_token"), .unreachable),
        Answer(
            "400 without a body", .success(.init(status: 400, body: SecretBytes(""))), .unreachable),
        Answer("invalid_client", .error("invalid_client", status: 401), .misconfigured),
        Answer("unauthorized_client", .error("unauthorized_client"), .misconfigured),
        Answer("unsupported_grant_type", .error("unsupported_grant_type"), .misconfigured),
        Answer("invalid_request", .error("invalid_request"), .misconfigured),
        Answer("invalid_target", .error("invalid_target"), .misconfigured),
        Answer("invalid_scope", .error("invalid_scope"), .misconfigured),
        Answer(
            "incorrect_client_credentials", .error("incorrect_client_credentials", status: 200),
            .misconfigured),
        Answer("access_denied", .error("access_denied"), .denied),
    ]

    @Test(arguments: kept)
    func `leaves the store byte for byte as it was`(answer: Answer) async throws {
        let ground = try Ground(ScriptedFetcher([answer.result]))
        try await ground.save(secondsLeft: -10)
        let before = try ground.recordBytes()
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(Told(refusal) == answer.told)
        #expect(try ground.recordBytes() == before)
        #expect(ground.fetcher.spent == Array(repeating: "RT1", count: answer.attempts))
        // It is neither asked again by the next request nor forgotten.
        let second = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(Told(second) == answer.told)
        #expect(ground.fetcher.count == answer.attempts)
        // When the server is well again, so are we.
        ground.fetcher.answer { _, _ in .tokens("AT2") }
        ground.clock.advance(seconds: 301)
        #expect(try await keeper.text() == "AT2")
        #expect(try await ground.store.load(github)?.refresh == "RT1")
    }

    @Test(arguments: kept)
    func `does not stop a token that is still good`(answer: Answer) async throws {
        let ground = try Ground(ScriptedFetcher([answer.result]))
        try await ground.save(secondsLeft: 20)
        let before = try ground.recordBytes()
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it tried to refresh ahead") {
            ground.fetcher.count == answer.attempts
        }
        #expect(try await keeper.text() == "AT1")
        #expect(try ground.recordBytes() == before)
    }

    @Test(arguments: [
        Answer("invalid_grant", .error("invalid_grant"), .loginRequired),
        Answer("invalid_grant with 401", .error("invalid_grant", status: 401), .loginRequired),
        Answer("GitHub's", .error("bad_refresh_token", status: 200), .loginRequired),
        Answer("interaction", .error("interaction_required"), .loginRequired),
        Answer("consent", .error("consent_required"), .loginRequired),
    ])
    func `is final only by the provider's word, which is remembered`(answer: Answer) async throws {
        let ground = try Ground(ScriptedFetcher([answer.result]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(Told(refusal) == .loginRequired)
        let record = try #require(try await ground.store.load(github))
        #expect(record.rejection?.at == ground.now)
        // The tokens stay until another login works.
        #expect(record.access == "AT1")
        #expect(record.refresh == "RT1")
        // A dead refresh token is not spent again, by this process or the next.
        ground.clock.advance(seconds: 3600)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        await #expect(throws: Refusal.self) { try await ground.keeper().text() }
        #expect(ground.fetcher.count == 1)
    }

    @Test func `that is final leaves a good access token in use until it expires`() async throws {
        let ground = try Ground(ScriptedFetcher([.error("invalid_grant")]))
        try await ground.save(secondsLeft: 20)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("the login is marked") {
            try await ground.store.load(github)?.rejection != nil
        }
        let credential = try await keeper.credential(newerThan: .none)
        #expect(reveal(credential.token) == "AT1")
        // Refused by the upstream, it is of no more use.
        let refusal = try await #require(throws: Refusal.self) {
            try await keeper.text(newerThan: credential.generation)
        }
        #expect(refusal.isLoginRequired)
        #expect(ground.fetcher.count == 1)
    }

    @Test func `of an early refresh is tried again at expiry`() async throws {
        // C100: some servers refuse only what comes early.
        let ground = try Ground(ScriptedFetcher([.error("invalid_request"), .tokens("AT2")]))
        try await ground.save(secondsLeft: 20)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it tried to refresh ahead") { ground.fetcher.count == 1 }
        #expect(try await keeper.text() == "AT1")
        ground.clock.advance(seconds: 20)
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `of an unknown kind ends the login after five in a row and not before`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.error("strange_thing")]))
        try await ground.save(secondsLeft: -10)
        let before = try ground.recordBytes()
        let keeper = ground.keeper()
        for attempt in 1...4 {
            let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
            #expect(refusal.isUnreachable)
            #expect(ground.fetcher.count == attempt)
            ground.clock.advance(seconds: 60)
        }
        #expect(try ground.recordBytes() == before)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        #expect(try await ground.store.load(github)?.rejection?.code == "strange_thing")
    }

    @Test func `honours Retry-After and tells the client`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.page(429, [("Retry-After", "45")]), .tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.retryAfterSeconds == 45)
        ground.clock.advance(milliseconds: 44_500)
        let second = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(second.retryAfterSeconds == 1)
        #expect(ground.fetcher.count == 1)
        ground.clock.advance(milliseconds: 500)
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `recovers in the background without a request`() async throws {
        let ground = try Ground(
            ScriptedFetcher { _, number in
                number < 6 ? .failure(.nameNotResolved(host: "x")) : .tokens("AT2")
            })
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await ground.tick { ground.published.tokens == ["AT2"] }
        #expect(ground.fetcher.count == 6)
    }

    @Test func `is told once when it begins and once when it ends`() async throws {
        let ground = try Ground(ScriptedFetcher([.page(503), .page(503), .tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        await #expect(throws: Refusal.self) { try await keeper.text() }
        let began = ground.now
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Ground.settings)))
        #expect(status.failingSince == began)
        #expect(status.state == .failing)
        #expect(status.lastError?.contains("503") == true)
        ground.clock.advance(seconds: 60)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        ground.clock.advance(seconds: 60)
        #expect(try await keeper.text() == "AT2")
        let after = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Ground.settings)))
        #expect(after.failingSince == nil)
        #expect(after.lastError == nil)
        #expect(after.lastRefreshAt == ground.now)
        #expect(after.state == .usable)
    }
}

@Suite struct `Lost answer` {
    @Test func `is asked for once more, and a tolerant server goes on`() async throws {
        // C099: the server has rotated, the answer never came.
        let ground = try Ground(
            ScriptedFetcher([
                .failure(.timedOut(mayHaveArrived: true)), .tokens("AT2", refresh: "RT2"),
            ]))
        try await ground.save(secondsLeft: -10)
        #expect(try await ground.keeper().text() == "AT2")
        #expect(ground.fetcher.spent == ["RT1", "RT1"])
        #expect(try await ground.store.load(github)?.refresh == "RT2")
    }

    @Test func `from a strict server ends in a clean login required`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.failure(.brokenOff(mayHaveArrived: true)), .error("invalid_grant")]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        ground.clock.advance(seconds: 600)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        #expect(ground.fetcher.count == 2)
    }
}

@Suite struct `Token response` {
    @Test(arguments: [
        #"{"access_token":"AT2","token_type":"Bearer","expires_in":300}"#,
        #"{"access_token":"AT2","token_type":"Bearer","expires_in":300,"refresh_token":null}"#,
        #"{"access_token":"AT2","token_type":"Bearer","expires_in":300,"refresh_token":"","id_token":null,"scope":null}"#,
    ])
    func `that leaves a member out keeps the old one`(body: String) async throws {
        // C020
        let ground = try Ground(ScriptedFetcher([.json(200, body)]))
        var login = ground.login(secondsLeft: -10)
        login.idToken = SecretBytes("e30.e30.")
        login.scope = "openid api"
        login.extras = JSONObject([.init(name: "did", value: "did:plc:x")])
        try await ground.store.save(login, github)
        #expect(try await ground.keeper().text() == "AT2")
        let record = try #require(try await ground.store.load(github))
        #expect(record.refresh == "RT1")
        #expect(record.idToken.map(reveal) == "e30.e30.")
        #expect(record.scope == "openid api")
        #expect(record.extras["did"]?.asRevealedString == "did:plc:x")
        #expect(record.expiresAt == ground.now.advanced(by: 300))
    }

    @Test func `replaces the refresh token, and the next refresh sends the new one`() async throws {
        // C019
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT2", refresh: "RT2"), .tokens("AT3", refresh: "RT3")]))
        try await ground.save(secondsLeft: -10)
        #expect(try await ground.keeper().text() == "AT2")
        // Another process, after a kill -9.
        ground.clock.advance(seconds: 400)
        #expect(try await ground.keeper().text() == "AT3")
        #expect(ground.fetcher.spent == ["RT1", "RT2"])
    }

    @Test func `lets extra parameters and the client's name go with each refresh`() async throws {
        // C100
        var settings = Ground.settings
        settings.additions[.token] = RequestAdditions(parameters: [
            NamedValue("resource", "https://api.example.com/mcp")
        ])
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(secondsLeft: -10)
        _ = try await ground.keeper(settings).text()
        #expect(
            ground.fetcher.forms == [
                [
                    "grant_type": "refresh_token", "refresh_token": "RT1", "client_id": "my-cli",
                    "resource": "https://api.example.com/mcp",
                ]
            ])
        #expect(ground.fetcher.urls == ["https://login.example.com/token"])
    }

    @Test func `reads a client secret anew for each request`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2"), .tokens("AT3")]))
        let file = try ground.directory.write("first\n", to: "secret")
        var settings = Ground.settings
        settings.clientSecret = .file(path: file)
        settings.clientAuthentication = .post
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper(settings)
        _ = try await keeper.text()
        try ground.directory.write("second\r\n", to: "secret")
        ground.clock.advance(seconds: 400)
        _ = try await keeper.text()
        #expect(ground.fetcher.forms.map { $0["client_secret"] } == ["first", "second"])
    }

    @Test func `is not asked for without the client secret`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        var settings = Ground.settings
        settings.clientSecret = .file(path: ground.directory.path("missing"))
        try await ground.save(secondsLeft: -10)
        let before = try ground.recordBytes()
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(settings).text()
        }
        guard case .credentialUnavailable(let hint) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(hint.contains("missing"))
        #expect(ground.fetcher.count == 0)
        #expect(try ground.recordBytes() == before)
    }

    @Test func `with a secret that is being rotated is over with the rotation (C095, C106)`()
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher { request, _ in
                request.body.map { reveal($0).contains("client_secret=new") } ?? false
                    ? .tokens("AT2") : .error("invalid_client", status: 401)
            })
        var settings = Ground.settings
        settings.clientSecret = .file(path: ground.directory.path("secret"))
        settings.clientAuthentication = .post
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper(settings)
        // Missing for a moment, then the old one.
        await #expect(throws: Refusal.self) { try await keeper.text() }
        #expect(ground.fetcher.count == 0)
        try ground.directory.write("old", to: "secret")
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isMisconfigured)
        await #expect(throws: Refusal.self) { try await keeper.text() }
        #expect(ground.fetcher.count == 1)
        try ground.directory.write("new", to: "secret")
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `that the provider takes back is over soon, and seldom asked about until then`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.error("invalid_client", status: 401)]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        for second in 0..<600 {
            await #expect(throws: Refusal.self) { try await keeper.text() }
            if second == 6 { #expect(ground.fetcher.count == 2) }
            ground.clock.advance(seconds: 1)
        }
        #expect(ground.fetcher.count == 7)
        ground.fetcher.answer { _, _ in .tokens("AT2") }
        ground.clock.advance(seconds: 300)
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `after an outage is asked about as soon as without one`() async throws {
        let ground = try Ground(
            ScriptedFetcher(
                Array(repeating: .page(503), count: 4)
                    + [.error("invalid_client", status: 401), .page(503)]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        func refusal() async throws -> Refusal {
            try await #require(throws: Refusal.self) { try await keeper.text() }
        }
        for _ in 0..<4 {
            #expect(try await refusal().isUnreachable)
            ground.clock.advance(seconds: 31)
        }
        let refused = try await refusal()
        #expect(refused.isMisconfigured)
        #expect(refused.retryAfterSeconds == 5)
        // Nor does it make the next outage longer.
        ground.clock.advance(seconds: 5)
        #expect(try await refusal().isUnreachable)
        #expect(try await refusal().retryAfterSeconds == 1)
    }

    @Test(arguments: [
        Result<InboundResponse, FetchError>.page(404), .page(302), .page(200), .json(200, "[]"),
    ])
    func `while a provider's metadata are not where they were is over with that (C106)`(
        answer: Result<InboundResponse, FetchError>
    ) async throws {
        let ground = try Ground(ScriptedFetcher([answer]))
        var settings = Ground.settings
        settings.endpoints = .issuer("https://login.example.com")
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper(settings)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable)
        ground.fetcher.answer { request, _ in
            request.method == .post
                ? .tokens("AT2")
                : .json(
                    200,
                    #"{"issuer":"https://login.example.com","#
                        + #""token_endpoint":"https://login.example.com/t"}"#)
        }
        ground.clock.advance(seconds: 2)
        #expect(try await keeper.text() == "AT2")
    }

    @Test(arguments: ["bot", "BearerToken", "mac"])
    func `with a token of another type keeps the refresh token that came with it`(type: String)
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher([
                .json(
                    200,
                    #"{"access_token":"X","token_type":"\#(type)","refresh_token":"RT2"}"#),
                .tokens("AT2"),
            ]))
        try await ground.save(secondsLeft: -10)
        let keeper = ground.keeper()
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable)
        let login = try #require(try await ground.store.load(github))
        #expect((login.access, login.refresh) == ("AT1", "RT2"))
        ground.clock.advance(seconds: 60)
        #expect(try await keeper.text() == "AT2")
        #expect(ground.fetcher.spent == ["RT1", "RT2"])
    }

    @Test(arguments: [true, false])
    func `with another person's ID token is dropped and the login marked`(isSame: Bool)
        async throws
    {
        func token(_ subject: String) -> String {
            let claims = JSONValue.object(
                JSONObject([
                    .init(name: "iss", value: "https://login.example.com"),
                    .init(name: "sub", value: .string(subject)),
                ]))
            let text = reveal(JSONWriter.write(claims))
            return "e30." + base64URL(text) + "."
        }
        let body =
            #"{"access_token":"AT2","expires_in":300,"id_token":"\#(token(isSame ? "a" : "b"))"}"#
        let ground = try Ground(ScriptedFetcher([.json(200, body)]))
        var login = ground.login(secondsLeft: -10)
        login.idToken = SecretBytes(token("a"))
        try await ground.store.save(login, github)
        let keeper = ground.keeper()
        if isSame {
            #expect(try await keeper.text() == "AT2")
        } else {
            let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
            #expect(refusal.isLoginRequired)
            let record = try #require(try await ground.store.load(github))
            #expect(record.rejection?.code == "id_token_mismatch")
            #expect(record.access == "AT1")
        }
    }
}

func base64URL(_ text: String) -> String {
    let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    var result = ""
    let bytes = Array(text.utf8)
    for start in stride(from: 0, to: bytes.count, by: 3) {
        let group = bytes[start..<min(start + 3, bytes.count)]
        let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
        for index in 0...group.count {
            result.append(alphabet[bits >> (18 - 6 * index) & 63])
        }
    }
    return result
}
