import Bytes
import Crossing
import Fetch
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// One way in which a provider fails.
struct Trouble: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Whether it only shows after a time limit.
    var isSlow = false
    /// Nil where nobody answers the door.
    let fault: (@Sendable (FakeAuthorizationServer) -> TokenFault)?

    init(_ name: String, isSlow: Bool = false, _ fault: TokenFault) {
        testDescription = name
        self.isSlow = isSlow
        self.fault = { _ in fault }
    }

    init(_ name: String, _ fault: (@Sendable (FakeAuthorizationServer) -> TokenFault)?) {
        testDescription = name
        self.fault = fault
    }

    /// - Parameter path: the endpoint that has it; nil is the token endpoint.
    func begin(at server: FakeAuthorizationServer, path: String? = nil) {
        guard let fault = fault?(server) else { return server.goDown() }
        guard let path else { return server.failAlways(fault) }
        for _ in 0..<9 { server.failNext(fault, at: path) }
    }

    /// Must show 3.
    static let all = [
        Trouble("refused connection", nil),
        Trouble("reset", .reset),
        Trouble("timeout", isSlow: true, .silence),
        Trouble("408", .requestTimeout),
        Trouble("429 with Retry-After", .tooManyRequests(retryAfter: 7)),
        Trouble("500 with invalid_grant", .serverErrorSayingInvalidGrant),
        Trouble("HTML", .htmlOK),
        Trouble("empty 200", .emptyOK),
        Trouble("truncated JSON", .truncatedJSON),
        Trouble("an answer that ends early", .cutShort),
        Trouble("null token", .nullToken),
        Trouble("4 MB answer", .oversized),
        Trouble("redirect") { .redirect(to: "\($0.origin)/elsewhere") },
        Trouble("slow drip", isSlow: true, .drip(.milliseconds(60))),
    ]
}

/// Real requests with a time limit that can be made short.
final class HastyFetcher: Fetching {
    private let driver = CurlDriver()
    private let inner: CurlFetcher
    private let limit = Mutex<UInt64?>(nil)
    private let finished = Mutex(0)

    init() { inner = CurlFetcher(driver: driver, proxy: .none) }
    deinit { driver.stop() }

    /// How many requests have come to an end.
    var count: Int { finished.withLock { $0 } }

    func hurry(_ milliseconds: UInt64?) { limit.withLock { $0 = milliseconds } }

    func fetch(_ request: OutboundRequest) async throws(FetchError) -> InboundResponse {
        var request = request
        if let limit = limit.withLock({ $0 }) { request.timeoutMilliseconds = limit }
        defer { finished.withLock { $0 += 1 } }
        return try await inner.fetch(request)
    }
}

/// A credential whose provider is a real server on loopback, and a clock that stands still.
struct WireGround {
    let server: FakeAuthorizationServer
    let ground: Ground
    let fetcher = HastyFetcher()
    let surroundings: Surroundings

    init() throws {
        var policy = FakeAuthorizationServer.Policy()
        // What a server does that knows how answers get lost; the strict one is C099's.
        policy.reuseTolerance = .seconds(120)
        server = try FakeAuthorizationServer(policy)
        ground = try Ground()
        var surroundings = ground.surroundings
        surroundings.fetcher = fetcher
        self.surroundings = surroundings
    }

    var settings: OAuthSettings {
        OAuthSettings(
            endpoints: .fixed(
                authorization: "\(server.origin)/authorize", token: "\(server.origin)/token",
                issuer: server.issuer), clientID: server.policy.clientID)
    }

    /// A login whose access token has expired.
    func saveLogin() async throws {
        let made = server.makeLogin()
        var login = ground.login(made.access, refresh: made.refresh, secondsLeft: -10)
        (login.issuer, login.clientID) = (server.issuer, server.policy.clientID)
        try await ground.store.save(login, github)
    }

    func keeper() -> CredentialKeeper {
        let source = OAuthSource(
            github, settings, discovery: DiscoveryDesk(in: surroundings), in: surroundings)
        return CredentialKeeper(github, source: source, desk: nil, in: surroundings)
    }

