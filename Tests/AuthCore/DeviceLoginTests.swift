import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Device login` {
    private static let place = "https://login.example.com/device"

    private var settings: OAuthSettings {
        var settings = Ground.settings
        settings.grant = .deviceCode
        settings.endpointsByHand["device_authorization_endpoint"] = Self.place
        settings.scopes = ["api"]
        return settings
    }

    /// Gives a code, then answers polls in this order, the last one again and again.
    private func ground(
        _ polls: [Result<InboundResponse, FetchError>], expiresIn: Int = 600, interval: Int = 5
    ) throws -> Ground {
        try Ground(
            ScriptedFetcher { request, number in
                guard request.url != Self.place else {
                    return .json(
                        200,
                        #"{"device_code":"canary-device","user_code":"WDJB-MJHT","#
                            + #""verification_uri":"https://login.example.com/activate","#
                            + #""verification_uri_complete":"#
                            + #""https://login.example.com/activate?user_code=WDJB-MJHT","#
                            + #""expires_in":\#(expiresIn),"interval":\#(interval)}"#)
                }
                // The first request is the one for the code.
                return polls[min(number - 1, polls.count) - 1]
            })
    }

    private let pending: Result<InboundResponse, FetchError> = .error("authorization_pending")

    /// Lets the clock go on, sleeper by sleeper, until the session has ended.
    private func outcome(
        _ session: LoginSession, _ ground: Ground, step milliseconds: UInt64 = 1000
    ) async throws -> (result: Result<Login, LoginFailure>, seconds: UInt64) {
        let end = End()
        let waiting = Task {
            do throws(LoginFailure) {
                end.result = .success(try await session.result())
            } catch {
                end.result = .failure(error)
            }
        }
        let start = ground.clock.bootTime().milliseconds
        try await eventually("the login ends") {
            if end.result != nil { return true }
            if ground.clock.sleeperCount > 0 { ground.clock.advance(milliseconds: milliseconds) }
            return false
        }
        await waiting.value
        await session.close()
        let passed = (ground.clock.bootTime().milliseconds - start) / 1000
        return (try #require(end.result), passed)
    }

    private final class End: Sendable {
        private let value = Mutex<Result<Login, LoginFailure>?>(nil)

        var result: Result<Login, LoginFailure>? {
            get { value.withLock { $0 } }
            set { value.withLock { $0 = newValue } }
        }
    }

    @Test func `shows a code and stores what comes of it`() async throws {
        let ground = try ground([pending, pending, .tokens("AT1", refresh: "RT1")])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let device = try #require(session.device)
        #expect(device.userCode == "WDJB-MJHT")
        #expect(device.verificationURI == "https://login.example.com/activate")
        #expect(session.url == "https://login.example.com/activate?user_code=WDJB-MJHT")
        let (result, seconds) = try await outcome(session, ground)
        #expect(try result.get().access == "AT1")
        #expect(try await ground.store.load(github)?.refresh == "RT1")
        // Never faster than the interval.
        #expect((15...18).contains(seconds), "\(seconds)")
        let forms = ground.fetcher.forms
        #expect(forms[0] == ["client_id": "my-cli", "scope": "api"])
        #expect(
            forms[1] == [
                "grant_type": "urn:ietf:params:oauth:grant-type:device_code",
                "device_code": "canary-device", "client_id": "my-cli",
            ])
        #expect(forms.count == 4)
    }

    @Test func `by option, whatever the configuration's grant`() async throws {
        let ground = try ground([.tokens("AT1", refresh: "RT1")])
        var settings = settings
        settings.grant = .authorizationCode
        var options = LoginOptions(.printURL)
        options.usesDevice = true
        let session = try await ground.desk(settings).begin(github, options)
        #expect(session.device != nil)
        #expect(try await outcome(session, ground).result.get().access == "AT1")
    }

    @Test func `slows down when told to, for good`() async throws {
        let ground = try ground([
            .error("slow_down"), pending, pending, .tokens("AT1", refresh: "RT1"),
        ])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let (result, seconds) = try await outcome(session, ground)
        #expect(try result.get().access == "AT1")
        // 5, then 10 three times.
        #expect((35...39).contains(seconds), "\(seconds)")
    }

    @Test func `goes on after a network that fails`() async throws {
        let ground = try ground([
            .failure(.timedOut(mayHaveArrived: true)), .failure(.connectionRefused(host: "h")),
            .page(503), .tokens("AT1", refresh: "RT1"),
        ])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let (result, seconds) = try await outcome(session, ground)
        #expect(try result.get().access == "AT1")
        // 5, 10, 20, 40.
        #expect((75...79).contains(seconds), "\(seconds)")
    }

    @Test func `ends when the code does, by our clock or the server's`() async throws {
        let silent = try ground([pending], expiresIn: 30)
        let first = try await silent.desk(settings).begin(github, LoginOptions(.printURL))
        let (ours, seconds) = try await outcome(first, silent)
        guard case .failure(.deviceCodeExpired) = ours else {
            Issue.record("\(ours)")
            return
        }
        #expect(seconds <= 31)
        #expect(LoginFailure.deviceCodeExpired.kind == .timedOut)
        let told = try ground([.error("expired_token")])
        let second = try await told.desk(settings).begin(github, LoginOptions(.printURL))
        guard case .failure(.deviceCodeExpired) = try await outcome(second, told).result else {
            Issue.record("not told")
            return
        }
    }

    @Test(arguments: ["access_denied", "invalid_grant", "invalid_client"])
    func `ends with a refusal`(code: String) async throws {
        let ground = try ground([pending, .error(code)])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let (result, _) = try await outcome(session, ground)
        guard case .failure(let failure) = result else {
            Issue.record("a login")
            return
        }
        #expect((failure.kind == .denied) == (code == "access_denied"))
        #expect(try await ground.store.load(github) == nil)
    }

    @Test func `needs an endpoint`() async throws {
        let ground = try ground([pending])
        var settings = settings
        settings.endpointsByHand = [:]
        let failure = await #expect(throws: LoginFailure.self) {
            _ = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        }
        #expect(failure?.kind == .configuration)
    }

    @Test func `that is cancelled asks no more`() async throws {
        let ground = try ground([pending])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        await session.cancel()
        await session.close()
        let count = ground.fetcher.count
        ground.clock.advance(seconds: 60)
        #expect(ground.fetcher.count == count)
    }

    // MARK: For traffic

    @Test func `for traffic without a person tells the code at once, once`() async throws {
        let ground = try ground([pending])
        let desk = ground.desk(settings)
        for _ in 0..<3 {
            guard
                case .refused(.loginRequired(let url?, let code?, "proxy login github", _), _) =
                    await desk.demand(github)
            else {
                Issue.record("no code")
                return
            }
            #expect(url == "https://login.example.com/activate?user_code=WDJB-MJHT")
            #expect(code == "WDJB-MJHT")
        }
        #expect(ground.fetcher.urls.filter { $0 == Self.place }.count == 1)
        await desk.close()
    }

    @Test func `for traffic waits for a provider in trouble instead of asking anybody`()
        async throws
    {
        let ground = try Ground(ScriptedFetcher([.page(503)]))
        let desk = ground.desk(settings)
        guard case .refused(.tokenEndpointUnreachable, _) = await desk.demand(github) else {
            Issue.record("somebody was asked")
            return
        }
    }

    @Test func `for traffic with a person opens the page, and requests wait`() async throws {
        let ground = try ground([.tokens("AT1", refresh: "RT1")])
        let desk = ground.desk(settings, person: .present(browser: try ground.browser()))
        let keeper = ground.keeper(settings, desk: desk)
        let running = Task { await keeper.run() }
        defer { running.cancel() }
        async let token = keeper.text()
        try await eventually("the page is open") {
            ground.opened == ["https://login.example.com/activate?user_code=WDJB-MJHT"]
        }
        try await eventually("the clock is waited for") { ground.clock.sleeperCount > 0 }
        let ticking = Task {
            while !Task.isCancelled {
                ground.clock.advance(milliseconds: 500)
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        defer { ticking.cancel() }
        #expect(try await token == "AT1")
        await desk.close()
    }
}
