import Bytes
import Crossing
import OAuth
import Support
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

private let token = "https://login.example.com/token"

extension ScriptedFetcher {
    /// The proof of a request, by its number from 1.
    func proof(_ number: Int) throws -> ReadProof {
        try ReadProof(try #require(fields(number)["DPoP"]))
    }
}

private func nonce(_ value: String) -> [(name: String, value: String)] { [("DPoP-Nonce", value)] }

@Suite struct `A proof session` {
    private func session(_ ground: Ground) -> ProofSession {
        ProofSession(.fresh(), in: ground.surroundings)
    }

    @Test func `keeps nonces by server from every answer, and proves each request (F74)`()
        async throws
    {
        let fetcher = ScriptedFetcher([
            .json(200, "{}", nonce("n1")), .json(500, "{}", nonce("n2")), .json(200, "{}"),
        ])
        let ground = try Ground(fetcher)
        let session = session(ground)
        for _ in 0..<3 { _ = try await session.fetch(OutboundRequest(.post, token)) }
        _ = try await session.fetch(OutboundRequest(.post, "https://other.example/token"))
        let proofs = try (1...4).map { try fetcher.proof($0) }
        #expect(proofs.map { $0.text("nonce") } == [nil, "n1", "n2", nil])
        #expect(Set(proofs.compactMap { $0.text("jti") }).count == 4)
        #expect(Set(proofs.map(\.thumbprint)) == [session.key.thumbprint])
        #expect(proofs.allSatisfy { $0.text("ath") == nil })
    }

    @Test func `never crosses authorization server and resource at one address (F74)`() async throws
    {
        let fetcher = ScriptedFetcher { request, number in
            .json(200, "{}", nonce(request.method == .post ? "as\(number)" : "rs\(number)"))
        }
        let ground = try Ground(fetcher)
        let session = session(ground)
        let userInfo = OutboundRequest(.get, "https://login.example.com/userinfo")
        for _ in 0..<2 {
            _ = try await session.fetch(OutboundRequest(.post, token))
            _ = try await session.fetch(userInfo, accessToken: SecretBytes("AT"))
        }
        let proofs = try (1...4).map { try fetcher.proof($0) }
        #expect(proofs.map { $0.text("nonce") } == [nil, nil, "as1", "rs2"])
        #expect(proofs[3].text("ath") != nil)
        #expect(proofs[3].text("htm") == "GET")
    }

    @Test func `tries once more with a nonce that is new, and only then (F74)`() async throws {
        let refusal = #"{"error":"use_dpop_nonce"}"#
        let fetcher = ScriptedFetcher { _, number in
            .json(400, refusal, nonce("n\(number)"))
        }
        let ground = try Ground(fetcher)
        let session = session(ground)
        #expect(try await session.fetch(OutboundRequest(.post, token)).status == 400)
        #expect(fetcher.count == 2)
        #expect(try fetcher.proof(2).text("nonce") == "n1")
        // The nonce that was sent comes back: nothing could be done better.
        fetcher.answer { _, _ in .json(400, refusal, nonce("n2")) }
        #expect(try await session.fetch(OutboundRequest(.post, token)).status == 400)
        #expect(fetcher.count == 3)
    }

    @Test func `knows when a nonce is too old to spend anything on (F76)`() async throws {
        let fetcher = ScriptedFetcher { request, _ in
            .json(200, "{}", request.url == token ? nonce("n1") : [])
        }
        let ground = try Ground(fetcher)
        let session = session(ground)
        #expect(await session.needsPriming(for: token))
        _ = try await session.fetch(OutboundRequest(.post, token))
        #expect(await !session.needsPriming(for: token))
        ground.clock.advance(seconds: 61)
        #expect(await session.needsPriming(for: token))
        // A server that gives none is not asked again.
        let other = "https://other.example/token"
        _ = try await session.fetch(OutboundRequest(.post, other))
        ground.clock.advance(seconds: 100_000)
        #expect(await !session.needsPriming(for: other))
    }

