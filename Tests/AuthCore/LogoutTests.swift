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

private let base = "https://login.example.com"
private let revoking = #""revocation_endpoint":"https://login.example.com/revoke""#
private let ending = #""end_session_endpoint":"https://login.example.com/bye?p=x""#

private typealias Outcome = LogoutReport.Outcome

@Suite struct `Log-out` {
    private var settings: OAuthSettings {
        OAuthSettings(endpoints: .issuer(base), clientID: "my-cli")
    }

    private func ground(
        _ metadata: String = revoking,
        _ script:
            @escaping @Sendable (String, OutboundRequest) async -> Result<
                InboundResponse, FetchError
            > = { _, _ in .page(200) }
    ) async throws -> Ground {
        let ground = try Ground(ScriptedFetcher(metadata: metadata, script))
        var login = ground.login("AT1", refresh: "RT1")
        login.idToken = SecretBytes("e30.canary-id.x")
        try await ground.store.save(login, github)
        return ground
    }

    private func logOut(
        _ ground: Ground, _ settings: OAuthSettings? = nil,
        _ options: LogoutOptions = LogoutOptions(.nobody),
        onEvent: @escaping @Sendable (LogoutEvent) -> Void = { _ in }
    ) async -> LogoutReport {
        await LogoutDesk(
            discovery: DiscoveryDesk(in: ground.surroundings), in: ground.surroundings
        ).logOut(github, settings ?? self.settings, options, onEvent: onEvent)
    }

    private func outcomes(_ report: LogoutReport) -> [Outcome] { report.lines.map(\.outcome) }

    @Test func `revokes the refresh token, then the access token (F82)`() async throws {
        let ground = try await ground()
        var settings = settings
        settings.clientSecret = .environment(name: "ID")
        settings.clientAuthentication = .post
        let other = try Ground(ground.fetcher, environment: ["ID": "s"], sharing: ground)
        let report = await logOut(other, settings)
        #expect(outcomes(report) == [.done, .done, .done, .unsupported])
        let forms = ground.fetcher.forms
        #expect(forms.map { $0["token"] } == ["RT1", "AT1"])
        #expect(forms.map { $0["token_type_hint"] } == ["refresh_token", "access_token"])
        #expect(forms.allSatisfy { $0["client_id"] == "my-cli" && $0["client_secret"] == "s" })
        #expect(!Files.exists(ground.record))
    }

