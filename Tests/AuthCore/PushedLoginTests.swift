import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let base = "https://login.example.com"
private let pushing = #""pushed_authorization_request_endpoint":"https://login.example.com/par""#
private let demanding = pushing + #","require_pushed_authorization_requests":true"#

private var discovered: OAuthSettings {
    var settings = OAuthSettings(endpoints: .issuer(base), clientID: "my-cli")
    settings.scopes = ["openid", "api"]
    return settings
}

/// A provider that takes pushed requests and then gives tokens.
private func provider(
    _ metadata: String = demanding, pushed: Result<InboundResponse, FetchError>? = nil,
    seconds: Int = 60
) -> ScriptedFetcher {
    let count = Mutex(0)
    return ScriptedFetcher(metadata: metadata) { path, _ in
        guard path == "/par" else { return .tokens("AT1", refresh: "RT1") }
        let number = count.withLock { number in
            number += 1
            return number
        }
        let answer = #"{"request_uri":"urn:x:\#(number)+&","expires_in":\#(seconds)}"#
        return pushed ?? .json(201, answer)
    }
}

extension LoginPage {
    /// The same with the parameters that were pushed.
    fileprivate init(pushed form: [String: String]) {
        self.init(
            "x?" + form.map { "\($0.key)=\(FormText.encoded($0.value))" }.joined(separator: "&"))
    }
}

@Suite struct `Pushed authorization requests` {
    @Test func `leave client and reference in the browser (F15)`() async throws {
        var settings = discovered
        settings.clientSecret = .environment(name: "ID")
        settings.clientAuthentication = .basic
        settings.authorization.audience = "a+b&c=d"
        settings.authorization.resources = ["https://api.example.com/", "urn:files"]
        let ground = try Ground(provider(), environment: ["ID": "s+1"])
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        #expect(
            session.url == "\(base)/authorize?client_id=my-cli&request_uri=urn%3Ax%3A1%2B%26")
        let form = try #require(ground.fetcher.forms.first)
        #expect(form["audience"] == "a+b&c=d")
        #expect(form["client_id"] == "my-cli")
        #expect(form["code_challenge_method"] == "S256")
        #expect(form["request_uri"] == nil)
        #expect(form["nonce"] != nil)
        let body = try #require(ground.fetcher.bodies.first)
        #expect(body.contains("resource=https%3A%2F%2Fapi.example.com%2F&resource=urn%3Afiles"))
        #expect(body.components(separatedBy: "client_id=").count == 2)
        // The usual proof of the client, in the one place.
        #expect(ground.fetcher.fields(2)["Authorization"] == "Basic bXktY2xpOnMlMkIx")
        #expect(!body.contains("client_secret"))

