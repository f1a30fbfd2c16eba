// The addresses of the admin listener, without a socket: a desk that notes what it was asked stands for
// the proxy.

import LoopbackServer
import Pages
import Synchronization
import Testing
import Vocabulary

@testable import Admin

/// Answers with given facts and notes what it is asked to do.
final class ScriptedDesk: AdminDesk {
    struct State {
        var facts = StatusFacts.sample
        var asked: [String] = []
        var quits = 0
        var login = LoginStart.page(url: "https://login.example/authorize?a=1&state=2")
        var returnURL: String?
        var ended: (@Sendable (Notice) -> Void)?
    }

    let state = Mutex(State())
    let quit: (@Sendable () -> Void)?

    init(quit: (@Sendable () -> Void)? = nil) { self.quit = quit }

    var asked: [String] { state.withLock { $0.asked } }

    func facts() async -> StatusFacts { state.withLock { $0.facts } }
    func metrics() async -> String? { nil }

    func logIn(
        to name: String, returnURL: String?, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LoginStart {
        state.withLock { state in
            state.asked.append("login \(name)")
            state.returnURL = returnURL
            state.ended = ended
            return state.login
        }
    }

    func refresh(_ name: String) async -> Notice {
        state.withLock { $0.asked.append("refresh \(name)") }
        return Notice(.good, "Refreshed <\(name)>.")
    }

    func logOut(
        of name: String, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LogoutStart {
        state.withLock { $0.asked.append("logout \(name)") }
        return .ended(Notice(.good, "Logged out."))
    }
}

extension StatusFacts {
    static let base = WallTime(seconds: 1_800_000_000)

    /// A login that is well and one that needs a person, with hostile words in it.
    static var sample: StatusFacts {
        var facts = StatusFacts(
            version: "9.9", now: base, startedAt: base.advanced(by: -7200),
            addresses: ["http://127.0.0.1:8080"])
        var github = CredentialFacts(name: "github", kind: .login, state: .usable)
        github.obtainedAt = base.advanced(by: -600)
        github.expiresAt = base.advanced(by: 3000)
        github.nextRefreshAt = base.advanced(by: 2940)
        github.isRenewable = true
        (github.canLogIn, github.canLogOut, github.canRefresh) = (true, true, true)
        github.scopes = ["repo", "<script>alert(1)</script>"]
        github.missingScopes = ["admin"]
        var google = CredentialFacts(name: "google", kind: .login, state: .loginRequired)
        google.detail = "the provider answered \"<img src=x onerror=alert(1)>\""
        google.canLogIn = true
        facts.credentials = [github, google]
        var route = RouteFacts(
            name: "/github", upstream: "https://api.github.com", credential: "github")
        route.traffic = .init()
        route.traffic?.requests = 12_480
        route.traffic?.errors = 2
        route.traffic?.buckets = [.init(requests: 0, errors: 0), .init(requests: 9, errors: 2)]
        facts.routes = [
            route, RouteFacts(name: "/", upstream: "https://b.example", credential: nil),
        ]
        facts.requests = [
            RequestFacts(
                at: base.advanced(by: -3), method: "GET", path: "/github/\"><script>", status: 503,
                milliseconds: 1, code: "login_required", id: "0000000000000001")
        ]
        return facts
    }
}

extension ServerResponse {
    var text: String { String(decoding: body, as: UTF8.self) }
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }
}

@Suite struct `Admin site` {
    private let desk = ScriptedDesk()
    private let site: AdminSite

    init() { site = AdminSite(desk) }

    private func get(_ target: String) async -> ServerResponse {
        let parts = target.split(separator: "?", maxSplits: 1)
        return await site.answer(
            ServerRequest(
                method: "GET", target: target, path: String(parts[0]),
                query: parts.count > 1 ? String(parts[1]) : nil,
                fields: [ServerField("Host", "localhost:8081")]))
    }

    private func post(
        _ path: String, _ form: String, type: String = "application/x-www-form-urlencoded"
    ) async -> ServerResponse {
        await site.answer(
            ServerRequest(
                method: "POST", target: path, path: path,
                fields: [
                    ServerField("Host", "localhost:8081"), ServerField("Content-Type", type),
                ], body: Array(form.utf8)))
    }

