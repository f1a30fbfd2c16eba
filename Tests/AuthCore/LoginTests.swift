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

@Suite struct `Interactive login` {
    private let issuer = "https://login.example.com"

    @Test func `goes from a URL through the callback to a stored login`() async throws {
        var settings = Ground.settings
        settings.scopes = ["openid", "api"]
        settings.additions[.authorization] = RequestAdditions(parameters: [
            NamedValue("audience", "x"), NamedValue("login_hint", "old"),
        ])
        let ground = try Ground()
        var options = LoginOptions(.printURL)
        options.additionalScopes = ["api", "more"]
        options.loginHint = "a@b.example"
        let session = try await ground.desk(settings).begin(github, options)
        let page = session.page
        #expect(session.url.hasPrefix("https://login.example.com/authorize?"))
        #expect(page.parameters["scope"] == "openid api more")
        #expect(page.parameters["audience"] == "x")
        #expect(page.parameters["login_hint"] == "a@b.example")
        #expect(page.parameters["code_challenge_method"] == "S256")
        let nonce = try #require(page.parameters["nonce"])
        let claims =
            #"{"iss":"\#(issuer)","sub":"s","aud":"my-cli","exp":1700000300,"iat":1700000001,"nonce":"\#(nonce)"}"#
        ground.fetcher.answer { _, _ in
            .json(
                200,
                #"{"access_token":"AT1","refresh_token":"RT1","expires_in":"300","scope":"openid api","#
                    + #""id_token":"\#(Ground.provider.token(claims))","did":"x"}"#)
        }
        try await blocking {
            let answer = try page.visit(try page.success())
            #expect(answer.status == 200)
            #expect(answer.body.text.contains("Logged in"))
        }
        let login = try await session.result()
        await session.close()
        #expect(login.access == "AT1")
        let stored = try #require(try await ground.store.load(github))
        #expect(stored.refresh == "RT1")
        #expect(stored.scope == "openid api")
        #expect(stored.issuer == issuer)
        #expect(stored.expiresAt == ground.now.advanced(by: 300))
        #expect(stored.extras["did"]?.asRevealedString == "x")
        let form = try #require(ground.fetcher.forms.first)
        #expect(form["grant_type"] == "authorization_code")
        #expect(form["code"] == "C1")
        #expect(form["redirect_uri"] == page.parameters["redirect_uri"])
        let verifier = try #require(form["code_verifier"])
        #expect(
            PKCE(verifier: SecretBytes(verifier)).challenge == page.parameters["code_challenge"])
    }