        let page = LoginPage(pushed: form)
        try await blocking { _ = try page.visit(try page.success()) }
        #expect(try await session.result().access == "AT1")
        let exchange = try #require(ground.fetcher.bodies.last)
        #expect(exchange.contains("grant_type=authorization_code"))
        #expect(exchange.contains("resource=https%3A%2F%2Fapi.example.com%2F&resource=urn%3Afiles"))
        await session.close()
    }

    @Test func `are made on demand, and only where there is a place for them`() async throws {
        // Neither demanded nor wished for.
        var ground = try Ground(provider(pushing))
        var session = try await ground.desk(discovered).begin(github, LoginOptions(.printURL))
        #expect(session.url.contains("code_challenge="))
        await session.close()
        #expect(ground.fetcher.bodies.isEmpty)
        // Wished for.
        var settings = discovered
        settings.authorization.isPushed = true
        ground = try Ground(provider(pushing))
        session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        #expect(session.url.contains("request_uri="))
        await session.close()
        // By hand, without discovery (F01).
        settings.endpoints = Ground.settings.endpoints
        settings.endpointsByHand["pushed_authorization_request_endpoint"] = "\(base)/par"
        ground = try Ground(provider(""))
        session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        #expect(session.url.contains("request_uri="))
        #expect(ground.fetcher.urls == ["\(base)/par"])
        await session.close()
        // Nowhere to push to.
        settings.endpointsByHand = [:]
        let failure = await #expect(throws: LoginFailure.self) {
            try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        }
        #expect(failure?.kind == .configuration)
        #expect(failure?.message.contains("pushed_authorization_request_endpoint") == true)
    }

    @Test(
        arguments: [
            (.error("invalid_client", status: 401), .configuration),
            (.error("invalid_request"), .configuration), (.page(405), .configuration),
            (.page(413), .configuration), (.page(429), .failed), (.page(503), .failed),
            (.error("access_denied"), .denied), (.json(201, "{}"), .failed),
            (.json(201, #"{"request_uri":"a b","expires_in":60}"#), .failed),
            (.failure(.connectionRefused(host: "x")), .failed),
        ] as [(Result<InboundResponse, FetchError>, LoginFailure.Kind)])
    func `fail as token requests do`(
        answer: Result<InboundResponse, FetchError>, kind: LoginFailure.Kind
    ) async throws {
        let ground = try Ground(provider(pushed: answer))
        let failure = await #expect(throws: LoginFailure.self) {
            try await ground.desk(discovered).begin(github, LoginOptions(.printURL))
        }
        #expect(failure?.kind == kind, "\(String(describing: failure))")
        #expect(
            failure?.message.contains("the pushed authorization request endpoint") == true,
            "\(String(describing: failure?.message))")
        // Nothing is left of it.
        ground.fetcher.answer { _, _ in .failure(.connectionRefused(host: "x")) }
        let settings = Ground.settings
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        await session.close()
    }

    @Test func `of two logins differ in everything that must be fresh`() async throws {
        // After an error the next one has a challenge, a nonce and a state of its own (OAuth 2.1).
        let ground = try Ground(provider())
        for _ in 0..<2 {
            let session = try await ground.desk(discovered).begin(github, LoginOptions(.printURL))
            let page = LoginPage(pushed: try #require(ground.fetcher.forms.last))
            try await blocking {
                _ = try page.visit(page.target("error=server_error&state=\(page.state)"))
            }
            _ = try await session.failure()
            await session.close()
        }
        let forms = ground.fetcher.forms
        for name in ["state", "nonce", "code_challenge"] {
            #expect(forms[0][name] != nil && forms[0][name] != forms[1][name], "\(name)")
        }
    }

    @Test func `say how long the address is good`() async throws {
        let ground = try Ground(provider(seconds: 90))
        let seconds = Mutex<Int64?>(nil)
        let session = try await ground.desk(discovered).begin(github, LoginOptions(.printURL)) {
            event in
            if case .addressExpires(let left) = event { seconds.withLock { $0 = left } }
        }
        #expect(seconds.withLock { $0 } == 90)
        await session.close()
    }

    @Test func `are pushed again when nobody has come before they lapse`() async throws {
        // Nobody is here: the address is in answers and in a log, for a quarter of an hour.
        let ground = try Ground(provider())
        let desk = ground.desk(discovered)
        func url() async throws -> String? {
            guard case .refused(.loginRequired(let url, _, _, _), _) = await desk.demand(github)
            else {
                return nil
            }
            return url
        }
        let first = try #require(try await url())
        #expect(try await url() == first)
        ground.clock.advance(seconds: 61)
        let second = try #require(try await url())
        #expect(second != first)
        #expect(try await url() == second)
        #expect(ground.fetcher.bodies.count == 2)
        // The same request, for the same listener.
        #expect(ground.fetcher.forms[0]["state"] == ground.fetcher.forms[1]["state"])
        let note = await ground.store.note("login-github")?.asObject
        #expect(note?["url"]?.asString == second)
        // A provider that is down changes nothing.
        ground.fetcher.answer { _, _ in .failure(.connectionRefused(host: "x")) }
        ground.clock.advance(seconds: 61)
        #expect(try await url() == second)
        await desk.close()
    }
}

@Suite struct `A login's wishes` {
    private func parameters(
        _ settings: OAuthSettings, _ options: LoginOptions = LoginOptions(.printURL),
        on ground: Ground
    ) async throws -> (page: [String: String], url: String) {
        let session = try await ground.desk(settings).begin(github, options)
        await session.close()
        return (session.page.parameters, session.url)
    }

