import Bytes
import Crossing
import Glibc
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Login for traffic` {
    /// A keeper without a login, its desk and the requests that wait.
    private func waiting(
        _ count: Int, _ ground: Ground, _ desk: LoginDesk, _ keeper: CredentialKeeper
    ) async -> [Result<String, Refusal>] {
        await withTaskGroup(of: Result<String, Refusal>.self) { group in
            for _ in 0..<count {
                group.addTask {
                    do throws(Refusal) {
                        return .success(try await keeper.text())
                    } catch {
                        return .failure(error)
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    @Test func `opens one browser for a hundred requests, which then succeed`() async throws {
        // Requirement 13
        let ground = try Ground(ScriptedFetcher([.tokens("AT1", refresh: "RT1")]))
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        async let results = waiting(100, ground, desk, keeper)
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        let page = LoginPage(ground.opened[0])
        try await blocking { _ = try page.visit(try page.success()) }
        let tokens = await results.map { try? $0.get() }
        #expect(tokens == Array(repeating: "AT1", count: 100))
        #expect(ground.opened.count == 1)
        #expect(ground.fetcher.count == 1)
        await desk.close()
    }

    @Test func `without a person answers at once with the URL, which works`() async throws {
        // C079
        let ground = try Ground(ScriptedFetcher([.tokens("AT1", refresh: "RT1")]))
        let desk = ground.desk()
        let keeper = ground.keeper(desk: desk)
        let results = await waiting(30, ground, desk, keeper)
        var urls: Set<String> = []
        for result in results {
            guard
                case .failure(.loginRequired(let url?, nil, "proxy login github", let seconds)) =
                    result
            else {
                Issue.record("\(result)")
                return
            }
            #expect(seconds > 0)
            urls.insert(url)
        }
        #expect(urls.count == 1)
        let page = LoginPage(try #require(urls.first))
        try await blocking {
            let answer = try page.visit(try page.success())
            #expect(answer.status == 200)
        }
        #expect(try await keeper.text() == "AT1")
        await desk.close()
    }

    @Test func `waits no longer than is configured`() async throws {
        // C078
        var settings = Ground.settings
        settings.loginWaitMilliseconds = 10_000
        let ground = try Ground()
        let desk = ground.desk(settings, person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(settings, desk: desk)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        let start = ground.clock.bootTime()
        let end = Mutex<BootTime?>(nil)
        async let results = {
            let results = await waiting(30, ground, desk, keeper)
            end.withLock { $0 = ground.clock.bootTime() }
            return results
        }()
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        try await ground.tick { end.withLock { $0 } != nil }
        let waited = try #require(end.withLock { $0 }).milliseconds - start.milliseconds
        #expect((10_000...110_000).contains(waited))
        for result in await results {
            guard case .failure(.loginRequired) = result else {
                Issue.record("\(result)")
                return
            }
        }
        #expect(ground.opened.count == 1)
        await desk.close()
    }

    @Test func `asks nobody again right after a no`() async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        async let results = waiting(10, ground, desk, keeper)
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        let page = LoginPage(ground.opened[0])
        try await blocking {
            _ = try page.visit(page.target("error=access_denied&state=\(page.state)"))
        }
        for result in await results {
            guard case .failure(.loginDenied("proxy login github")) = result else {
                Issue.record("\(result)")
                return
            }
        }
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isDenied)
        #expect(ground.opened.count == 1)
        // Later somebody may want to.
        ground.clock.advance(seconds: 31)
        async let later = waiting(1, ground, desk, keeper)
        try await eventually("a browser was opened again") { ground.opened.count == 2 }
        let second = LoginPage(ground.opened[1])
        #expect(second.state != page.state)
        try await blocking { _ = try second.visit(try second.success()) }
        #expect(try await later[0].get() == "AT1")
        await desk.close()
    }

    @Test func `opens a browser where an API takes only another login, for a token once (F65)`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("AT2", refresh: "RT2")]))
        try await ground.save(secondsLeft: 100_000)
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        let first = try await keeper.credential(newerThan: .none)
        for _ in 0..<3 { await keeper.loginIsWanted(insteadOf: first.generation) }
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        // What there is goes on until then.
        #expect(try await keeper.text() == "AT1")
        let page = LoginPage(ground.opened[0])
        try await blocking { _ = try page.visit(try page.success()) }
        let second = try await keeper.credential(newerThan: first.generation)
        #expect(reveal(second.token) == "AT2")
        // What was sent with the old one says nothing of the new one, which has only just come.
        await keeper.loginIsWanted(insteadOf: first.generation)
        await keeper.loginIsWanted(insteadOf: second.generation)
        ground.clock.advance(seconds: 61)
        await keeper.loginIsWanted(insteadOf: first.generation)
        #expect(ground.opened.count == 1)
        await keeper.loginIsWanted(insteadOf: second.generation)
        try await eventually("a browser was opened again") { ground.opened.count == 2 }
        await desk.close()
    }

    @Test func `opens no more than three windows in ten minutes`() async throws {
        let ground = try Ground()
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        for round in 1...3 {
            guard case .pending(let login) = await desk.demand(github) else {
                Issue.record("no login in round \(round)")
                return
            }
            try await eventually("opened") { ground.opened.count == round }
            let page = LoginPage(login.url)
            try await blocking {
                _ = try page.visit(page.target("error=server_error&state=\(page.state)"))
            }
            guard case .failed(.loginRequired) = await login.outcome() else {
                Issue.record("no failure in round \(round)")
                return
            }
            ground.clock.advance(seconds: 31)
        }
        guard
            case .refused(
                .loginRequired(url: _?, userCode: nil, command: _, retryAfterSeconds: _), _) =
                await desk.demand(github)
        else {
            Issue.record("a fourth window")
            return
        }
        #expect(ground.opened.count == 3)
        await desk.close()
    }

    @Test func `starts nothing where only a command may`() async throws {
        var settings = Ground.settings
        settings.login = .manual
        let ground = try Ground()
        let desk = ground.desk(settings, person: .present(browser: try ground.browser()))
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(settings, desk: desk).text()
        }
        guard case .loginRequired(nil, _, _, _) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        #expect(ground.opened.isEmpty)
    }

    @Test func `falls back to the URL where no browser can be started`() async throws {
        let ground = try Ground()
        let desk = ground.desk(person: .present(browser: ["/no/such/browser"]))
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(desk: desk).text()
        }
        guard case .loginRequired(_?, _, _, _) = refusal else {
            Issue.record("\(refusal)")
            return
        }
        await desk.close()
    }

    @Test func `ends when somebody logs in elsewhere`() async throws {
        let ground = try Ground()
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        async let results = waiting(5, ground, desk, keeper)
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        let page = LoginPage(ground.opened[0])
        try await ground.save("AT7")
        try await ground.tick { ground.published.tokens == ["AT7"] }
        #expect(await results.map { try? $0.get() } == Array(repeating: "AT7", count: 5))
        // Its port is closed.
        try await eventually("the port is closed") {
            (try? RawClient(to: try page.redirect.origin.port)) == nil
        }
        #expect(ground.fetcher.count == 0)
    }

    @Test func `that is pending in a proxy is joined by a command with the same pinned port`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1", refresh: "RT1")]))
        var settings = Ground.settings
        let probe = try await ground.desk().begin(github, LoginOptions(.printURL))
        settings.callbackPort = try probe.page.redirect.origin.port
        await probe.close()
        let desk = ground.desk(settings)
        guard case .refused(.loginRequired(let url?, _, _, _), _) = await desk.demand(github) else {
            Issue.record("no URL")
            return
        }
        let other = try Ground(sharing: ground)
        let session = try await other.desk(settings).begin(github, LoginOptions(.printURL))
        #expect(session.url == url)
        let page = session.page
        try await blocking { _ = try page.visit(try page.success()) }
        #expect(try await session.result().access == "AT1")
        await session.close()
        await desk.close()
    }

    @Test func `works from memory where nothing can be written`() async throws {
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT1", refresh: "RT1")]), calls: .readOnly)
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        async let results = waiting(3, ground, desk, keeper)
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        let page = LoginPage(ground.opened[0])
        try await blocking { _ = try page.visit(try page.success()) }
        #expect(await results.map { try? $0.get() } == Array(repeating: "AT1", count: 3))
        await desk.close()
    }

    @Test func `is kept in memory where nothing can be written and nobody waits (C131)`()
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT1", refresh: "RT1")]), calls: .readOnly)
        let desk = ground.desk()
        let keeper = ground.keeper(desk: desk)
        let results = await waiting(3, ground, desk, keeper)
        guard case .failure(.loginRequired(let url?, _, _, _))? = results.first else {
            Issue.record("\(results)")
            return
        }
        let page = LoginPage(url)
        try await blocking {
            let answer = try page.visit(try page.success())
            #expect(answer.status == 200)
            #expect(answer.body.text.contains("Logged in, not written"))
            #expect(answer.body.text.contains(ground.directory.path("state")))
        }
        try await eventually("it is used") { (try? await keeper.text()) == "AT1" }
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Ground.settings)))
        #expect(status.state == .usable)
        #expect(status.hint == nil)
        await desk.close()
    }

    @Test func `is asked for once in an hour where a token was refused as soon as it came`()
        async throws
    {
        let ground = try Ground(
            ScriptedFetcher([.tokens("AT1", expiresIn: nil), .tokens("AT2", expiresIn: nil)]))
        let desk = ground.desk(person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(desk: desk)
        async let first = keeper.credential(newerThan: .none)
        try await eventually("a browser was opened") { !ground.opened.isEmpty }
        var page = LoginPage(ground.opened[0])
        try await blocking { [page] in _ = try page.visit(try page.success()) }
        var generation = try await first.generation
        // One API wants another kind of token, and goes on saying so.
        for seconds in [59, 1800, 1700] as [UInt64] {
            let again = try await keeper.credential(newerThan: generation)
            #expect(reveal(again.token) == "AT1")
            generation = again.generation
            await keeper.wasRefusedOnArrival(generation)
            ground.clock.advance(seconds: seconds)
        }
        #expect(ground.opened.count == 1)
        // By now it may have died.
        ground.clock.advance(seconds: 42)
        async let second = keeper.credential(newerThan: generation)
        try await eventually("a browser was opened") { ground.opened.count == 2 }
        page = LoginPage(ground.opened[1])
        try await blocking { [page] in _ = try page.visit(try page.success()) }
        #expect(reveal(try await second.token) == "AT2")
        await desk.close()
    }
}
