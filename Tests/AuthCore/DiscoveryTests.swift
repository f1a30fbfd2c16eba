import Bytes
import Crossing
import Glibc
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Discovery` {
    static let issuer = "https://login.example.com/tenant"

    static let document = #"""
        {"issuer":"https://login.example.com/tenant",
        "authorization_endpoint":"https://login.example.com/a",
        "token_endpoint":"https://login.example.com/t",
        "authorization_response_iss_parameter_supported":true,
        "token_endpoint_auth_methods_supported":["client_secret_post"]}
        """#

    static let urls = [
        "https://login.example.com/.well-known/oauth-authorization-server/tenant",
        "https://login.example.com/.well-known/openid-configuration/tenant",
        "https://login.example.com/tenant/.well-known/openid-configuration",
    ]

    private func ground(
        _ answer: @escaping @Sendable (String) -> Result<InboundResponse, FetchError>
    ) throws -> Ground {
        try Ground(ScriptedFetcher { request, _ in answer(request.url) })
    }

    private func endpoints(_ ground: Ground) async throws(DiscoveryError) -> Endpoints {
        try await DiscoveryDesk(in: ground.surroundings).endpoints(for: .issuer(Self.issuer))
    }

    @Test func `asks nobody where endpoints are given by hand`() async throws {
        let ground = try Ground()
        let endpoints = try await DiscoveryDesk(in: ground.surroundings).endpoints(
            for: .fixed(authorization: "https://a.example", token: "https://t.example", issuer: nil)
        )
        #expect(endpoints.token == "https://t.example")
        #expect(ground.fetcher.count == 0)
    }

    @Test(arguments: 0..<3) func `tries the three places in order`(place: Int) async throws {
        let ground = try ground { url in
            url == Self.urls[place] ? .json(200, Self.document) : .page([401, 403, 404][place])
        }
        let found = try await endpoints(ground)
        #expect(found.authorization == "https://login.example.com/a")
        #expect(found.token == "https://login.example.com/t")
        #expect(found.promisesIssuer)
        #expect(found.authenticationMethods == ["client_secret_post"])
        #expect(ground.fetcher.urls == Array(Self.urls[...place]))
    }

    /// As Django OAuth Toolkit and Canaille have it: the log-out page is in the OpenID document alone.
    @Test(arguments: [
        (#""userinfo_endpoint":"https://login.example.com/u","#, true, 3),
        (
            #""userinfo_endpoint":"https://login.example.com/u","end_session_endpoint":"x","#, true,
            1
        ),
        ("", false, 1),
    ])
    func `completes what the OAuth document says with the OpenID one`(
        more: String, isOpenID: Bool, count: Int
    ) async throws {
        let openID = Self.document.replacing(
            #""token_endpoint":"https://login.example.com/t""#,
            with: #""token_endpoint":"https://x","end_session_endpoint":"https://x/end""#)
        let scopes = isOpenID ? #""scopes_supported":["openid"],"# : ""
        let first = Self.document.replacing(
            #""token_endpoint""#, with: scopes + more + #""token_endpoint""#)
        let ground = try ground { url in
            switch url {
            case Self.urls[0]: .json(200, first)
            case Self.urls[2]: .json(200, openID)
            default: .page(404)
            }
        }
        let found = try await endpoints(ground)
        // What stands in the first document counts.
        #expect(found.token == "https://login.example.com/t")
        #expect(ground.fetcher.count == count)
        let end = try? found.metadata?.url(of: .endSession)
        #expect(end == (count == 3 ? "https://x/end" : nil))
    }

    @Test func `is content with the OAuth document where the other is not to be had`() async throws
    {
        let first = Self.document.replacing(
            #""token_endpoint""#, with: #""scopes_supported":["openid"],"token_endpoint""#)
        for failure in [
            Result<InboundResponse, FetchError>.failure(.nameNotResolved(host: "x")), .page(503),
            .json(200, Self.document.replacingTenant(with: "other")),
        ] {
            let ground = try ground { $0 == Self.urls[0] ? .json(200, first) : failure }
            #expect(try await endpoints(ground).token == "https://login.example.com/t")
        }
    }

    @Test func `names all places where there is none`() async throws {
        let ground = try ground { _ in .page(404) }
        let error = try await #require(throws: DiscoveryError.self) {
            try await endpoints(ground)
        }
        #expect(error == .notFound(tried: Self.urls))
        for url in Self.urls { #expect(error.message.contains(url)) }
    }

    @Test func `refuses a document of an issuer that differs by one byte`() async throws {
        let ground = try ground { _ in
            .json(200, Self.document.replacingTenant(with: "tenant/"))
        }
        let error = try await #require(throws: DiscoveryError.self) {
            try await endpoints(ground)
        }
        #expect(error.message.contains("\"https://login.example.com/tenant\""))
        #expect(error.message.contains("\"https://login.example.com/tenant/\""))
        #expect(error.hint == "add the slash at the end: issuer: https://login.example.com/tenant/")
        guard case .misconfigured = error.lack else {
            Issue.record("\(error.lack)")
            return
        }
    }

    @Test(arguments: [
        Result<InboundResponse, FetchError>.failure(.nameNotResolved(host: "x")), .page(503),
    ])
    func `takes an outage for an outage`(answer: Result<InboundResponse, FetchError>) async throws {
        let ground = try ground { _ in answer }
        let error = try await #require(throws: DiscoveryError.self) {
            try await endpoints(ground)
        }
        guard case .unreachable = error, case .transient = error.lack else {
            Issue.record("\(error)")
            return
        }
    }

    @Test(arguments: [
        Result<InboundResponse, FetchError>.page(404), .page(302, [("Location", "/m")]), .page(200),
        .page(503),
    ])
    func `that is not there for now is waited for (C095, C106)`(
        answer: Result<InboundResponse, FetchError>
    ) async throws {
        let ground = try ground { _ in answer }
        var settings = Ground.settings
        settings.endpoints = .issuer(Self.issuer)
        var login = ground.login(secondsLeft: -10)
        login.issuer = Self.issuer
        try await ground.store.save(login, github)
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(settings).text()
        }
        #expect(refusal.isUnreachable)
        #expect(refusal.retryAfterSeconds != nil)
        let status = StatusDesk(in: ground.surroundings)
        let credential = CredentialSettings(id: github, kind: .oauth(settings))
        try await eventually("it is told") { await status.status(of: credential).state == .failing }
        // Nor can a login begin, for the same reason.
        guard
            case .refused(.tokenEndpointUnreachable, nil) = await ground.desk(settings).demand(
                github)
        else {
            Issue.record("another demand")
            return
        }
    }

    @Test func `is asked once in a day and survives a restart`() async throws {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        _ = try await endpoints(ground)
        _ = try await endpoints(ground)
        #expect(ground.fetcher.count == 1)
        ground.clock.advance(seconds: 86_400)
        _ = try await endpoints(ground)
        #expect(ground.fetcher.count == 2)
    }

    @Test(arguments: [
        Result<InboundResponse, FetchError>.page(404), .page(405), .page(410),
        .page(308, [("Location", "https://login.example.com/new")]),
        .failure(.nameNotResolved(host: "login.example.com")),
    ])
    func `is asked again when the token endpoint is no more where it was`(
        answer: Result<InboundResponse, FetchError>
    ) async throws {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        _ = try await endpoints(ground)
        var settings = Ground.settings
        settings.endpoints = .issuer(Self.issuer)
        var login = ground.login(secondsLeft: -10)
        login.issuer = Self.issuer
        try await ground.store.save(login, github)
        ground.fetcher.answer { request, _ in
            switch request.url {
            case Self.urls[0]: .json(200, Self.document)
            default: answer
            }
        }
        ground.clock.advance(seconds: 60)
        let keeper = ground.keeper(settings)
        for _ in 0..<20 {
            await #expect(throws: Refusal.self) { try await keeper.text() }
            ground.clock.advance(seconds: 2)
        }
        // Once a minute at the most.
        #expect(ground.fetcher.urls.filter { $0 == Self.urls[0] }.count == 2)
        ground.fetcher.answer { request, _ in
            switch request.url {
            case Self.urls[0]:
                .json(
                    200, Self.document.replacing("login.example.com/t\"", with: "x.example/new\""))
            case "https://x.example/new": .tokens("AT2", refresh: "RT2")
            default: answer
            }
        }
        ground.clock.advance(seconds: 61)
        #expect(try await keeper.text() == "AT2")
    }

    @Test func `goes on with what it knows while the provider is down`() async throws {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        _ = try await endpoints(ground)
        ground.fetcher.answer { _, _ in .failure(.connectionRefused(host: "x")) }
        ground.clock.advance(seconds: 90_000)
        #expect(try await endpoints(ground).token == "https://login.example.com/t")
    }

    @Test func `bothers a provider that is down once a minute, and marks what is old (F07)`()
        async throws
    {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        let desk = DiscoveryDesk(in: ground.surroundings)
        _ = try await desk.endpoints(for: .issuer(Self.issuer))
        ground.fetcher.answer { _, _ in .failure(.timedOut(mayHaveArrived: false)) }
        ground.clock.advance(seconds: 90_000)
        let asked = ground.fetcher.count
        for _ in 0..<5 { _ = try await desk.endpoints(for: .issuer(Self.issuer)) }
        #expect(ground.fetcher.count == asked + 1)
        let since = ground.now
        ground.clock.advance(seconds: 61)
        _ = try await desk.endpoints(for: .issuer(Self.issuer))
        #expect(ground.fetcher.count == asked + 2)
        let kept = await DocumentShelf.kept(.server, Self.issuer, in: ground.store)
        #expect(kept?.failingSince == since)
        var login = ground.login()
        login.issuer = Self.issuer
        try await ground.store.save(login, github)
        let settings = CredentialSettings(
            id: github,
            kind: .oauth(OAuthSettings(endpoints: .issuer(Self.issuer), clientID: "my-cli")))
        let status = await StatusDesk(in: ground.surroundings).status(of: settings)
        #expect(status.metadataStaleSince == since)
        // It comes back: one request, and no mark any more.
        ground.fetcher.answer { _, _ in .json(200, Self.document) }
        ground.clock.advance(seconds: 61)
        _ = try await desk.endpoints(for: .issuer(Self.issuer))
        _ = try await desk.endpoints(for: .issuer(Self.issuer))
        #expect(ground.fetcher.count == asked + 3)
        let fresh = await DocumentShelf.kept(.server, Self.issuer, in: ground.store)
        #expect(fresh?.failingSince == nil)
    }

    @Test func `keeps documents to ourselves, under a version`() async throws {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        _ = try await endpoints(ground)
        let note = try #require(
            Files.list(ground.directory.path("state")).first { $0.hasPrefix("metadata-") })
        let path = ground.directory.path("state/" + note)
        var status = stat()
        #expect(stat(path, &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
        let text = try #require(try Files.read(path)).text
        #expect(text.contains("\"version\": 1"))
        // What a later release wrote is not read.
        try Files.write(
            Octets(
                text.components(separatedBy: "\"version\": 1").joined(separator: "\"version\": 2")),
            to: path)
        _ = try await endpoints(ground)
        #expect(ground.fetcher.count == 2)
    }

    @Test func `takes an Entra template with that quirk only (F05)`() async throws {
        let issuer = "https://login.microsoftonline.com/common/v2.0"
        let template = "https://login.microsoftonline.com/{tenantid}/v2.0"
        let ground = try ground { _ in
            .json(
                200,
                #"""
                {"issuer":"\#(template)",
                "token_endpoint":"https://login.microsoftonline.com/common/oauth2/v2.0/token"}
                """#)
        }
        var settings = OAuthSettings(endpoints: .issuer(issuer), clientID: "c")
        settings.quirks = .issuerTemplate
        let desk = DiscoveryDesk(in: ground.surroundings)
        #expect(try await desk.endpoints(of: settings).issuer == template)
        settings.quirks = []
        let error = try await #require(throws: DiscoveryError.self) {
            try await DiscoveryDesk(in: ground.surroundings).endpoints(of: settings)
        }
        #expect(error.hint?.contains("TENANT-ID") ?? false)
    }

    @Test func `does not believe a kept document of another issuer`() async throws {
        let ground = try ground { url in
            url == Self.urls[0] ? .json(200, Self.document) : .page(404)
        }
        _ = try await endpoints(ground)
        let note = try #require(
            Files.list(ground.directory.path("state")).first { $0.hasPrefix("metadata-") })
        let path = ground.directory.path("state/" + note)
        let text = try #require(try Files.read(path)).text
        try Files.write(Octets(text.replacingTenant(with: "other")), to: path)
        _ = try await endpoints(ground)
        #expect(ground.fetcher.count == 2)
    }

    @Test func `is shared by all who ask at once`() async throws {
        let gate = AsyncGate()
        let ground = try Ground(
            ScriptedFetcher { _, _ in
                await gate.pass()
                return .json(200, Self.document)
            })
        let desk = DiscoveryDesk(in: ground.surroundings)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask { try await desk.endpoints(for: .issuer(Self.issuer)).token }
            }
            try await eventually("it is asked") { ground.fetcher.count == 1 }
            gate.open()
            for try await token in group { #expect(token == "https://login.example.com/t") }
        }
        #expect(ground.fetcher.count == 1)
    }

    @Test func `that fails keeps the login and a good token in use`() async throws {
        // C106: the proxy starts while the provider is away.
        let ground = try Ground(ScriptedFetcher([.failure(.nameNotResolved(host: "x"))]))
        var login = ground.login(secondsLeft: 100)
        login.issuer = Self.issuer
        try await ground.store.save(login, github)
        let before = try ground.recordBytes()
        var settings = Ground.settings
        settings.endpoints = .issuer(Self.issuer)
        let keeper = ground.keeper(settings)
        #expect(try await keeper.text() == "AT1")
        #expect(ground.fetcher.count == 0)
        ground.clock.advance(seconds: 100)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable)
        #expect(try ground.recordBytes() == before)
        ground.fetcher.answer { request, _ in
            if request.url == Self.urls[0] { return .json(200, Self.document) }
            return request.method == .post ? .tokens("AT2") : .page(404)
        }
        ground.clock.advance(seconds: 30)
        #expect(try await keeper.text() == "AT2")
    }
}

extension String {
    fileprivate func replacingTenant(with name: String) -> String {
        components(separatedBy: "/tenant\"").joined(separator: "/\(name)\"")
    }
}