    @Test func `goes where the provider is now, as a login does`() async throws {
        let ground = try await ground()
        _ = try await DiscoveryDesk(in: ground.surroundings).endpoints(of: settings)
        ground.fetcher.answer { request, _ in
            request.method == .post
                ? .page(request.url == "https://login.example.com/moved" ? 200 : 404)
                : .json(
                    200,
                    #"{"issuer":"https://login.example.com","token_endpoint":"https://login.example.com/t","#
                        + #""authorization_endpoint":"https://login.example.com/authorize2","#
                        + #""revocation_endpoint":"https://login.example.com/moved"}"#)
        }
        ground.clock.advance(seconds: 61)
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        #expect(session.url.hasPrefix("https://login.example.com/authorize2?"))
        await session.close()
        ground.clock.advance(seconds: 61)
        #expect(outcomes(await logOut(ground)) == [.done, .done, .done, .unsupported])
    }

    @Test func `goes by what is known where the provider's metadata are not to be had`()
        async throws
    {
        let ground = try await ground()
        _ = try await DiscoveryDesk(in: ground.surroundings).endpoints(of: settings)
        ground.fetcher.answer { request, _ in .page(request.method == .post ? 200 : 503) }
        ground.clock.advance(seconds: 61)
        #expect(outcomes(await logOut(ground)) == [.done, .done, .done, .unsupported])
    }

    @Test(
        arguments: [
            (.failure(.connectionRefused(host: "x")), .failed), (.page(500), .failed),
            (.error("invalid_client", status: 401), .failed), (.page(404), .failed),
            (.error("unsupported_token_type"), .unsupported), (.page(200), .done),
            (.json(200, "no json"), .done), (.page(204), .done), (.error("invalid_token"), .done),
        ] as [(Result<InboundResponse, FetchError>, LogoutReport.Outcome)])
    func `forgets here whatever the provider says (F81)`(
        answer: Result<InboundResponse, FetchError>, outcome: LogoutReport.Outcome
    ) async throws {
        let ground = try await ground { _, _ in answer }
        let time = Task {
            while !Task.isCancelled {
                ground.clock.advance(seconds: 1)
                try await Task.sleep(for: .milliseconds(2))
            }
        }
        defer { time.cancel() }
        let report = await logOut(ground)
        #expect(report[.local]?.outcome == .done)
        #expect(report[.refreshToken]?.outcome == outcome, "\(report)")
        #expect(report[.accessToken]?.outcome == outcome, "\(report)")
        #expect(try await ground.store.load(github) == nil)
        for line in report.lines { #expect(line.detail?.contains("AT1") != true) }
    }

    @Test func `forgets here when the provider cannot even be discovered (F81)`() async throws {
        let ground = try await ground()
        ground.fetcher.answer { _, _ in .failure(.connectionRefused(host: "x")) }
        let report = await logOut(ground)
        #expect(outcomes(report) == [.done, .failed, .failed, .failed])
        #expect(report[.refreshToken]?.detail?.contains(base) == true)
        #expect(!Files.exists(ground.record))
    }

    @Test func `asks a busy provider again, a few times (F82)`() async throws {
        let count = Mutex(0)
        let ground = try await ground { _, _ in
            let number = count.withLock { number in
                number += 1
                return number
            }
            return number < 3 ? .page(503, [("Retry-After", "2")]) : .page(200)
        }
        async let report = logOut(ground)
        for _ in 0..<2 {
            try await eventually("it waits") { ground.clock.sleeperCount == 1 }
            ground.clock.advance(seconds: 2)
        }
        #expect(await report[.refreshToken]?.outcome == .done)
        #expect(ground.fetcher.forms.map { $0["token"] } == ["RT1", "RT1", "RT1", "AT1"])
    }

    @Test func `waits for no provider that wants an hour`() async throws {
        let ground = try await ground { _, _ in .page(503, [("Retry-After", "3600")]) }
        let report = await logOut(ground)
        #expect(outcomes(report) == [.done, .failed, .failed, .unsupported])
        #expect(ground.fetcher.forms.count == 2)
    }

    @Test func `is interrupted at the provider only`() async throws {
        let ground = try await ground { _, _ in .page(503, [("Retry-After", "9")]) }
        let task = Task { await logOut(ground) }
        try await eventually("it waits") { ground.clock.sleeperCount == 1 }
        #expect(!Files.exists(ground.record))
        task.cancel()
        #expect(outcomes(await task.value) == [.done, .interrupted, .interrupted, .interrupted])
    }

    @Test func `leaves the provider alone where it is told to`() async throws {
        let ground = try await ground()
        var options = LogoutOptions(.nobody)
        options.isLocal = true
        #expect(
            outcomes(await logOut(ground, nil, options)) == [.done, .skipped, .skipped, .skipped])
        #expect(ground.fetcher.count == 0)
        #expect(!Files.exists(ground.record))
        #expect(outcomes(await logOut(ground, nil, options)) == Array(repeating: .absent, count: 4))
    }

    @Test func `needs no discovery where the endpoints are by hand (F01)`() async throws {
        let ground = try await ground()
        var settings = Ground.settings
        settings.endpointsByHand["revocation_endpoint"] = "\(base)/hand?p=x"
        _ = await logOut(ground, settings)
        #expect(ground.fetcher.urls == ["\(base)/hand?p=x", "\(base)/hand?p=x"])
    }

    @Test func `forgets a login that cannot be read`() async throws {
        let ground = try await ground()
        try Files.write("{\"version\":1", to: ground.record)
        let report = await logOut(ground)
        #expect(outcomes(report) == [.done, .skipped, .skipped, .skipped])
        #expect(!Files.exists(ground.record))
    }

    @Test func `revokes what cannot be forgotten, and says so`() async throws {
        let ground = try await ground()
        var calls = FileCalls.system
        calls.synchronize = { _ in
            errno = EIO
            return -1
        }
        let other = try Ground(ground.fetcher, calls: calls, sharing: ground)
        let report = await logOut(other)
        #expect(report[.local]?.outcome == .failed)
        #expect(report[.refreshToken]?.outcome == .done)
    }

    // MARK: The session at the provider

    private func session(
        _ ground: Ground, _ settings: OAuthSettings? = nil, timeoutSeconds: UInt64 = 60,
        _ browse: (String) throws -> Void
    ) async throws -> (line: LogoutReport.Line?, events: [LogoutEvent]) {
        var options = LogoutOptions(.printURL)
        options.timeoutMilliseconds = timeoutSeconds * 1000
        let events = Mutex<[LogoutEvent]>([])
        let url = AsyncGate()
        async let report = logOut(ground, settings, options) { event in
            events.withLock { $0.append(event) }
            if case .address = event { url.open() }
        }
        await url.pass()
        guard case .address(let address) = events.withLock({ $0[0] }) else { return (nil, []) }
        try await blocking { try browse(address) }
        let line = await report[.session]
        return (line, events.withLock { $0 })
    }

    private func visit(_ url: String) throws -> HTTPMessage {
        let parts = try WebURL(url)
        let target = parts.path + (parts.query.map { "?" + $0 } ?? "")
        return try RawClient(to: parts.origin.port).exchange("GET", target)
    }

    @Test func `hands the ID token to the browser alone (F83, F49)`() async throws {
        let ground = try await ground(ending)
        let (line, events) = try await session(ground) { address in
            #expect(!address.contains("canary"))
            let origin = try WebURL(address).textBeforePath
            #expect(try visit("\(origin)/").status == 404)
            #expect(try visit("\(origin)/favicon.ico").status == 404)
            let answer = try visit(address)
            #expect(answer.status == 303)
            #expect(
                answer.value("Location")
                    == "https://login.example.com/bye?p=x&id_token_hint=e30.canary-id.x"
                    + "&client_id=my-cli")
            #expect(answer.value("Cache-Control") == "no-store")
            #expect(answer.value("Referrer-Policy") == "no-referrer")
        }
        #expect(line?.outcome == .done)
        #expect(events.count == 1)
    }

