import Bytes
import Crossing
import Glibc
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `A registered client` {
    private let world = McpWorld()

    private func resolved(
        _ settings: OAuthSettings? = nil, in ground: Ground
    ) async throws -> OAuthSettings {
        // A desk of its own each time, as after a restart.
        try await DiscoveryDesk(in: ground.surroundings).client(
            settings ?? world.settings, of: github)
    }

    private func failure(_ settings: OAuthSettings? = nil) async throws -> DiscoveryError {
        let ground = try Ground(world.fetcher)
        return try await #require(throws: DiscoveryError.self) {
            try await resolved(settings, in: ground)
        }
    }

    private func secret(_ settings: OAuthSettings) -> String? {
        if case .known(let secret) = settings.clientSecret { reveal(secret) } else { nil }
    }

    private func login(in ground: Ground, client: String = "reg-1") -> Login {
        var login = ground.login()
        login.issuer = McpWorld.issuer
        login.resource = McpWorld.upstream
        login.clientID = client
        return login
    }

    @Test func `is registered once, whatever the number of starts (F78)`() async throws {
        let ground = try Ground(world.fetcher)
        for _ in 0..<3 {
            #expect(try await resolved(in: ground).clientID == "reg-1")
            ground.clock.advance(seconds: 100_000)
        }
        #expect(world.registrations == 1)
    }

    @Test func `that cannot be read is set aside, and another registered (C083, C084)`()
        async throws
    {
        let ground = try Ground(world.fetcher)
        _ = try await resolved(in: ground)
        let state = ground.directory.path("state")
        let name = try #require(Files.list(state).first { $0.hasSuffix(".secret") })
        try Files.write("{\"version", to: "\(state)/\(name)")
        // What is only looked for is not there; nothing is changed for that.
        let desk = DiscoveryDesk(in: ground.surroundings)
        _ = try await desk.client(world.settings, continuing: login(in: ground))
        #expect(Files.list(state).contains(name))
        world[McpWorld.registerURL] = .json(201, #"{"client_id":"reg-2"}"#)
        #expect(try await resolved(in: ground).clientID == "reg-2")
        #expect(try await resolved(in: ground).clientID == "reg-2")
        #expect(world.registrations == 2)
        let aside = Files.list(state).filter { $0.hasPrefix(name + ".corrupt-") }
        #expect(aside.count == 1)
        #expect(try Files.read("\(state)/\(aside[0])")?.text == "{\"version")
    }

    @Test func `is registered once by many at once`() async throws {
        let ground = try Ground(world.fetcher)
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<10 {
                group.addTask { try await resolved(in: ground).clientID }
            }
            for try await id in group { #expect(id == "reg-1") }
        }
        #expect(world.registrations == 1)
    }

    @Test func `is another one at another issuer (F77, F78)`() async throws {
        let ground = try Ground(world.fetcher)
        _ = try await resolved(in: ground)
        let other = "https://new.example"
        world[McpWorld.resourceURL] = .json(200, McpWorld.resource(servers: [other]))
        world[other + "/.well-known/oauth-authorization-server"] = .json(
            200, McpWorld.server(other))
        world[other + "/register"] = .json(200, #"{"client_id":"reg-2"}"#)
        ground.clock.advance(seconds: 61)
        #expect(try await resolved(in: ground).clientID == "reg-2")
        #expect(world.registrations == 2)
        // Back again: the old one is still there.
        world[McpWorld.resourceURL] = .json(200, McpWorld.resource())
        ground.clock.advance(seconds: 61)
        #expect(try await resolved(in: ground).clientID == "reg-1")
        #expect(world.registrations == 2)
    }

    @Test func `is kept for ourselves alone`() async throws {
        let ground = try Ground(world.fetcher)
        world[McpWorld.registerURL] = .json(
            201, #"{"client_id":"reg-1","client_secret":"s3cret","client_secret_expires_at":0}"#)
        #expect(secret(try await resolved(in: ground)) == "s3cret")
        let state = ground.directory.path("state")
        let names = Files.list(state).filter {
            ((try? Files.read("\(state)/\($0)"))??.text ?? "").contains("s3cret")
        }
        #expect(names.count == 1)
        var status = stat()
        #expect(stat("\(state)/\(try #require(names.first))", &status) == 0)
        #expect(status.st_mode & 0o777 == 0o600)
    }

    @Test func `uses a secret until it expires, and no longer`() async throws {
        let ground = try Ground(world.fetcher)
        let expiry = ground.now.seconds + 3600
        world[McpWorld.registerURL] = .json(
            201,
            #"{"client_id":"reg-1","client_secret":"s1","client_secret_expires_at":\#(expiry)}"#)
        #expect(secret(try await resolved(in: ground)) == "s1")
        let desk = DiscoveryDesk(in: ground.surroundings)
        let continued = try await desk.client(world.settings, continuing: login(in: ground))
        #expect(secret(continued) == "s1")
        ground.clock.advance(seconds: 3590)
        let error = try await #require(throws: DiscoveryError.self) {
            try await desk.client(world.settings, continuing: login(in: ground))
        }
        #expect(error == .loginOutdated(code: "client_expired"))
        world[McpWorld.registerURL] = .json(
            201, #"{"client_id":"reg-2","client_secret":"s2","client_secret_expires_at":0}"#)
        let renewed = try await resolved(in: ground)
        #expect(renewed.clientID == "reg-2")
        #expect(secret(renewed) == "s2")
        #expect(world.registrations == 2)
    }

    @Test func `is what the server made of it`() async throws {
        let ground = try Ground(world.fetcher)
        world[McpWorld.registerURL] = .json(
            201,
            #"""
            {"client_id":"reg-1","client_secret":"s3","client_secret_expires_at":0,
            "token_endpoint_auth_method":"client_secret_post",
            "redirect_uris":["http://127.0.0.1/callback"]}
            """#)
        let settings = try await resolved(in: ground)
        #expect(settings.clientAuthentication == .post)
        #expect(settings.callbackPort == nil)
    }

    @Test func `asks for a callback on any port, and for one that stays`() async throws {
        let ground = try Ground(world.fetcher)
        let settings = try await resolved(in: ground)
        let port = try #require(settings.callbackPort)
        #expect((20_000..<30_000).contains(port))
        #expect(settings.callbackPortIsPreferred)
        #expect(try await resolved(in: ground).callbackPort == port)
        let body = try #require(world.fetcher.bodies.last { $0.contains("redirect_uris") })
        #expect(
            body.contains(
                #""redirect_uris":["http://127.0.0.1:\#(port)/callback","http://127.0.0.1/callback"]"#
            ))
    }

    @Test func `keeps to a callback that the configuration pins`() async throws {
        let ground = try Ground(world.fetcher)
        var settings = world.settings
        (settings.callbackHost, settings.callbackPort) = ("localhost", 8123)
        let found = try await resolved(settings, in: ground)
        #expect(found.callbackPort == 8123)
        #expect(!found.callbackPortIsPreferred)
        let body = try #require(world.fetcher.bodies.last { $0.contains("redirect_uris") })
        #expect(body.contains(#""redirect_uris":["http://localhost:8123/callback"]"#))
    }

    @Test func `has the name that the configuration gives before any other`() async throws {
        let ground = try Ground(world.fetcher)
        var settings = world.settings
        (settings.clientID, settings.registration) = ("mine", nil)
        #expect(try await resolved(settings, in: ground).clientID == "mine")
        #expect(world.registrations == 0)
    }

    @Test func `is a document's where the server reads documents (F79)`() async throws {
        let ground = try Ground(world.fetcher)
        let document = "https://me.example/client.json"
        var settings = world.settings
        settings.registration?.documentURL = document
        #expect(try await resolved(settings, in: ground).clientID == "reg-1")
        #expect(world.registrations == 1)
        world[McpWorld.serverURL] = .json(
            200, McpWorld.server(more: #","client_id_metadata_document_supported":true"#))
        let fresh = try Ground(world.fetcher)
        let found = try await resolved(settings, in: fresh)
        #expect(found.clientID == document)
        #expect(found.clientSecret == nil)
        #expect(world.registrations == 1)
        #expect(!world.fetcher.urls.contains(document))
        let desk = DiscoveryDesk(in: fresh.surroundings)
        #expect(
            try await desk.client(settings, continuing: login(in: fresh, client: document)).clientID
                == document)
    }

    @Test func `says what to do where no way is open`() async throws {
        let server = McpWorld.server().components(separatedBy: "\"registration_endpoint\"").joined(
            separator: "\"x\"")
        world[McpWorld.serverURL] = .json(200, server)
        let error = try await failure()
        guard case .noClient(McpWorld.issuer, hasDocument: false) = error else {
            Issue.record("\(error)")
            return
        }
        #expect(error.hint?.contains("write its client_id") ?? false)
        guard case .misconfigured = error.lack else {
            Issue.record("\(error.lack)")
            return
        }
    }

    @Test func `is not asked for where only another kind of client may be`() async throws {
        world[McpWorld.serverURL] = .json(
            200,
            McpWorld.server(more: #","token_endpoint_auth_methods_supported":["private_key_jwt"]"#))
        guard case .registration(.unsupportedMethod) = try await failure() else {
            Issue.record("accepted")
            return
        }
        #expect(world.registrations == 0)
    }

    @Test func `may be refused, in words`() async throws {
        world[McpWorld.registerURL] = .json(
            400, #"{"error":"invalid_redirect_uri","error_description":"no loopback"}"#)
        let error = try await failure()
        #expect(error.message.contains("\"invalid_redirect_uri\": no loopback"))
        #expect(error.hint?.contains("redirect_uri") ?? false)
        world[McpWorld.registerURL] = .page(503)
        guard case .transient = try await failure().lack else {
            Issue.record("not transient")
            return
        }
    }

    @Test func `shows an initial access token to its endpoint only`() async throws {
        let ground = try Ground(world.fetcher, environment: ["IAT": "canary-iat"])
        var settings = world.settings
        settings.registration?.initialAccessToken = .environment(name: "IAT")
        settings.registration?.endpoint = "https://id.example.com/by-hand"
        world["https://id.example.com/by-hand"] = .json(201, #"{"client_id":"reg-3"}"#)
        #expect(try await resolved(settings, in: ground).clientID == "reg-3")
        for number in 1...world.fetcher.count {
            let isEndpoint = world.fetcher.urls[number - 1].hasSuffix("/by-hand")
            #expect(
                world.fetcher.fields(number)["Authorization"]
                    == (isEndpoint ? "Bearer canary-iat" : nil))
        }
        settings.registration?.initialAccessToken = .environment(name: "NONE")
        let empty = try Ground(world.fetcher)
        let error = try await #require(throws: DiscoveryError.self) {
            try await resolved(settings, in: empty)
        }
        #expect(error == .initialAccessToken(.variableMissing(name: "NONE")))
    }

    @Test func `is an app at Mastodon, one for each host (F80)`() async throws {
        let ground = try Ground(world.fetcher)
        for host in ["https://a.social", "https://b.social"] {
            var settings = OAuthSettings(
                endpoints: .fixed(
                    authorization: host + "/oauth/authorize", token: host + "/oauth/token",
                    issuer: nil), clientID: "")
            settings.registration = RegistrationSettings(form: .mastodon)
            settings.scopes = ["read"]
            world[host + "/api/v1/apps"] = .json(
                200, #"{"id":"1","client_id":"app-\#(host.utf8.count)","client_secret":"s"}"#)
            for _ in 0..<2 {
                let found = try await resolved(settings, in: ground)
                #expect(found.clientID == "app-16")
                #expect(secret(found) == "s")
            }
            var login = ground.login()
            (login.issuer, login.clientID) = (nil, "app-16")
            let desk = DiscoveryDesk(in: ground.surroundings)
            #expect(secret(try await desk.client(settings, continuing: login)) == "s")
        }
        #expect(
            world.fetcher.urls == ["https://a.social/api/v1/apps", "https://b.social/api/v1/apps"])
    }

    @Test func `lives in memory where nothing can be written`() async throws {
        let ground = try Ground(world.fetcher, calls: .readOnly)
        world[McpWorld.registerURL] = .json(
            201, #"{"client_id":"reg-1","client_secret":"s","client_secret_expires_at":0}"#)
        let desk = DiscoveryDesk(in: ground.surroundings)
        _ = try await desk.client(world.settings, of: github)
        #expect(secret(try await desk.client(world.settings, of: github)) == "s")
        #expect(
            secret(try await desk.client(world.settings, continuing: login(in: ground))) == "s")
        #expect(world.registrations == 1)
    }

    @Test func `that the server has forgotten is forgotten, and the login with it`() async throws {
        let ground = try Ground(world.fetcher)
        _ = try await resolved(in: ground)
        try await ground.store.save(login(in: ground), github)
        world[McpWorld.issuer + "/token"] = .error("invalid_client", status: 401)
        let keeper = ground.keeper(world.settings)
        ground.clock.advance(seconds: 400)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        // The next login registers anew.
        world[McpWorld.registerURL] = .json(201, #"{"client_id":"reg-2"}"#)
        #expect(try await resolved(in: ground).clientID == "reg-2")
    }

    @Test func `refreshes as the client that logged in`() async throws {
        let ground = try Ground(world.fetcher)
        world[McpWorld.registerURL] = .json(
            201, #"{"client_id":"reg-1","client_secret":"s","client_secret_expires_at":0}"#)
        _ = try await resolved(in: ground)
        try await ground.store.save(login(in: ground), github)
        world[McpWorld.issuer + "/token"] = .tokens("AT2", refresh: "RT2")
        let keeper = ground.keeper(world.settings)
        ground.clock.advance(seconds: 400)
        #expect(try await keeper.text() == "AT2")
        let number = world.fetcher.count
        #expect(world.fetcher.urls[number - 1] == McpWorld.issuer + "/token")
        #expect(world.fetcher.fields(number)["Authorization"]?.hasPrefix("Basic ") ?? false)
        let record = try #require(try await ground.store.load(github))
        #expect(record.resource == McpWorld.upstream)
        #expect(record.clientID == "reg-1")
    }

    @Test func `of another issuer's login is none of ours`() async throws {
        let ground = try Ground(world.fetcher)
        var settings = OAuthSettings(endpoints: .issuer("https://new.example"), clientID: "")
        settings.registration = RegistrationSettings()
        let error = try await #require(throws: DiscoveryError.self) {
            try await DiscoveryDesk(in: ground.surroundings).client(
                settings, continuing: login(in: ground))
        }
        #expect(error == .loginOutdated(code: "issuer_changed"))
    }
}