    func begin(_ trouble: Trouble, at path: String? = nil) {
        fetcher.hurry(trouble.isSlow ? 300 : nil)
        trouble.begin(at: server, path: path)
    }

    func end() throws {
        fetcher.hurry(nil)
        server.failAlways(nil)
        server.goDown()
        try server.comeUp()
    }

    /// Lets the clock go on, sleeper by sleeper, until it is so.
    func passTime(until isTrue: @escaping @Sendable () -> Bool) async throws {
        try await eventually("it became so") { [ground] in
            if isTrue() { return true }
            if ground.clock.sleeperCount > 0 { ground.clock.advance(seconds: 1) }
            return false
        }
    }

    /// A login on another device, at a provider that has `trouble` until two polls have met it; nil
    /// where it came to nothing.
    func logInByDevice(_ trouble: Trouble?) async throws -> Login? {
        var settings = settings
        settings.grant = .deviceCode
        settings.endpointsByHand["device_authorization_endpoint"] = "\(server.origin)/device"
        let desk = LoginDesk(
            [CredentialSettings(id: github, kind: .oauth(settings))], person: .absent,
            discovery: DiscoveryDesk(in: surroundings), in: surroundings)
        let session = try await desk.begin(github, LoginOptions(.printURL))
        let asked = fetcher.count
        if let trouble { begin(trouble) }
        let isOver = Mutex<Bool>.Box(false)
        let task = Task { () -> Login? in
            let login = try? await session.result()
            isOver.value = true
            return login
        }
        try await passTime { [fetcher] in isOver.value || fetcher.count >= asked + 2 }
        if trouble != nil { try end() }
        try await passTime { isOver.value }
        await session.close()
        return await task.value
    }

    /// Logs out at a provider that has a revocation endpoint. Time passes meanwhile.
    func logOut() async throws -> LogoutReport {
        var settings = settings
        settings.endpointsByHand["revocation_endpoint"] = "\(server.origin)/revoke"
        let desk = LogoutDesk(discovery: DiscoveryDesk(in: surroundings), in: surroundings)
        let isOver = Mutex<Bool>.Box(false)
        let task = Task { [settings] in
            let report = await desk.logOut(github, settings, LogoutOptions(.nobody))
            isOver.value = true
            return report
        }
        try await ground.tick { isOver.value }
        return await task.value
    }

    /// The record's bytes, and the names of everything beside it that is no note.
    func disk() throws -> [String: [UInt8]] {
        let state = ground.directory.path("state")
        var found: [String: [UInt8]] = [:]
        // A note is written after everybody has been answered.
        for name in Files.list(state) where !name.contains(".note") {
            found[name] = try Files.read("\(state)/\(name)")?.bytes
        }
        return found
    }
}

@Suite struct `Must show 3: failure matrix` {
    @Test(arguments: Trouble.all)
    func
        `of a refresh: nothing on disk changes, and the next good answer recovers (C021, C094, C095)`(
            trouble: Trouble
        ) async throws
    {
        let wire = try WireGround()
        try await wire.saveLogin()
        let before = try wire.disk()
        let keeper = wire.keeper()
        wire.begin(trouble)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable, "\(refusal)")
        if trouble.testDescription.hasPrefix("429") { #expect(refusal.retryAfterSeconds == 7) }
        #expect(try wire.disk() == before)
        #expect(wire.server.refreshRequests.count <= 2, "once more at most")
        #expect(!wire.server.requests.contains { $0.path == "/elsewhere" })

        try wire.end()
        wire.ground.clock.advance(seconds: 31)
        let token = try await keeper.text()
        #expect(wire.server.accepts(accessToken: token))
        let login = try #require(try await wire.ground.store.load(github))
        #expect(login.access == token)
        #expect(login.rejection == nil)
        #expect(wire.server.reuses == 0)
    }

