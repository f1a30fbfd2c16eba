import Bytes
import Crossing
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

@Suite struct `Discovery from an API` {
    private let world = McpWorld()

    private func resolved(
        _ settings: OAuthSettings? = nil, in ground: Ground? = nil
    ) async throws -> OAuthSettings {
        let ground = try ground ?? Ground(world.fetcher)
        let configured = settings ?? world.settings
        return try await DiscoveryDesk(in: ground.surroundings).client(configured, of: github)
    }

    private func failure(_ settings: OAuthSettings? = nil) async throws -> DiscoveryError {
        try await #require(throws: DiscoveryError.self) { try await resolved(settings) }
    }

    private func issuer(_ settings: OAuthSettings) -> String? {
        if case .issuer(let issuer) = settings.endpoints { issuer } else { nil }
    }

    @Test func `finds all that a login needs (F06)`() async throws {
        let settings = try await resolved()
        #expect(issuer(settings) == McpWorld.issuer)
        #expect(settings.clientID == "reg-1")
        #expect(settings.clientAuthentication == OAuthSettings.ClientAuthentication.none)
        #expect(settings.authorization.resources == [McpWorld.upstream])
        #expect(settings.authorization.requiresPKCEMetadata)
        #expect(settings.discoveredFor == McpWorld.upstream)
        #expect(
            world.fetcher.urls == [
                McpWorld.upstream, McpWorld.resourceURL, McpWorld.serverURL, McpWorld.registerURL,
            ])
    }

    @Test func `asks the challenge's place first`() async throws {
        let place = "https://mcp.example.com/about"
        world[McpWorld.upstream] = McpWorld.unauthorized("resource_metadata=\"\(place)\"")
        world[place] = .json(200, McpWorld.resource())
        #expect(issuer(try await resolved()) == McpWorld.issuer)
        #expect(world.fetcher.urls[1] == place)
        #expect(!world.fetcher.urls.contains(McpWorld.resourceURL))
    }

    @Test(arguments: [401, 403, 404, 405])
    func `goes on to the root where there is nothing (I67)`(status: Int) async throws {
        world[McpWorld.resourceURL] = .page(status)
        world[McpWorld.rootURL] = .json(200, McpWorld.resource("https://mcp.example.com"))
        let settings = try await resolved()
        #expect(settings.authorization.resources == ["https://mcp.example.com"])
    }

    @Test func `takes the challenge's scopes for authoritative`() async throws {
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(more: #","scopes_supported":["a","b"]"#))
        #expect(try await resolved().scopes == ["a", "b"])
        world[McpWorld.upstream] = McpWorld.unauthorized("scope=\"b c\", error=\"x\"")
        #expect(try await resolved().scopes == ["b", "c"])
        var settings = world.settings
        settings.scopes = ["mine"]
        #expect(try await resolved(settings).scopes == ["mine"])
    }

    @Test func `asks to stay logged in where the provider knows how`() async throws {
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(more: #","scopes_supported":["a"]"#))
        world[McpWorld.serverURL] = .json(
            200, McpWorld.server(more: #","scopes_supported":["a","offline_access"]"#))
        #expect(try await resolved().scopes == ["a", "offline_access"])
    }

    @Test func `uses no document about another resource`() async throws {
        world[McpWorld.resourceURL] = .json(200, McpWorld.resource("https://bank.example/mcp"))
        let error = try await failure()
        #expect(error.message.contains("is about \"https://bank.example/mcp\""))
        #expect(!world.fetcher.urls.contains { $0.hasPrefix(McpWorld.issuer) })
    }

    @Test func `names the places where there is none`() async throws {
        world[McpWorld.resourceURL] = .page(404)
        let error = try await failure()
        guard case .noServer(McpWorld.upstream, [McpWorld.resourceURL, McpWorld.rootURL]) = error
        else {
            Issue.record("\(error)")
            return
        }
        #expect(error.hint == "write the provider's issuer beside discover: true")
    }

    @Test func `goes by a configured issuer where the API says nothing`() async throws {
        world[McpWorld.resourceURL] = .page(404)
        var settings = world.settings
        settings.endpoints = .discovered(resource: McpWorld.upstream, issuer: McpWorld.issuer)
        let found = try await resolved(settings)
        #expect(issuer(found) == McpWorld.issuer)
        #expect(found.authorization.resources == [McpWorld.upstream])
    }

    @Test func `takes a configured issuer and no other`() async throws {
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(servers: ["https://other.example", McpWorld.issuer]))
        var settings = world.settings
        settings.endpoints = .discovered(resource: McpWorld.upstream, issuer: McpWorld.issuer)
        #expect(issuer(try await resolved(settings)) == McpWorld.issuer)
        settings.endpoints = .discovered(
            resource: McpWorld.upstream, issuer: McpWorld.issuer + "/t")
        guard case .otherServers = try await failure(settings) else {
            Issue.record("accepted")
            return
        }
    }

    /// As Google's MCP servers have it, and JumpCloud's the other way round.
    @Test(arguments: [("/", ""), ("", "/")])
    func `does not mind the slash of an empty path between an API and its server`(
        named: String, written: String
    ) async throws {
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(servers: [McpWorld.issuer + named]))
        world[McpWorld.serverURL] = .json(
            200,
            McpWorld.server().replacing(
                #""issuer":"https://id.example.com""#,
                with: #""issuer":"https://id.example.com\#(written)""#))
        let ground = try Ground(world.fetcher)
        let desk = DiscoveryDesk(in: ground.surroundings)
        // Its own word counts, also for `iss` at the callback.
        #expect(
            issuer(try await desk.client(world.settings, of: github)) == McpWorld.issuer + written)
        var login = ground.login()
        (login.issuer, login.resource) = (McpWorld.issuer + written, McpWorld.upstream)
        #expect(
            issuer(try await desk.client(world.settings, continuing: login))
                == McpWorld.issuer + written)
        // A configured issuer is the server's own, whatever the API writes.
        var settings = world.settings
        settings.endpoints = .discovered(
            resource: McpWorld.upstream, issuer: McpWorld.issuer + written)
        #expect(issuer(try await resolved(settings)) == McpWorld.issuer + written)
        settings.endpoints = .discovered(
            resource: McpWorld.upstream, issuer: McpWorld.issuer + named)
        let error = try await failure(settings)
        #expect(error.message.hasPrefix("the configuration says issuer"))
        #expect(error.hint?.contains("slash at the end") == true)
    }

    @Test func `minds every other difference between an API and its server (RFC 8414)`()
        async throws
    {
        for (named, written) in [("/t", "/t/"), ("/t/", "/t"), ("", "/t"), ("", ":443")] {
            world[McpWorld.resourceURL] = .json(
                200, McpWorld.resource(servers: [McpWorld.issuer + named]))
            let place = McpWorld.serverURL + (named.isEmpty ? "" : "/t")
            world[place] = .json(200, McpWorld.server(McpWorld.issuer + written))
            let error = try await failure()
            #expect(!error.message.contains("configuration"), "the API says it")
            #expect(error.message.contains("\"\(McpWorld.issuer + named)\""))
            #expect(error.message.contains("\"\(McpWorld.issuer + written)\""))
        }
    }

    @Test func `passes over a server that cannot be used`() async throws {
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(servers: ["https://gone.example", McpWorld.issuer]))
        #expect(issuer(try await resolved()) == McpWorld.issuer)
    }

    @Test(arguments: [
        "https://169.254.169.254", "https://10.0.0.1",
        "https://localhost", "http://127.0.0.1:1", "https://[::1]", "https://vault.internal",
        "https://printer", "https://0x7f000001",
    ])
    func `is led into no private network (RFC 9728 section 7.7)`(server: String) async throws {
        world[McpWorld.resourceURL] = .json(200, McpWorld.resource(servers: [server]))
        let error = try await failure()
        guard case .notPublic = error, case .misconfigured = error.lack else {
            Issue.record("\(error)")
            return
        }
        #expect(world.fetcher.urls == [McpWorld.upstream, McpWorld.resourceURL])
    }

    @Test func `is led to no private endpoint`() async throws {
        world[McpWorld.serverURL] = .json(
            200,
            McpWorld.server().components(separatedBy: "id.example.com/register").joined(
                separator: "10.0.0.1/register"))
        guard case .notPublic("https://10.0.0.1/register") = try await failure() else {
            Issue.record("accepted")
            return
        }
    }

    @Test func `asks for what is public only`() async throws {
        let seen = Reaches()
        let world = world
        let ground = try Ground(
            ScriptedFetcher { request, _ in
                seen.add(request)
                return world[request.url] ?? .page(404)
            })
        _ = try await resolved(in: ground)
        #expect(seen.of(McpWorld.upstream) == .anywhere)
        for url in [McpWorld.resourceURL, McpWorld.serverURL, McpWorld.registerURL] {
            #expect(seen.of(url) == .publicOnly)
        }
    }

    @Test func `does not follow a challenge out of TLS`() async throws {
        world[McpWorld.upstream] = McpWorld.unauthorized(
            "resource_metadata=\"http://mcp.example.com/about\"")
        _ = try await resolved()
        #expect(!world.fetcher.urls.contains("http://mcp.example.com/about"))
    }

    @Test func `reads a challenge among others`() {
        let response = InboundResponse(
            status: 401,
            fields: [
                ("WWW-Authenticate", "Basic realm=\"x\", Negotiate"),
                ("www-authenticate", "DPoP algs=\"ES256\", Bearer scope=\"a  b a\", broken=="),
                (
                    "WWW-Authenticate",
                    "Bearer resource_metadata=\"https://a.example/x\", scope=\"c\""
                ),
            ], body: SecretBytes(""))
        let challenge = ResourceChallenge(response)
        #expect(challenge.metadataURL == "https://a.example/x")
        #expect(challenge.scopes == ["a", "b"])
    }

    @Test func `asks again at each login, and at no refresh`() async throws {
        let ground = try Ground(world.fetcher)
        _ = try await resolved(in: ground)
        var login = ground.login()
        (login.issuer, login.resource, login.clientID) = (
            McpWorld.issuer, McpWorld.upstream, "reg-1"
        )
        let asked = world.fetcher.count
        let settings = try await DiscoveryDesk(in: ground.surroundings).client(
            world.settings, continuing: login)
        #expect(issuer(settings) == McpWorld.issuer)
        #expect(settings.clientID == "reg-1")
        #expect(settings.authorization.resources == [McpWorld.upstream])
        #expect(world.fetcher.count == asked)
        ground.clock.advance(seconds: 61)
        _ = try await resolved(in: ground)
        #expect(world.fetcher.urls.filter { $0 == McpWorld.resourceURL }.count == 2)
        #expect(world.fetcher.urls.filter { $0 == McpWorld.serverURL }.count == 1)
    }

    @Test func `goes on with what it knows while the API is down`() async throws {
        let ground = try Ground(world.fetcher)
        _ = try await resolved(in: ground)
        ground.clock.advance(seconds: 3600)
        for url in [McpWorld.resourceURL, McpWorld.upstream] {
            world[url] = .failure(.connectionRefused(host: "x"))
        }
        #expect(issuer(try await resolved(in: ground)) == McpWorld.issuer)
    }

    @Test func `gives one API's tokens to no other`() async throws {
        let ground = try Ground(world.fetcher)
        var login = ground.login()
        (login.issuer, login.clientID) = (McpWorld.issuer, "reg-1")
        for resource in [nil, "https://evil.example/mcp", McpWorld.upstream + "/"] {
            login.resource = resource
            try await ground.store.save(login, github)
            let source = OAuthSource(
                github, world.settings, discovery: DiscoveryDesk(in: ground.surroundings),
                in: ground.surroundings)
            guard case .changed(let supply) = await source.look() else {
                Issue.record("nothing seen")
                continue
            }
            #expect(supply.token == nil)
            guard case .unavailable = supply.obstacle else {
                Issue.record("\(String(describing: supply.obstacle))")
                continue
            }
        }
    }

    @Test func `says of another API's login that it is of no use here`() async throws {
        let ground = try Ground(world.fetcher)
        var login = ground.login()
        (login.issuer, login.resource) = (McpWorld.issuer, "https://other.example/mcp")
        try await ground.store.save(login, github)
        let settings = CredentialSettings(id: github, kind: .oauth(world.settings))
        let desk = StatusDesk(in: ground.surroundings)
        #expect(await desk.status(of: settings).state == .unavailable)
        (login.resource, login.clientID) = (McpWorld.upstream, "reg-1")
        try await ground.store.save(login, github)
        let status = await desk.status(of: settings)
        #expect(status.state == .usable)
        #expect(status.clientID == "reg-1")
    }

    @Test func `takes what the API said to a token where it says nothing without`() async throws {
        let ground = try Ground(world.fetcher)
        let place = "https://mcp.example.com/about"
        world[place] = .json(200, McpWorld.resource())
        var facts = ChallengeFacts(
            upstream: Origin(scheme: .https, host: "mcp.example.com", port: 443), status: 401)
        (facts.scope, facts.resourceMetadata) = ("x y", place)
        await ChallengeBook(in: ground.surroundings).note(facts, of: github)
        let settings = try await resolved(in: ground)
        #expect(world.fetcher.urls[1] == place)
        #expect(settings.scopes == ["x", "y"])
    }

    @Test func `looks for the way to a client without taking it`() async throws {
        let ground = try Ground(world.fetcher)
        let desk = DiscoveryDesk(in: ground.surroundings)
        let located = try await desk.located(world.settings, of: github)
        #expect(
            try await desk.wayToClient(located) == .registration(endpoint: McpWorld.registerURL))
        #expect(world.registrations == 0)
        _ = try await desk.client(world.settings, of: github)
        #expect(try await desk.wayToClient(located) == .registered("reg-1"))
        var named = located
        named.clientID = "mine"
        #expect(try await desk.wayToClient(named) == .named("mine"))
    }

    @Test func `ends a login whose server is none any more`() async throws {
        let ground = try Ground(world.fetcher)
        let desk = DiscoveryDesk(in: ground.surroundings)
        _ = try await desk.client(world.settings, of: github)
        var login = ground.login()
        (login.issuer, login.resource) = (McpWorld.issuer, McpWorld.upstream)
        world[McpWorld.resourceURL] = .json(
            200, McpWorld.resource(servers: ["https://new.example"]))
        ground.clock.advance(seconds: 61)
        await desk.rereadResource(McpWorld.upstream, metadataURL: nil)
        let error = try await #require(throws: DiscoveryError.self) {
            try await desk.client(world.settings, continuing: login)
        }
        #expect(error == .loginOutdated(code: "issuer_changed"))
        guard case .loginNeeded("issuer_changed") = error.lack else {
            Issue.record("\(error.lack)")
            return
        }
    }
}

/// What requests were allowed to reach.
private final class Reaches: Sendable {
    private let all = Mutex<[String: OutboundRequest.Reach]>([:])

    func add(_ request: OutboundRequest) { all.withLock { $0[request.url] = request.reach } }
    func of(_ url: String) -> OutboundRequest.Reach? { all.withLock { $0[url] } }
}
