import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Refresh timing` {
    static let leads: [(UInt64, Int64?, UInt64)] = [
        (3_600_000, nil, 60_000), (600_000, nil, 60_000), (300_000, nil, 30_000),
        (5000, nil, 500), (0, nil, 0),
        // Configured, and never more than half.
        (3_600_000, 300, 300_000), (5000, 60, 2500), (5000, 1, 1000), (3_600_000, 0, 0),
        (.max, nil, 60_000), (.max, .max, .max / 2),
    ]

    @Test(arguments: leads)
    func `leads by a minute or a tenth, and by half at the most`(
        lifetime: UInt64, configured: Int64?, lead: UInt64
    ) {
        #expect(
            RefreshAhead.leadMilliseconds(lifetime: lifetime, configuredSeconds: configured) == lead
        )
    }

    @Test(arguments: [0, 0.5, 0.999]) func `spreads over a tenth of the lead`(chance: Double) throws
    {
        let token = Token(
            SecretBytes("t"), usableUntil: BootTime(milliseconds: 10_000_000),
            lifetimeMilliseconds: 3_600_000)
        let due = try #require(
            RefreshAhead.due(token, configuredSeconds: nil, chance: chance))
        #expect((9_940_000...9_946_000).contains(due.milliseconds))
    }

    @Test func `pauses double up to a limit and obey the server`() {
        var low = Backoff()
        #expect(
            (0..<8).map { _ in low.next(retryAfterSeconds: nil, chance: 0) } == [
                500, 1000, 2000, 4000, 8000, 15_000, 15_000, 15_000,
            ])
        var high = Backoff()
        #expect(high.next(retryAfterSeconds: nil, chance: 0.999) == 999)
        #expect(high.next(retryAfterSeconds: 120, chance: 0.5) == 120_000)
        var many = Backoff()
        for _ in 0..<200 { _ = many.next(retryAfterSeconds: .max, chance: 0.5) }
        #expect(many.next(retryAfterSeconds: nil, chance: 0) == 15_000)
    }

    @Test func `an hour's token is refreshed at a minute's distance and not before`() async throws {
        // F51
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", expiresIn: 3600), .tokens("AT3")]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        _ = try await keeper.text()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        ground.clock.advance(seconds: 3600 - 61)
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        #expect(ground.fetcher.count == 1)
        ground.clock.advance(seconds: 2)
        try await eventually("it was refreshed") { ground.published.tokens.last == "AT3" }
        #expect(ground.fetcher.count == 2)
    }

    @Test func `a token of five seconds neither spins nor is sent dead`() async throws {
        // Requirement 18
        let ground = try Ground(
            ScriptedFetcher { _, number in .tokens("AT\(number + 1)", expiresIn: 5) })
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        for _ in 0..<200 {
            // 100 s in half seconds.
            try await eventually("it sleeps or has work") { ground.clock.sleeperCount == 1 }
            let credential = try await keeper.credential(newerThan: .none)
            #expect(try #require(credential.usableUntil) > ground.clock.bootTime())
            ground.clock.advance(milliseconds: 500)
        }
        #expect((20...24).contains(ground.fetcher.count))
    }

    @Test func `requests do not wait while the old token is good`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .tokens("AT2")
            })
        try await ground.save(secondsLeft: 20)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        try await eventually("the refresh began") { ground.fetcher.count == 1 }
        #expect(try await keeper.text() == "AT1")
        gate.open()
        try await eventually("it came") { ground.published.tokens == ["AT1", "AT2"] }
    }

    @Test func `a token that is dead on arrival is asked for once a second`() async throws {
        // The JWT's own clock says that it has expired; nothing else tells.
        let ground = try Ground(
            ScriptedFetcher { _, number in .tokens("AT\(number + 1)", expiresIn: 1) })
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        #expect(try await keeper.text() == "AT2")
        ground.clock.advance(milliseconds: 999)
        #expect(try await keeper.text() == "AT2")
        ground.clock.advance(milliseconds: 1)
        #expect(try await keeper.text() == "AT3")
        #expect(ground.fetcher.count == 2)
    }

    @Test func `the wall clock may be set while a token is in use`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", expiresIn: 300), .tokens("AT3")]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        _ = try await keeper.text()
        for step in [Int64(86_400), -172_800] {
            ground.clock.stepWall(seconds: step)
            #expect(try await keeper.text() == "AT2")
        }
        ground.clock.advance(seconds: 299)
        #expect(try await keeper.text() == "AT2")
        ground.clock.advance(seconds: 1)
        #expect(try await keeper.text() == "AT3")
    }

    @Test func `a clock that was set back does not lengthen a stored token's life`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2")]))
        try await ground.save(secondsLeft: 100)
        ground.clock.stepWall(seconds: -86_400)
        let keeper = ground.keeper()
        let credential = try await keeper.credential(newerThan: .none)
        #expect(credential.usableUntil == ground.clock.bootTime().advanced(byMilliseconds: 300_000))
    }

    @Test func `a token without any expiry is used until it is refused`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT2", expiresIn: nil), .tokens("AT3", expiresIn: nil)]))
        try await ground.save(secondsLeft: -1)
        let keeper = ground.keeper()
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        let credential = try await keeper.credential(newerThan: .none)
        #expect(credential.usableUntil == nil)
        try await eventually("it sleeps") { ground.clock.sleeperCount == 1 }
        ground.clock.advance(seconds: 864_000)
        #expect(try await keeper.text() == "AT2")
        #expect(try await keeper.text(newerThan: credential.generation) == "AT3")
    }
}