    @Test func `once it is over does not say that it waits`() async throws {
        for query in ["error=access_denied", "code=C1"] {
            let ground = try Ground(ScriptedFetcher([.tokens("AT1", refresh: "RT1")]))
            let session = try await ground.desk().begin(github, LoginOptions(.printURL))
            let page = session.page
            try await blocking {
                let first = try page.visit(try page.target("\(query)&state=\(page.state)"))
                // A reload says the same, and a stranger's message nothing of it.
                let again = try page.visit(try page.target("\(query)&state=\(page.state)"))
                // All but the nonce of its style.
                let (said, saidAgain) = (first.body.text, again.body.text)
                #expect(
                    saidAgain.split(separator: "</style>").last
                        == said.split(separator: "</style>").last)
                let other = try page.visit(try page.target("code=C2&state=other"))
                #expect(other.status == 400)
                #expect(other.body.text.contains("This login is over"))
            }
            await session.close()
        }
    }

    @Test func `is not disturbed by silence, favicons, HEAD, prefetching and strangers`()
        async throws
    {
        // C071, C072, requirement 15
        let ground = try Ground(ScriptedFetcher([.tokens("AT1", refresh: "RT1")]))
        let ignored = Mutex<[CallbackError]>([])
        let session = try await ground.desk().begin(github, LoginOptions(.printURL)) { event in
            if case .ignoredCallback(let error) = event { ignored.withLock { $0.append(error) } }
        }
        let page = session.page
        try await blocking {
            let port = try page.redirect.origin.port
            let silent = try SocketStream.connect(to: port)
            try SocketStream.connect(to: port).reset()
            #expect(try page.visit("/favicon.ico").status == 404)
            #expect(try page.visit("/callback/").status == 404)
            let good = try page.success()
            #expect(try page.visit(good, method: "HEAD").status == 405)
            #expect(try page.visit(good, method: "POST").status == 405)
            #expect(try page.visit(good, fields: [("Host", "evil.example")]).status == 400)
            #expect(
                try page.visit(good, fields: [("Sec-Purpose", "prefetch;prerender")]).status == 503)
            #expect(try page.visit(good, fields: [("Purpose", "prefetch")]).status == 503)
            #expect(try page.visit(page.target("code=C1&state=wrong")).status == 400)
            #expect(try page.visit(page.target("code=C1")).status == 400)
            #expect(try page.visit(page.target("error=access_denied&state=wrong")).status == 400)
            #expect(
                try page.visit(page.target("code=C1&state=\(page.state)&state=x")).status == 400)
            #expect(try page.visit("/callback").status == 400)
            #expect(ground.fetcher.count == 0)
            #expect(try page.visit(good).status == 200)
            // F5, and somebody who knows the state by now.
            #expect(try page.visit(good).body.text.contains("Logged in"))
            #expect(try page.visit(page.success(code: "C2")).status == 400)
            #expect(try page.visit(page.target("error=x&state=\(page.state)")).status == 400)
            silent.close()
        }
        #expect(try await session.result().access == "AT1")
        #expect(ground.fetcher.count == 1)
        #expect(
            ignored.withLock { $0 } == [
                .stateMismatch, .stateMissing, .stateMismatch, .unreadable, .noParameters,
            ])
        await session.close()
        await blocking {
            #expect(throws: Failure.self) { try page.visit(try page.success()) }
        }
    }

    @Test func `shows pages that keep and leak nothing`() async throws {
        // C074
        let ground = try Ground(ScriptedFetcher([.error("invalid_grant")]))
        let session = try await ground.desk().begin(github, LoginOptions(.printURL))
        let page = session.page
        let script = "%3Cscript%3Efetch('http://localhost:8080/v1/me')%3C/script%3E"
        try await blocking {
            let pages = [
                try page.visit("/callback?error=x&error_description=\(script)"),
                try page.visit("/\(script)"),
                try page.visit(
                    page.target("error=\(script)&error_description=\(script)&state=\(page.state)")),
            ]
            for answer in pages {
                #expect(answer.value("Cache-Control") == "no-store")
                #expect(answer.value("Referrer-Policy") == "no-referrer")
                #expect(answer.value("X-Content-Type-Options") == "nosniff")
                #expect(
                    answer.value("Content-Security-Policy")?.hasPrefix("default-src 'none'") == true
                )
                #expect(answer.value("Content-Type") == "text/html; charset=utf-8")
                #expect(!answer.body.text.contains("<script"))
                #expect(!answer.body.text.contains(page.state))
            }
        }
        guard case .callback(.refused) = try await session.failure() else {
            Issue.record("not refused")
            return
        }
        await session.close()
    }

    @Test func `ends at once when the provider says no`() async throws {
        // F25
        let ground = try Ground()
        try await ground.save("OLD")
        let session = try await ground.desk().begin(github, LoginOptions(.printURL))
        let page = session.page
        try await blocking {
            let answer = try page.visit(page.target("error=access_denied&state=\(page.state)"))
            #expect(answer.body.text.contains("Login failed"))
        }
        let failure = try await session.failure()
        #expect(failure.kind == .denied)
        #expect(failure.message.contains("access_denied"))
        #expect(ground.fetcher.count == 0)
        // What was there is still there.
        #expect(try await ground.store.load(github)?.access == "OLD")
        await session.close()
    }

    @Test(arguments: [
        ("iss=https%3A%2F%2Fevil.example", false),
        ("iss=https%3A%2F%2Flogin.example.com%2F", false),
        ("iss=https%3A%2F%2Flogin.example.com", true), ("", true),
    ])
    func `believes an answer only from the issuer that it was sent to`(
        query: String, isGood: Bool
    ) async throws {
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let session = try await ground.desk().begin(github, LoginOptions(.printURL))
        let page = session.page
        try await blocking {
            _ = try page.visit(page.target("code=C1&state=\(page.state)&\(query)"))
        }
        if isGood {
            #expect(try await session.result().access == "AT1")
        } else {
            guard case .callback(.issuerMismatch) = try await session.failure() else {
                Issue.record("the answer was believed")
                return
            }
            #expect(ground.fetcher.count == 0)
        }
        await session.close()
    }

    @Test(arguments: [
        ("nonce", #""nonce":"other""#), ("nonce missing", #""x":1"#),
        ("audience", #""aud":"other""#), ("issuer", #""iss":"https://evil.example""#),
        ("expired", #""exp":1699990000"#),
    ])
    func `stores nothing when the ID token is wrong`(name: String, claim: String) async throws {
        var settings = Ground.settings
        settings.scopes = ["openid"]
        let ground = try Ground()
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let page = session.page
        let nonce = page.parameters["nonce"] ?? ""
        var claims = [
            "iss": #""iss":"\#(issuer)""#, "sub": #""sub":"s""#, "aud": #""aud":"my-cli""#,
            "exp": #""exp":1700000300"#, "iat": #""iat":1700000000"#,
            "nonce": #""nonce":"\#(nonce)""#,
        ]
        let wrong = String(claim.dropFirst().prefix { $0 != "\"" })
        claims[wrong == "x" ? "nonce" : wrong] = claim
        let token = Ground.provider.token("{" + claims.values.joined(separator: ",") + "}")
        ground.fetcher.answer { _, _ in
            .json(200, #"{"access_token":"AT1","id_token":"\#(token)"}"#)
        }
        try await blocking { _ = try page.visit(try page.success()) }
        guard case .idToken = try await session.failure() else {
            Issue.record("\(name) was accepted")
            return
        }
        #expect(try await ground.store.load(github) == nil)
        await session.close()
    }

    @Test(arguments: [-240, -1, 0, 1, 240]) func `forgives a clock that is some minutes off`(
        seconds: Int64
    ) async throws {
        // C048
        var settings = Ground.settings
        settings.scopes = ["openid"]
        let ground = try Ground()
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let page = session.page
        let issued = 1_700_000_000 + seconds
        let claims =
            #"{"iss":"\#(issuer)","sub":"s","aud":"my-cli","exp":\#(issued + 300),"iat":\#(issued),"#
            + #""nbf":\#(issued),"nonce":"\#(page.parameters["nonce"] ?? "")"}"#
        let token = Ground.provider.token(claims)
        ground.fetcher.answer { _, _ in
            .json(200, #"{"access_token":"AT1","expires_in":60,"id_token":"\#(token)"}"#)
        }
        try await blocking { _ = try page.visit(try page.success()) }
        let login = try await session.result()
        // The lifetime is counted by our own clock.
        #expect(login.expiresAt == ground.now.advanced(by: 60))
        await session.close()
    }

    @Test func `sends a code once, even when the answer is lost`() async throws {
        let ground = try Ground(ScriptedFetcher([.failure(.timedOut(mayHaveArrived: true))]))
        let session = try await ground.desk().begin(github, LoginOptions(.printURL))
        let page = session.page
        try await blocking {
            for _ in 0..<2 {
                let answer = try page.visit(try page.success())
                #expect(answer.body.text.contains("Login failed"))
            }
        }
        guard case .token = try await session.failure() else { return }
        #expect(ground.fetcher.count == 1)
        await session.close()
    }

    @Test func `takes a pasted URL with the same checks`() async throws {
        // F27
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let session = try await ground.desk().begin(github, LoginOptions(.paste))
        let page = session.page
        let redirect = page.parameters["redirect_uri"] ?? ""
        for wrong in [
            "", "hello", "https://evil.example/callback?code=C1&state=\(page.state)",
            "\(redirect)?code=C1&state=wrong", "\(redirect)?code=C1", redirect,
            "\(redirect)/?code=C1&state=\(page.state)",
        ] {
            let error = await #expect(throws: CallbackError.self) { try await session.paste(wrong) }
            #expect(error?.endsLogin == false)
        }
        #expect(ground.fetcher.count == 0)
        try await session.paste("  \(redirect)?code=C1&state=\(page.state)#_=_ \n")
        #expect(try await session.result().access == "AT1")
        await session.close()
    }

    @Test func `ends after its time, with the port free again`() async throws {
        // F26
        let ground = try Ground()
        var options = LoginOptions(.printURL)
        options.timeoutMilliseconds = 60_000
        let session = try await ground.desk().begin(github, options)
        let page = session.page
        try await eventually("its time runs") { ground.clock.sleeperCount == 1 }
        ground.clock.advance(seconds: 60)
        let failure = try await session.failure()
        #expect(failure.kind == .timedOut)
        await session.close()
        await blocking {
            #expect(throws: Failure.self) { try page.visit("/") }
        }
        let second = try await ground.desk().begin(github, options)
        await second.cancel()
        guard case .cancelled = try await second.failure() else { return }
        await second.close()
    }

    @Test func `runs once at a time for one credential`() async throws {
        // F29, and F30: another credential is another matter.
        let ground = try Ground()
        let other = try Ground(sharing: ground)
        let first = try await ground.desk().begin(github, LoginOptions(.printURL))
        let failure = await #expect(throws: LoginFailure.self) {
            try await other.desk().begin(github, LoginOptions(.printURL))
        }
        guard case .alreadyInProgress = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        await first.close()
        let second = try await other.desk().begin(github, LoginOptions(.printURL))
        await second.close()
    }

    @Test func `fails at once where a pinned port is taken, and opens nothing`() async throws {
        // C076
        let ground = try Ground()
        let taken = try await ground.desk().begin(github, LoginOptions(.printURL))
        var settings = Ground.settings
        settings.callbackPort = try taken.page.redirect.origin.port
        let other = try Ground()
        let browser = try other.browser()
        let failure = await #expect(throws: LoginFailure.self) {
            try await other.desk(settings).begin(github, LoginOptions(.browser(browser)))
        }
        guard case .portInUse(settings.callbackPort) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(other.opened.isEmpty)
        await taken.close()
    }

    @Test(arguments: ["127.0.0.1", "::1"]) func `listens on both loopback addresses`(
        address: String
    ) async throws {
        // C070
        var settings = Ground.settings
        settings.callbackHost = "localhost"
        let ground = try Ground(ScriptedFetcher([.tokens("AT1")]))
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let page = session.page
        #expect(page.parameters["redirect_uri"]?.hasPrefix("http://localhost:") == true)
        try await blocking {
            let client = try RawClient(to: try page.redirect.origin.port, host: address)
            #expect(try client.exchange("GET", try page.success()).status == 200)
        }
        #expect(try await session.result().access == "AT1")
        await session.close()
    }

    @Test func `notices a browser that insists on https`() async throws {
        // I34
        let ground = try Ground()
        let noticed = AsyncGate()
        let session = try await ground.desk().begin(github, LoginOptions(.printURL)) { event in
            if case .callbackSpokeTLS = event { noticed.open() }
        }
        let page = session.page
        try await blocking {
            let client = try SocketStream.connect(to: try page.redirect.origin.port)
            try client.write("\u{16}\u{03}\u{01}\u{02}\u{00}\u{01}\u{00}\u{01}\u{FC}\u{03}\u{03}")
        }
        await noticed.pass()
        await session.close()
    }

    @Test func `opens a browser by its words, with the URL as one argument`() async throws {
        let ground = try Ground()
        let browser = try ground.browser()
        let session = try await ground.desk().begin(github, LoginOptions(.browser(browser)))
        try await eventually("it was opened") { ground.opened == [session.url] }
        await session.close()
        let failure = await #expect(throws: LoginFailure.self) {
            try await ground.desk().begin(github, LoginOptions(.browser(["/no/such/browser"])))
        }
        guard case .browser = failure else { return }
        // Nothing is left of it.
        let again = try await ground.desk().begin(github, LoginOptions(.printURL))
        await again.close()
    }

    @Test func `keeps the refresh token of the same person where a new one is not given`()
        async throws
    {
        // Some providers give one only with the first consent.
        for subject in ["s", "other"] {
            let ground = try Ground()
            func token(_ subject: String, _ nonce: String) -> String {
                Ground.provider.token(
                    #"{"iss":"\#(issuer)","sub":"\#(subject)","aud":"my-cli","exp":1700000300,"#
                        + #""iat":1700000000,"nonce":"\#(nonce)"}"#)
            }
            var old = ground.login("OLD", refresh: "RT1")
            old.idToken = SecretBytes(token("s", "x"))
            try await ground.store.save(old, github)
            var settings = Ground.settings
            settings.scopes = ["openid"]
            var options = LoginOptions(.printURL)
            options.switchesUser = subject == "other"
            let session = try await ground.desk(settings).begin(github, options)
            let page = session.page
            let fresh = token(subject, page.parameters["nonce"] ?? "")
            ground.fetcher.answer { _, _ in
                .json(200, #"{"access_token":"AT1","expires_in":60,"id_token":"\#(fresh)"}"#)
            }
            try await blocking { _ = try page.visit(try page.success()) }
            #expect(try await session.result().refresh == (subject == "s" ? "RT1" : nil))
            await session.close()
        }
    }
}
