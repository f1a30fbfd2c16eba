import Bytes
import OAuth
import Support
import Testing
import Vocabulary

@testable import Demo

/// A person and a client before real sockets.
private struct Visitor {
    let world: DemoWorld
    let request: AuthorizationRequest

    init(_ world: DemoWorld) throws {
        self.world = world
        request = try AuthorizationRequest.fresh(
            .init(
                endpoint: world.issuer + "/authorize", clientID: world.clientID,
                redirectURI: "http://127.0.0.1:9/callback", scopes: world.scopes,
                issuer: world.issuer, issuerIsPromised: true))
    }

    func ask(
        _ base: String, _ method: String, _ target: String, fields: [(String, String)] = [],
        body: SecretBytes? = nil
    ) throws -> HTTPMessage {
        let port = try WebURL(base).origin.port
        return try RawClient(to: port).exchange(
            method, target, fields: fields, body: body.map { Octets($0.withBytes { Array($0) }) })
    }

    func post(_ target: String, _ parameters: [FormParameter]) throws -> HTTPMessage {
        try ask(world.issuer, "POST", target, body: FormEncoding.encode(parameters))
    }

    func token(_ grant: TokenGrant) throws -> Result<TokenResponse, TokenFailure> {
        let request = TokenRequest(
            endpoint: world.issuer + "/token", grant: grant,
            client: .none(clientID: world.clientID))
        let answer = try ask(
            world.issuer, "POST", "/token",
            fields: request.outbound.fields.map { ($0.name, text($0.value)) },
            body: request.outbound.body)
        let response = InboundResponse(
            status: answer.status, fields: answer.fields.map { ($0.name, $0.value) },
            body: SecretBytes(answer.body.bytes))
        return Result { () throws(TokenFailure) in
            try TokenResponse.read(response, to: request, now: SystemTime().wallTime())
        }
    }

    /// By the page unless the world is automatic.
    func login() throws -> TokenResponse {
        var answer = try ask(
            world.issuer, "GET", String(request.url.dropFirst(world.issuer.utf8.count)))
        if answer.status == 200 {
            let html = answer.body.text
            let start = try #require(html.firstRange(of: "name=\"ticket\" value=\"")).upperBound
            let ticket = String(html[start...].prefix { $0 != "\"" })
            answer = try post(
                "/authorize", [FormParameter("ticket", ticket), FormParameter("decision", "allow")])
        }
        let location = try #require(answer.value("Location"))
        let response = try AuthorizationResponse.read(pasted: location, for: request)
        return try token(
            .authorizationCode(
                response.code, redirectURI: request.redirectURI, verifier: request.pkce.verifier)
        ).get()
    }

    func api(
        _ target: String, _ token: SecretBytes?, method: String = "GET"
    ) throws -> HTTPMessage {
        let token = try #require(token)
        return try ask(
            world.api, method, target, fields: [("Authorization", "Bearer " + text(token))])
    }
}

/// Runs each test on a thread of its own: they wait in system calls for answers that need the threads
/// of Swift's pool.
private struct OwnThreadTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await withTaskExecutorPreference(OwnThreadExecutor.shared) { try await function() }
    }
}

@Suite(OwnThreadTrait()) struct `Demo world` {
    @Test(arguments: [false, true])
    func `takes a whole login and every kind of trouble`(isAutomatic: Bool) async throws {
        let time = StoppedTime()
        let world = try DemoWorld.start(.init(isAutomatic: isAutomatic), time: time)
        defer { world.stop() }
        let visitor = try Visitor(world)
        let first = try visitor.login()
        #expect(first.expiresInSeconds == 5)
        #expect(first.scopes == world.scopes)
        #expect(try visitor.api("/hello", first.accessToken).status == 200)
        #expect(try visitor.api("/v1/me", first.accessToken, method: "HEAD").status == 200)

        time.advance(milliseconds: 5000)
        #expect(try visitor.api("/hello", first.accessToken).status == 401)
        let second = try visitor.token(.refresh(try #require(first.refreshToken))).get()
        #expect(try visitor.api("/hello", second.accessToken).status == 200)

        world.revokeAccessTokens()
        let refused = try visitor.api("/hello", second.accessToken)
        #expect(refused.status == 401)
        #expect(refused.value("WWW-Authenticate")?.contains("invalid_token") == true)
        let third = try visitor.token(.refresh(try #require(second.refreshToken))).get()

        world.killRefreshTokens()
        #expect(try visitor.api("/hello", third.accessToken).status == 200)
        let dead = try visitor.token(.refresh(try #require(third.refreshToken)))
        guard case .failure(let failure) = dead else {
            Issue.record("a dead refresh token was taken")
            return
        }
        #expect(failure.verdict == .needsLogin)

        let counters = world.counters
        #expect(counters.tokenRequests == ["authorization_code": 1, "refresh_token": 3])
        #expect(counters.reusesDetected == 0)
        #expect(counters.logins == 1)
        #expect(counters.apiRequests == 6)
        #expect(world.seenRequests.map(\.status) == [200, 200, 401, 200, 401, 200])
        #expect(Set(world.seenRequests.compactMap(\.tokenFingerprint)).count == 3)
    }

    @Test func `notices a reuse`() async throws {
        let world = try DemoWorld.start(.init(isAutomatic: true))
        defer { world.stop() }
        let visitor = try Visitor(world)
        let first = try visitor.login()
        let refresh = try #require(first.refreshToken)
        _ = try visitor.token(.refresh(refresh)).get()
        _ = try visitor.token(.refresh(refresh))
        #expect(world.counters.reusesDetected == 1)
    }

    @Test func `streams events one by one`() async throws {
        let world = try DemoWorld.start(
            .init(accessTokenLifetimeSeconds: 60, isAutomatic: true), time: StoppedTime())
        defer { world.stop() }
        let visitor = try Visitor(world)
        let token = try visitor.login().accessToken
        let answer = try visitor.api("/events?count=3&interval=5", token)
        #expect(answer.status == 200)
        #expect(answer.isChunked)
        #expect(answer.value("Content-Type") == "text/event-stream")
        let events = answer.body.text.components(separatedBy: "\n\n").filter { !$0.isEmpty }
        #expect(events.count == 3)
        #expect(events.last == "id: 3\nevent: tick\ndata: {\"number\":3,\"of\":3}")
    }

    @Test func `answers only to names of this machine`() async throws {
        let world = try DemoWorld.start(.init(isAutomatic: true))
        defer { world.stop() }
        let visitor = try Visitor(world)
        for base in [world.issuer, world.api] {
            let answer = try visitor.ask(base, "GET", "/", fields: [("Host", "evil.example")])
            #expect(answer.status == 400)
        }
        #expect(world.counters.apiRequests == 0)
    }

    @Test func `says which port is taken`() async throws {
        let world = try DemoWorld.start()
        defer { world.stop() }
        let port = try WebURL(world.api).origin.port
        #expect(throws: (any Error).self) { try DemoWorld.start(.init(apiPort: port)) }
    }
}