    /// As the page has it.
    private func token() async throws -> String {
        let text = await get("/").text
        let match = try #require(text.firstMatch(of: /name="token" value="([0-9a-f]{64})"/))
        return String(match.1)
    }

    @Test func `a page is whole in itself, and may do nothing but what it does`() async throws {
        let page = await get("/")
        #expect(page.status == 200)
        let policy = try #require(page.field("Content-Security-Policy"))
        let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([0-9a-f]{32})'/)).1
        #expect(
            policy
                == "default-src 'none'; style-src 'nonce-\(nonce)'; img-src data:; "
                + "script-src 'nonce-\(nonce)'; connect-src 'self'; form-action 'self'; "
                + "base-uri 'none'; frame-ancestors 'none'")
        #expect(page.field("Cache-Control") == "no-store")
        #expect(page.field("X-Frame-Options") == "DENY")
        #expect(page.text.matches(of: /<(?:script|style)\b/).count == 2)
        #expect(page.text.matches(of: /<(?:script|style) nonce="([0-9a-f]{32})"/).count == 2)
        #expect(!page.text.contains(#/<[^>]* on[a-z]+=/#))
        #expect(!page.text.contains(" style=\""))
        let again = try #require(await get("/").field("Content-Security-Policy"))
        #expect(again != policy, "a nonce is used once")
    }

    @Test func `nothing that others wrote is markup`() async throws {
        let text = await get("/").text
        #expect(!text.contains("<script>alert"))
        #expect(!text.contains("<img"))
        #expect(!text.contains("\"><script>"))
        #expect(text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    }

    @Test func `states, times, routes and requests are said in words`() async throws {
        let text = await get("/").text
        for words in [
            "google needs a login", "Usable", "Login required", "50 min 0 s", "in 49 min 0 s",
            "12,480", "requests: 9, errors: 2", "3 s ago", "login_required",
            "Up for", "2 h 0 min", "(not granted)",
        ] {
            #expect(text.contains(words), "\(words)")
        }
    }

    @Test func `GET changes nothing, whatever it says`() async throws {
        let token = try await token()
        for path in ["/login", "/refresh", "/logout", "/quit"] {
            let answer = await get("\(path)?credential=github&token=\(token)")
            #expect(answer.status == 405)
            #expect(answer.field("Allow") == "POST")
        }
        #expect(desk.asked.isEmpty)
        #expect(await post("/status.json", "").status == 405)
        #expect(await post("/", "").status == 405)
    }

    @Test func `a form needs this process's token`() async throws {
        let token = try await token()
        let other = String(token.reversed())
        for form in [
            "credential=github", "token=&credential=github", "token=\(other)&credential=github",
            "token=\(token)", "token=\(token.dropLast())&credential=github", "",
        ] {
            let answer = await post("/refresh", form)
            #expect(answer.status == 403, "\(form)")
        }
        #expect(
            await post("/refresh", "token=\(token)&credential=github", type: "text/plain").status
                == 415)
        #expect(desk.asked.isEmpty)
        #expect(await post("/refresh", "token=\(token)&credential=github").status == 303)
        #expect(desk.asked == ["refresh github"])
    }

    @Test func `what came of it is told once the page is back, and only there`() async throws {
        let token = try await token()
        let answer = await post("/refresh", "token=\(token)&credential=github")
        let location = try #require(answer.field("Location"))
        #expect(location.wholeMatch(of: /\/\?notice=[0-9a-f]{32}/) != nil)
        #expect(await get(location).text.contains("Refreshed &lt;github&gt;."))
        let made = await get("/?notice=Refreshed").text
        #expect(!made.contains("class=\"note"))
    }