    @Test(arguments: Trouble.all)
    func `of a code exchange: the earlier login stays, the code is sent once, the next login works`(
        trouble: Trouble
    ) async throws {
        let wire = try WireGround()
        try await wire.saveLogin()
        let before = try wire.disk()
        let desk = LoginDesk(
            [CredentialSettings(id: github, kind: .oauth(wire.settings))], person: .absent,
            discovery: DiscoveryDesk(in: wire.surroundings), in: wire.surroundings)

        let failing = try await desk.begin(github, LoginOptions(.printURL))
        try await blocking {
            let callback = try consent(to: failing.page, of: wire.server)
            wire.begin(trouble)
            #expect(try failing.page.visit(callback).body.text.contains("failed"))
        }
        let failure = try await failing.failure()
        guard case .token = failure else {
            Issue.record("\(failure)")
            return
        }
        await failing.close()
        #expect(try wire.disk().filter { $0.key != "github.login.lock" } == before)
        #expect(wire.server.codeRequests.count <= 1)
        #expect(!wire.server.requests.contains { $0.path == "/elsewhere" })

        try wire.end()
        let session = try await desk.begin(github, LoginOptions(.printURL))
        try await blocking {
            let callback = try consent(to: session.page, of: wire.server)
            #expect(try session.page.visit(callback).body.text.contains("Logged in"))
        }
        let login = try await session.result()
        await session.close()
        #expect(wire.server.accepts(accessToken: try #require(login.access)))
        #expect(try await wire.ground.store.load(github)?.access == login.access)
        #expect(wire.server.codeReuses == 0)
    }

    @Test(arguments: Trouble.all)
    func `of a device poll: the earlier login stays, and the next good answer logs in`(
        trouble: Trouble
    ) async throws {
        let wire = try WireGround()
        wire.server.set { $0.machines.polls = [] }
        try await wire.saveLogin()
        let before = try wire.disk()
        let login = try await wire.logInByDevice(trouble)
        // A success without a token ends the attempt, and so does a code whose answer was lost.
        let endings = ["null token", "slow drip"]
        #expect((login == nil) == endings.contains(trouble.testDescription))
        if login == nil {
            #expect(try wire.disk().filter { $0.key != "github.login.lock" } == before)
        }
        var fresh = login
        if fresh == nil { fresh = try await wire.logInByDevice(nil) }
        let access = try #require(fresh?.access)
        #expect(wire.server.accepts(accessToken: access))
        #expect(try await wire.ground.store.load(github)?.access == access)
        #expect(!wire.server.requests.contains { $0.path == "/elsewhere" })
    }

    @Test(arguments: Trouble.all)
    func `of a revocation: the login is gone here, and that is said of the provider`(
        trouble: Trouble
    ) async throws {
        let wire = try WireGround()
        try await wire.saveLogin()
        wire.begin(trouble, at: "/revoke")
        let report = try await wire.logOut()
        #expect(report[.local]?.outcome == .done)
        // The body of a success means nothing (RFC 7009 section 2.2).
        let successes = ["HTML", "empty 200", "truncated JSON", "null token"]
        #expect(
            report[.refreshToken]?.outcome
                == (successes.contains(trouble.testDescription) ? .done : .failed), "\(report)")
        #expect(try wire.disk().keys.sorted() == ["github.lock"])
        #expect(!wire.server.requests.contains { $0.path == "/elsewhere" })
    }

    @Test(arguments: ["408", "429 with Retry-After", "500 with invalid_grant", "redirect"])
    func `of a revocation: a busy provider's next good answer ends the login there too`(
        name: String
    ) async throws {
        let wire = try WireGround()
        try await wire.saveLogin()
        let refresh = try #require(try await wire.ground.store.load(github)?.refresh)
        let fault = try #require(Trouble.all.first { $0.testDescription == name }?.fault)
        wire.server.failNext(fault(wire.server), at: "/revoke")
        let report = try await wire.logOut()
        #expect(report[.refreshToken]?.outcome == .done, "\(report)")
        #expect(!wire.server.accepts(refreshToken: refresh))
    }

    /// What the provider sends the browser back to.
    private func consent(to page: LoginPage, of server: FakeAuthorizationServer) throws -> String {
        let query = FormText(page.parameters.map { (name: $0.key, value: $0.value) })
        let answer = try RawClient(to: server.port).exchange(
            "GET", "/authorize?\(query.encoded)", fields: [("Connection", "close")])
        let target = try #require(answer.value("Location"))
        return "/" + target.components(separatedBy: "/").dropFirst(3).joined(separator: "/")
    }
}