    @Test func `names the client where there is no ID token (F83)`() async throws {
        let ground = try await ground(ending)
        try await ground.save("AT1")
        let (line, _) = try await session(ground) { address in
            let location = try visit(address).value("Location")
            #expect(location == "https://login.example.com/bye?p=x&client_id=my-cli")
            // Good once.
            #expect((try? visit(address).status) != 303)
        }
        #expect(line?.outcome == .done)
    }

    @Test(arguments: ["right", "missing"]) func `waits for the browser to come back (F83)`(
        state: String
    ) async throws {
        let ground = try await ground(ending)
        var settings = settings
        settings.afterLogout = LoopbackAddress(path: "/bye")
        let (line, events) = try await session(ground, settings) { address in
            let location = try #require(try visit(address).value("Location"))
            let page = LoginPage(location)
            let back = try #require(page.parameters["post_logout_redirect_uri"])
            #expect(back.hasPrefix("http://127.0.0.1:") && back.hasSuffix("/bye"))
            #expect(try visit("\(back)?state=wrong").status == 400)
            #expect(try visit("\(back)?%zz").status == 400)
            let answer = try visit(state == "right" ? "\(back)?state=\(page.state)" : back)
            #expect(answer.status == 200)
            #expect(answer.body.text.contains("Logged out"))
            // F5
            #expect((try? visit("\(back)?state=\(page.state)").status) ?? 200 == 200)
        }
        #expect(line?.outcome == .done)
        let warned = events.contains { if case .stateMissing = $0 { true } else { false } }
        #expect(warned == (state == "missing"))
    }

    @Test func `gives up when nobody opens the address, or nobody comes back`() async throws {
        for opens in [false, true] {
            let ground = try await ground(ending)
            var settings = settings
            settings.afterLogout = LoopbackAddress(path: "/bye")
            let (line, _) = try await session(ground, settings) { address in
                if opens { _ = try visit(address) }
                try waited(for: "its time to run", within: .seconds(20)) {
                    ground.clock.sleeperCount == 1 ? () : nil
                }
                ground.clock.advance(seconds: 60)
            }
            #expect(line?.outcome == .timedOut)
            #expect(!Files.exists(ground.record))
        }
    }

    @Test func `is interrupted while it waits for the browser`() async throws {
        let ground = try await ground(revoking + "," + ending)
        let opened = AsyncGate()
        let task = Task {
            await logOut(ground, nil, LogoutOptions(.printURL)) { _ in opened.open() }
        }
        await opened.pass()
        task.cancel()
        #expect(outcomes(await task.value) == [.done, .done, .done, .interrupted])
    }

    @Test func `opens a browser by its words, or says that there is none`() async throws {
        var ground = try await ground(ending)
        let browser = try ground.browser()
        let report = Task { [ground] in
            await logOut(ground, nil, LogoutOptions(.browser(browser)))
        }
        try await eventually("it was opened") { [ground] in ground.opened.count == 1 }
        #expect(!ground.opened[0].contains("canary"))
        try await blocking { [ground] in _ = try visit(ground.opened[0]) }
        #expect(await report.value[.session]?.outcome == .done)
        ground = try await self.ground(ending)
        let none = await logOut(ground, nil, LogoutOptions(.browser(["/no/such/browser"])))
        #expect(none[.session]?.outcome == .failed)
        ground = try await self.ground(ending)
        #expect(await logOut(ground)[.session]?.outcome == .skipped)
    }
}