    @Test func `are each sent once (F16, F17, F18, F20)`() async throws {
        var settings = Ground.settings
        settings.additions[.authorization] = RequestAdditions(parameters: [
            NamedValue("prompt", "old"), NamedValue("x", "y"),
        ])
        settings.authorization.vectorsOfTrust = ["Cl.Cm", "P2"]
        settings.authorization.locales = ["cy", "en"]
        settings.authorization.loginHint = "ann"
        settings.authorization.contextClasses = ["phr"]
        settings.authorization.maxAgeSeconds = 0
        settings.authorization.responseMode = "query"
        settings.authorization.audience = "aud"
        var options = LoginOptions(.printURL)
        options.locales = ["de"]
        options.prompts = ["login", "consent"]
        options.loginHint = "bob@example.com"
        options.maxAgeSeconds = 300
        let (page, url) = try await parameters(settings, options, on: Ground())
        #expect(page["vtr"] == #"["Cl.Cm","P2"]"#)
        #expect(page["ui_locales"] == "de")
        #expect(page["login_hint"] == "bob@example.com")
        #expect(page["prompt"] == "login consent")
        #expect(page["acr_values"] == "phr")
        #expect(page["max_age"] == "300")
        #expect(page["response_mode"] == "query")
        #expect(page["audience"] == "aud")
        #expect(page["x"] == "y")
        for name in page.keys {
            #expect(url.components(separatedBy: "\(name)=").count == 2, "\(name)")
        }
    }

    @Test func `keep the query of the endpoint, each parameter once (F09)`() async throws {
        var settings = Ground.settings
        settings.endpoints = .fixed(
            authorization: "https://b2c.example/authorize?p=b2c_1_in",
            token: "https://b2c.example/token?p=b2c_1_in", issuer: nil)
        let (page, url) = try await parameters(settings, on: Ground())
        #expect(page["p"] == "b2c_1_in")
        #expect(url.components(separatedBy: "p=b2c_1_in").count == 2)
        #expect(page["client_id"] == "my-cli")
    }

    @Test(arguments: [
        (#""code_challenge_methods_supported":["plain","S256"]"#, true),
        (#""code_challenge_methods_supported":["plain"]"#, false), ("", false),
    ])
    func `may stop where S256 is not announced (F11)`(
        metadata: String, isGood: Bool
    ) async throws {
        var settings = OAuthSettings(endpoints: .issuer(base), clientID: "my-cli")
        let ground = try Ground(provider(metadata))
        // Absence alone stops nobody (I69).
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        await session.close()
        settings.authorization.requiresPKCEMetadata = true
        if isGood {
            let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
            await session.close()
        } else {
            let failure = await #expect(throws: LoginFailure.self) {
                try await ground.desk(settings).begin(github, LoginOptions(.printURL))
            }
            guard case .noPKCE = failure else {
                Issue.record("\(String(describing: failure))")
                return
            }
            #expect(failure?.kind == .configuration)
        }
    }

    @Test(arguments: [
        (true, "https://login.example.com", true), (true, "https://evil.example", false),
        (true, nil, false), (false, "https://login.example.com", true),
        (false, "https://evil.example", false), (false, nil, true),
    ])
    func `are answered by the right issuer (F14)`(
        isPromised: Bool, issuer: String?, isGood: Bool
    ) async throws {
        let metadata = #""authorization_response_iss_parameter_supported":\#(isPromised)"#
        let ground = try Ground(provider(metadata))
        let settings = OAuthSettings(endpoints: .issuer(base), clientID: "my-cli")
        for answer in ["code=C1", "error=access_denied&error_description=canary"] {
            let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
            let page = session.page
            let text = try await blockingPage(
                page,
                "\(answer)&state=\(page.state)"
                    + (issuer.map { "&iss=\(FormText.encoded($0))" } ?? ""))
            if isGood, answer == "code=C1" {
                #expect(try await session.result().access == "AT1")
            } else {
                let failure = try await session.failure()
                if case .callback(.refused(let code, _)) = failure {
                    // One without an issuer ends the login by its code.
                    #expect(isGood || issuer == nil && code == "access_denied")
                } else {
                    #expect(!isGood)
                }
                if !isGood {
                    // Nothing of an answer whose sender is in doubt is shown.
                    #expect(!text.contains("canary") && !failure.message.contains("canary"))
                }
            }
            await session.close()
        }
        let exchanges = ground.fetcher.bodies.filter { $0.contains("authorization_code") }
        #expect(exchanges.count == (isGood ? 1 : 0))
    }

    private func blockingPage(_ page: LoginPage, _ query: String) async throws -> String {
        try await withTaskExecutorPreference(OwnThreadExecutor.shared) {
            try page.visit(page.target(query)).body.text
        }
    }
}