    @Test func `writes its nonces down and reads what it can`() async throws {
        var nonces = ServerNonces()
        let now = WallTime(seconds: 1000)
        let response = InboundResponse(
            status: 200, fields: nonce("n1"), body: SecretBytes(""))
        nonces.note(response, from: token, .authorizationServer, at: now)
        nonces.note(
            InboundResponse(status: 200, body: SecretBytes("")), from: token, .resource, at: now)
        #expect(ServerNonces(nonces.document) == nonces)
        let junk: JSONValue = [
            "as https://login.example.com": ["nonce": "a\"b", "at": 5], "x": "y",
            "rs https://a": ["at": "soon"],
        ]
        #expect(ServerNonces(try #require(junk.asObject)) == ServerNonces())
        for number in 0..<100 {
            nonces.note(
                response, from: "https://\(number).example", .resource,
                at: WallTime(seconds: 2000 + Int64(number)))
        }
        #expect(nonces.entries.count == 8)
        #expect(nonces.nonce(for: "https://99.example/x", .resource) == "n1")
    }
}

@Suite struct `A bound login` {
    private static var settings: OAuthSettings {
        var settings = Ground.settings
        settings.requiresProof = true
        return settings
    }

    private static func tokens(
        _ access: String, _ refresh: String, type: String = "DPoP", nonce value: String? = nil
    ) -> Result<InboundResponse, FetchError> {
        .json(
            200,
            #"{"access_token":"\#(access)","refresh_token":"\#(refresh)","token_type":"\#(type)","#
                + #""expires_in":300}"#, value.map(nonce) ?? [])
    }

    /// A login with a key, whose token has expired, and which knows that its server gives no nonce.
    private func save(_ ground: Ground, _ key: ProofKey, nonces: JSONObject? = nil) async throws {
        var login = ground.login(secondsLeft: 0)
        login.tokenType = "DPoP"
        login.dpopKey = key.stored
        var none = ServerNonces()
        none.note(
            InboundResponse(status: 200, body: SecretBytes("")), from: token, .authorizationServer,
            at: ground.now)
        login.dpopNonces = nonces ?? none.document
        try await ground.store.save(login, github)
    }

    @Test func `is made with a key of its own, which is only in its record (F75)`() async throws {
        let fetcher = ScriptedFetcher { _, number in
            number == 1
                ? .json(400, #"{"error":"invalid_request"}"#, nonce("n1"))
                : Self.tokens("AT1", "RT1", nonce: "n2")
        }
        let ground = try Ground(fetcher)
        let desk = ground.desk(Self.settings)
        let session = try await desk.begin(github, LoginOptions(.paste))
        let page = session.page
        let redirect = try #require(page.parameters["redirect_uri"])
        try await session.paste("\(redirect)?code=C1&state=\(page.state)")
        let login = try await session.result()
        await session.close()
        let key = try #require(login.dpopKey.flatMap { ProofKey(stored: $0) })
        #expect(page.parameters["dpop_jkt"] == key.thumbprint)
        #expect(login.tokenType == "DPoP")
        // The code was spent with a fresh nonce, and what came with the answer is kept.
        #expect(fetcher.forms.map { $0["code"] } == [nil, "C1"])
        #expect(try fetcher.proof(2).text("nonce") == "n1")
        #expect(try fetcher.proof(2).thumbprint == key.thumbprint)
        let stored = try await ground.store.load(github)
        #expect(stored?.dpopKey == key.stored)
        #expect(
            ServerNonces(try #require(stored?.dpopNonces)).nonce(for: token, .authorizationServer)
                == "n2")
    }

    @Test func `refreshes with the same key after a restart (F75)`() async throws {
        let key = ProofKey.fresh()
        let fetcher = ScriptedFetcher { _, number in
            Self.tokens("AT\(number + 1)", "RT\(number + 1)", nonce: "n\(number)")
        }
        let ground = try Ground(fetcher)
        try await save(ground, key)
        #expect(try await ground.keeper(Self.settings).text() == "AT2")
        let restarted = try Ground(fetcher, sharing: ground)
        let login = try #require(await restarted.store.load(github))
        #expect(login.dpopKey == key.stored)
        let keeper = restarted.keeper(Self.settings)
        #expect(try await keeper.text() == "AT2")
        #expect(try await keeper.text(newerThan: Generation(1)) == "AT3")
        #expect(try fetcher.proof(1).thumbprint == key.thumbprint)
        #expect(try fetcher.proof(2).thumbprint == key.thumbprint)
        // The nonce of the first process serves the second.
        #expect(try fetcher.proof(2).text("nonce") == "n1")
    }

    @Test func `survives a server that spends the token before it asks for a nonce (F76, I60)`()
        async throws
    {
        // Spends whatever it gets and only then looks at the nonce.
        let fetcher = ScriptedFetcher()
        fetcher.answer { [unowned fetcher] _, number in
            let proof = try? fetcher.proof(number)
            let spends = fetcher.forms[number - 1]["refresh_token"] != nil
            guard proof?.text("nonce") == "current" else {
                return .json(400, #"{"error":"use_dpop_nonce"}"#, nonce("current"))
            }
            let wasSpent = fetcher.spent.count > 1
            return wasSpent || !spends
                ? .error(spends ? "invalid_grant" : "invalid_request")
                : Self.tokens("AT2", "RT2", nonce: "current")
        }
        let ground = try Ground(fetcher)
        var old = ServerNonces()
        old.note(
            InboundResponse(status: 200, fields: nonce("stale"), body: SecretBytes("")),
            from: token,
            .authorizationServer, at: ground.now.advanced(by: -7200))
        try await save(ground, ProofKey.fresh(), nonces: old.document)
        #expect(try await ground.keeper(Self.settings).text() == "AT2")
        #expect(fetcher.spent == ["RT1"])
    }

    @Test func `does not spend its token where not even a nonce is to be had (F76)`() async throws {
        let fetcher = ScriptedFetcher([.failure(.timedOut(mayHaveArrived: true))])
        let ground = try Ground(fetcher)
        try await save(ground, ProofKey.fresh(), nonces: JSONObject())
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(Self.settings).text()
        }
        #expect(refusal.isUnreachable)
        #expect(fetcher.spent.isEmpty)
    }

    @Test func `takes no Bearer token in the place of a bound one (F43)`() async throws {
        let fetcher = ScriptedFetcher([Self.tokens("AT2", "RT2", type: "Bearer")])
        let ground = try Ground(fetcher)
        try await save(ground, ProofKey.fresh())
        let refusal = try await #require(throws: Refusal.self) {
            try await ground.keeper(Self.settings).text()
        }
        #expect(refusal.isMisconfigured)
    }

    @Test func `needs its key, and a configuration that wants one`() async throws {
        let ground = try Ground()
        try await ground.save()
        let unbound = try await #require(throws: Refusal.self) {
            try await ground.keeper(Self.settings).text()
        }
        #expect(unbound.isLoginRequired)
        var login = ground.login()
        login.dpopKey = SecretBytes("no key")
        try await ground.store.save(login, github)
        let broken = try await #require(throws: Refusal.self) {
            try await ground.keeper(Self.settings).text()
        }
        #expect(broken.isLoginRequired)
        login.dpopKey = ProofKey.fresh().stored
        try await ground.store.save(login, github)
        let turnedOff = try await #require(throws: Refusal.self) {
            try await ground.keeper().text()
        }
        #expect(turnedOff.isLoginRequired)
        #expect(try await ground.keeper(Self.settings).text() == "AT1")
        #expect(ground.fetcher.count == 0)
    }

    @Test func `goes to workers with its key and the hash of its token`() async throws {
        let ground = try Ground()
        let key = ProofKey.fresh()
        var login = ground.login()
        login.dpopKey = key.stored
        try await ground.store.save(login, github)
        let credential = try await ground.keeper(Self.settings).credential(newerThan: .none)
        let update = credential.update(CredentialSlot(0), Injection(prefix: "DPoP "))
        #expect(update.binding?.key == key.stored)
        #expect(update.binding?.accessTokenHash == ProofKey.hash(of: SecretBytes("AT1")))
        #expect(update.line.map(reveal) == "Authorization: DPoP AT1\r\n")
    }
}