    @Test func `a login leads this browser to the provider and back`() async throws {
        let token = try await token()
        let answer = await post("/login", "token=\(token)&credential=google")
        #expect(answer.status == 200)
        #expect(answer.text.contains("Log in at login.example"))
        #expect(
            answer.text.contains(
                "content=\"0; url=https://login.example/authorize?a=1&amp;state=2\""))
        #expect(answer.text.contains("href=\"https://login.example/authorize?a=1&amp;state=2\""))
        let back = try #require(desk.state.withLock { $0.returnURL })
        #expect(back.hasPrefix("http://localhost:8081/?notice="))
        desk.state.withLock { $0.ended }?(Notice(.good, "Logged in to google."))
        #expect(await get(String(back.dropFirst(21))).text.contains("Logged in to google."))
    }

    @Test func `a code is shown until somebody has used it`() async throws {
        desk.state.withLock {
            $0.login = .code(
                url: "https://login.example/device", userCode: "WDJB-MJHT", seconds: 900)
        }
        let token = try await token()
        let answer = await post("/login", "token=\(token)&credential=google")
        let location = try #require(answer.field("Location"))
        #expect(location.hasPrefix("/code?login="))
        let page = await get(location)
        #expect(page.text.contains("WDJB-MJHT"))
        #expect(page.text.contains("https://login.example/device"))
        desk.state.withLock { $0.ended }?(Notice(.good, "Logged in to google."))
        let done = await get(location)
        #expect(done.status == 303)
        #expect(
            await get(try #require(done.field("Location"))).text.contains("Logged in to google."))
        #expect(await get("/code?login=https://evil.example").field("Location") == "/?notice=")
    }

    @Test func `readiness says which credential is why`() async throws {
        let all = await get("/readyz")
        #expect(all.status == 503)
        #expect(all.text.contains(#""name": "google""#))
        #expect(all.text.contains(#""state": "login_required""#))
        #expect(await get("/readyz?credential=github").status == 200)
        #expect(await get("/readyz?credential=google").status == 503)
        #expect(await get("/readyz?credential=nobody").status == 404)
        desk.state.withLock { _ = $0.facts.credentials.removeLast() }
        #expect(await get("/readyz").status == 200)
        desk.state.withLock { $0.facts.isDraining = true }
        #expect(await get("/readyz").status == 503)
        #expect(await get("/livez").text == "ok\n")
    }

    @Test(arguments: CredentialState.allCases)
    func `each state is ready or not, and never without a word`(
        _ state: CredentialState
    ) async throws {
        let ready: Set<CredentialState> = [.usable, .renewable]
        #expect(state.isReady == ready.contains(state))
        let words = StateWords(CredentialFacts(name: "a", kind: .login, state: state))
        #expect(!words.label.isEmpty)
        #expect(state.isReady == [.good, .calm].contains(words.tone))
    }

    @Test func `a stranger learns one word`() async throws {
        var request = ServerRequest(method: "GET", target: "/readyz", path: "/readyz")
        request.isStranger = true
        let answer = await site.answer(request)
        #expect((answer.status, answer.text) == (503, "not ready\n"))
    }

    @Test func `status.json has a revision that time alone does not change`() async throws {
        func revision() async throws -> String {
            let text = await get("/status.json").text
            return String(try #require(text.firstMatch(of: /"revision": "([0-9a-f]+)"/)).1)
        }
        let first = try await revision()
        desk.state.withLock { $0.facts.now = $0.facts.now.advanced(by: 60) }
        #expect(try await revision() == first)
        desk.state.withLock { $0.facts.credentials[0].state = .failing }
        // The document of a credential is its own status; it is what counts.
        desk.state.withLock { $0.facts.credentials[0].document = ["state": "temporarily_failing"] }
        #expect(try await revision() != first)
    }

    @Test func `the end can be asked for only where that is allowed`() async throws {
        #expect(await post("/quit", "").status == 404)
        let quits = Atomic(0)
        let willing = AdminSite(ScriptedDesk(quit: { quits.add(1, ordering: .relaxed) }))
        let answer = await willing.answer(
            ServerRequest(method: "POST", target: "/quit", path: "/quit"))
        #expect(answer.status == 202)
        #expect(quits.load(ordering: .relaxed) == 1)
    }
}