@Suite struct `Token lifetime` {
    private let now = WallTime(seconds: 1_700_000_000)

    private func seconds(_ body: String, fallback: Int64? = nil) throws -> Int64? {
        let request = TokenRequest(
            endpoint: "https://x.example", grant: .refresh(SecretBytes("r")),
            client: .none(clientID: "c"))
        let response = try TokenResponse.read(
            InboundResponse(status: 200, body: SecretBytes(body)), to: request, now: now)
        return TokenLifetime.seconds(of: response, arrivedAt: now, fallbackSeconds: fallback)
    }

    private func jwt(_ claims: String) -> String { "e30.\(base64URL(claims))." }

    @Test(arguments: [
        ("300", Int64?.some(300)), (#""300""#, 300), ("299.9", 299), ("0", 77), ("-5", 77),
        (#""soon""#, 77), ("null", 77),
    ])
    func `comes from expires_in, else from the configuration`(
        value: String, seconds: Int64?
    ) throws {
        #expect(
            try self.seconds(#"{"access_token":"a","expires_in":\#(value)}"#, fallback: 77)
                == seconds)
    }

    @Test func `comes from a JWT where expires_in is silent`() throws {
        func of(_ claims: String) throws -> Int64? {
            try seconds(#"{"access_token":"\#(jwt(claims))"}"#, fallback: 77)
        }
        #expect(try of(#"{"exp":1700000200}"#) == 200)
        #expect(try of(#"{"exp":1700000200,"iat":1700000000}"#) == 200)
        // Our clock is two hours fast, then slow: the whole lifetime by theirs counts.
        #expect(try of(#"{"exp":1699993100,"iat":1699992800}"#) == 300)
        #expect(try of(#"{"exp":1700007500,"iat":1700007200}"#) == 300)
        // A token that was issued some time ago.
        #expect(try of(#"{"exp":1700000050,"iat":1699999750}"#) == 50)
        #expect(try of(#"{"exp":1699999999}"#) == 77)
        #expect(try of(#"{"exp":"later"}"#) == 77)
        #expect(try of(#"{}"#) == 77)
        #expect(try of(#"{"exp":9e999,"iat":-9e999}"#) != nil)
        #expect(
            try seconds(#"{"access_token":"\#(jwt(#"{"exp":1700000200}"#))","expires_in":60}"#)
                == 60)
    }
}

@Suite struct `Upstream that refuses every token` {
    @Test func `does not cause a refresh with every request`() async throws {
        // C007: the client polls every 100 ms, each answer is 401.
        let ground = try Ground(
            ScriptedFetcher { _, number in .tokens("AT\(number + 1)", refresh: "RT\(number + 1)") })
        try await ground.save()
        let keeper = ground.keeper()
        var generation = Generation.none
        for _ in 0..<100 {
            // One request: sent, refused, sent again with what we give, passed on.
            let credential = try await keeper.credential(newerThan: .none)
            generation = credential.generation
            let second = try await keeper.credential(newerThan: generation)
            #expect(second.generation > generation)
            ground.clock.advance(milliseconds: 100)
        }
        #expect(ground.fetcher.count == RejectionBudget.burst)
        // Long after that, a refusal is believed again.
        ground.clock.advance(seconds: 60)
        let credential = try await keeper.credential(newerThan: .none)
        _ = try await keeper.credential(newerThan: credential.generation)
        #expect(ground.fetcher.count == RejectionBudget.burst + 1)
    }

    @Test func `is asked ever more seldom while nothing helps, and at once when something did`()
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher { _, number in
                .tokens("AT\(number + 1)", refresh: "RT\(number + 1)", expiresIn: 100_000)
            })
        try await ground.save()
        let keeper = ground.keeper()
        for _ in 0..<600 {
            let credential = try await keeper.credential(newerThan: .none)
            let second = try await keeper.credential(newerThan: credential.generation)
            await keeper.wasRefusedOnArrival(second.generation)
            ground.clock.advance(seconds: 1)
        }
        // Twice at first, then twice after 15, 30, 60, 120, 120 … seconds.
        #expect(ground.fetcher.count == 16)
        let steps: [(Int, UInt64)] = [(17, 120), (18, 121), (19, 15), (20, 15), (21, 15)]
        for (expected, seconds) in steps {
            ground.clock.advance(seconds: seconds)
            // What is renewed now is taken.
            let credential = try await keeper.credential(newerThan: .none)
            _ = try await keeper.credential(newerThan: credential.generation)
            #expect(ground.fetcher.count == expected)
        }
    }

    @Test func `does not keep an expired token from being renewed`() async throws {
        let ground = try Ground(
            ScriptedFetcher { _, number in .tokens("AT\(number + 1)", expiresIn: 2) })
        try await ground.save()
        let keeper = ground.keeper()
        for _ in 0..<5 {
            let credential = try await keeper.credential(newerThan: .none)
            _ = try await keeper.credential(newerThan: credential.generation)
        }
        #expect(ground.fetcher.count == RejectionBudget.burst)
        ground.clock.advance(seconds: 2)
        #expect(try await keeper.text() == "AT4")
    }

    @Test func `gets the token of a server that has no other once more`() async throws {
        // The same access token again and again, as some servers cache it.
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        try await ground.save()
        let keeper = ground.keeper()
        let first = try await keeper.credential(newerThan: .none)
        let second = try await keeper.credential(newerThan: first.generation)
        #expect(reveal(second.token) == "AT1")
        #expect(second.generation > first.generation)
        #expect(ground.fetcher.count == 1)
    }
}