@Suite struct `A machine's bound token` {
    @Test func `has a key that the next start finds (F75)`() async throws {
        let fetcher = ScriptedFetcher { _, number in
            .json(
                200,
                #"{"access_token":"AT\#(number)","token_type":"DPoP","expires_in":300}"#,
                nonce("n\(number)"))
        }
        let ground = try Ground(fetcher)
        var settings = Ground.settings
        settings.grant = .clientCredentials
        settings.requiresProof = true
        let credential = CredentialSettings(id: github, kind: .oauth(settings))
        func keeper(_ ground: Ground) -> CredentialKeeper {
            CredentialKeeper(
                credential, discovery: DiscoveryDesk(in: ground.surroundings), desk: nil,
                in: ground.surroundings)
        }
        // Nothing is known of the server: the first request is for its nonce.
        let first = keeper(ground)
        let bound = try await first.credential(newerThan: .none)
        #expect(reveal(bound.token) == "AT2")
        let key = try #require(bound.proofKey.flatMap { ProofKey(stored: $0) })
        #expect(try fetcher.proof(2).text("nonce") == "n1")
        let restarted = keeper(try Ground(fetcher, sharing: ground))
        #expect(try await restarted.text() == "AT2")
        #expect(try await restarted.text(newerThan: Generation(1)) == "AT3")
        #expect(try (1...3).allSatisfy { try fetcher.proof($0).thumbprint == key.thumbprint })
    }
}
