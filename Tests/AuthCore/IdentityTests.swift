// Whose login it is: what a login believes, what a refresh may change, and what goes upstream.

import Bytes
import Crossing
import OAuth
import Support
import Synchronization
import Testing
import TokenStore
import Vocabulary

@testable import AuthCore

/// A provider by script that signs what it says.
private final class Provider: Sendable {
    static let keysURL = "https://login.example.com/keys"
    static let userInfoURL = "https://login.example.com/me"

    let signer = TokenSigner()
    let ground: Ground
    let answers = Mutex<[Result<InboundResponse, FetchError>]>([])
    let keys: Mutex<Result<InboundResponse, FetchError>>
    let userInfo = Mutex<Result<InboundResponse, FetchError>>(.page(404))
    /// What the record held when the keys were asked for.
    let seen = Mutex<[String?]>([])

    init() throws {
        ground = try Ground()
        keys = Mutex(.json(200, signer.keySet()))
        ground.fetcher.answer { [weak self] request, _ in
            guard let self else { return .page(500) }
            if request.url == Self.keysURL {
                let record = (try? await ground.store.load(github)) ?? nil
                seen.withLock { $0.append(record?.access) }
                return keys.withLock { $0 }
            }
            if request.url == Self.userInfoURL { return userInfo.withLock { $0 } }
            return answers.withLock { $0.isEmpty ? .page(500) : $0.removeFirst() }
        }
    }

    func answer(_ members: String) {
        answers.withLock { $0.append(.json(200, "{\(members)}")) }
    }

    func idToken(_ changes: String = "", subject: String = "s", by other: TokenSigner? = nil)
        -> String
    {
        (other ?? signer).token(
            #"{"iss":"https://login.example.com","sub":"\#(subject)","aud":"my-cli","exp":1700000300,"#
                + #""iat":1700000000\#(changes)}"#)
    }

    static var settings: OAuthSettings {
        var settings = Ground.settings
        settings.scopes = ["openid"]
        settings.endpointsByHand["jwks_uri"] = keysURL
        settings.endpointsByHand["userinfo_endpoint"] = userInfoURL
        return settings
    }

    static var injecting: OAuthSettings {
        var settings = settings
        settings.injected = .idToken
        return settings
    }

    /// Logs in; `members` makes the answer of the token endpoint from the nonce.
    func login(
        _ settings: OAuthSettings = settings, _ members: (_ nonce: String) -> String
    ) async throws -> Result<Login, LoginFailure> {
        let session = try await ground.desk(settings).begin(github, LoginOptions(.printURL))
        let page = session.page
        answer(members(page.parameters["nonce"] ?? ""))
        try await blocking { try page.visit(try page.success()) }
        let result: Result<Login, LoginFailure>
        do throws(LoginFailure) {
            result = .success(try await session.result())
        } catch {
            result = .failure(error)
        }
        await session.close()
        return result
    }

    /// A login in the store whose access token has expired.
    func saveExpired(idToken: String?, subject: String? = "s") async throws {
        var login = ground.login(secondsLeft: -10)
        login.idToken = idToken.map { SecretBytes($0) }
        login.subject = subject
        try await ground.store.save(login, github)
    }

    func record() async throws -> Login { try #require(try await ground.store.load(github)) }
}

extension Result where Success == Login, Failure == LoginFailure {
    fileprivate var idTokenError: IDTokenError? {
        if case .failure(.idToken(let error)) = self { error } else { nil }
    }
}

@Suite struct `A login's person` {
    private let provider: Provider
    private var ground: Ground { provider.ground }

    init() throws { provider = try Provider() }

    @Test func `is the ID token's, once a published key has signed it`() async throws {
        let login = try await provider.login { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)""#)
            return #""access_token":"AT1","id_token":"\#(token)""#
        }.get()
        #expect(login.subject == "s")
        #expect(try await provider.record().subject == "s")
        #expect(ground.fetcher.urls.last == Provider.keysURL)
    }

    @Test func `F45 is nobody when another key has signed`() async throws {
        let result = try await provider.login { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)""#, by: TokenSigner())
            return #""access_token":"AT1","id_token":"\#(token)""#
        }
        #expect(result.idTokenError == .badSignature)
        #expect(try await ground.store.load(github) == nil)
    }

    @Test func `is nobody while the keys cannot be had`() async throws {
        provider.keys.withLock { $0 = .page(503) }
        let result = try await provider.login { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)""#)
            return #""access_token":"AT1","id_token":"\#(token)""#
        }
        guard case .failure(.keys(let error)) = result else {
            Issue.record("it was logged in")
            return
        }
        #expect(error.message.contains(Provider.keysURL))
        #expect(try await ground.store.load(github) == nil)
    }

    @Test func `is believed for TLS's sake where a provider names no keys`() async throws {
        var settings = Provider.settings
        settings.endpointsByHand["jwks_uri"] = nil
        let login = try await provider.login(settings) { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)""#, by: TokenSigner())
            return #""access_token":"AT1","id_token":"\#(token)""#
        }.get()
        #expect(login.subject == "s")
    }

    @Test(
        arguments: [
            (#","vot":"Cl.Cm""#, nil), (#","vot":"Cl""#, .otherVectorOfTrust("Cl")),
            ("", .otherVectorOfTrust(nil)),
        ] as [(String, IDTokenError?)])
    func `F17 is trusted as far as was asked for`(claims: String, error: IDTokenError?) async throws
    {
        var settings = Provider.settings
        settings.authorization.vectorsOfTrust = ["Cl.Cm"]
        let result = try await provider.login(settings) { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)"\#(claims)"#)
            return #""access_token":"AT1","id_token":"\#(token)""#
        }
        #expect(result.idTokenError == error)
    }

    @Test(
        arguments: [
            (#","acr":"phr","auth_time":1700000000"#, nil), ("", .missing(claim: "auth_time")),
            (#","acr":"0","auth_time":1700000000"#, .otherContextClass("0")),
            (#","acr":"phr","auth_time":1699999000"#, .authenticationTooOld(secondsAgo: 1000)),
        ] as [(String, IDTokenError?)])
    func `is authenticated as was asked for`(claims: String, error: IDTokenError?) async throws {
        var settings = Provider.settings
        settings.authorization.contextClasses = ["phr"]
        settings.authorization.maxAgeSeconds = 300
        let result = try await provider.login(settings) { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)"\#(claims)"#)
            return #""access_token":"AT1","id_token":"\#(token)""#
        }
        #expect(result.idTokenError == error)
    }

    /// Microsoft Entra's metadata for all tenants names no tenant.
    @Test func `F05 is of the tenant that the token names, where the issuer is a template`()
        async throws
    {
        func result(_ issuer: String, _ tenant: String) async throws -> Result<Login, LoginFailure>
        {
            let provider = try Provider()
            var settings = Provider.settings
            settings.quirks = .issuerTemplate
            settings.endpoints = .fixed(
                authorization: "https://login.example.com/authorize",
                token: "https://login.example.com/token",
                issuer: "https://login.example.com/{tenantid}/v2.0")
            return try await provider.login(settings) { nonce in
                let token = provider.signer.token(
                    #"{"iss":"\#(issuer)","sub":"s","aud":"my-cli","exp":1700000300,"iat":1700000000,"#
                        + #""nonce":"\#(nonce)","tid":"\#(tenant)"}"#)
                return #""access_token":"AT1","id_token":"\#(token)""#
            }
        }
        let good = try await result("https://login.example.com/t-1/v2.0", "t-1").get()
        #expect(good.subject == "s")
        for (issuer, tenant) in [
            ("https://login.example.com/t-1/v2.0", "t-2"),
            ("https://login.example.com/a/b/v2.0", "a/b"),
            ("https://login.example.com/{tenantid}/v2.0", "t-1"),
        ] {
            guard case .failure(.idToken(.otherIssuer)) = try await result(issuer, tenant) else {
                Issue.record("\(issuer) was believed")
                continue
            }
        }
    }

    @Test func `is judged as the configuration says`() async throws {
        var settings = Provider.settings
        settings.identity.algorithms = ["RS256"]
        let members = { (nonce: String) -> String in
            let token = provider.idToken(#","nonce":"\#(nonce)""#)
            return #""access_token":"AT1","id_token":"\#(token)""#
        }
        #expect(
            try await provider.login(settings, members).idTokenError
                == .algorithmNotAllowed("ES256"))
        settings.identity.algorithms = ["RS256", "ES256"]
        #expect(try await provider.login(settings, members).get().subject == "s")
    }
}

@Suite struct `A refresh with an ID token` {
    private let provider: Provider
    private var ground: Ground { provider.ground }

    init() throws { provider = try Provider() }

    private func refresh(_ members: String) async throws -> Result<String, Refusal> {
        provider.answer(#""access_token":"AT2","expires_in":300,"refresh_token":"RT2","# + members)
        let keeper = ground.keeper(Provider.settings)
        do throws(Refusal) {
            return .success(try await keeper.text())
        } catch {
            return .failure(error)
        }
    }

    @Test func `F49 keeps the earlier one where it brings none`() async throws {
        let earlier = provider.idToken()
        try await provider.saveExpired(idToken: earlier)
        #expect(try await refresh(#""scope":"openid""#).get() == "AT2")
        #expect(try await provider.record().idToken.map(reveal) == earlier)
        #expect(try await provider.record().subject == "s")
    }

    @Test func `takes the new one of the same person`() async throws {
        try await provider.saveExpired(idToken: provider.idToken())
        let fresh = provider.idToken(#","x":1"#)
        #expect(try await refresh(#""id_token":"\#(fresh)""#).get() == "AT2")
        #expect(try await provider.record().idToken.map(reveal) == fresh)
    }

    @Test(arguments: [true, false])
    func `F46 of another person ends the login, known by token or by name`(hasToken: Bool)
        async throws
    {
        try await provider.saveExpired(idToken: hasToken ? provider.idToken() : nil)
        let other = provider.idToken(subject: "other")
        let result = try await refresh(#""id_token":"\#(other)""#)
        guard case .failure(let refusal) = result else {
            Issue.record("another person's token was used")
            return
        }
        #expect(refusal.isLoginRequired)
        let record = try await provider.record()
        #expect(record.rejection?.code == "id_token_mismatch")
        #expect(record.access == "AT1")
        #expect(record.subject == "s")
    }

    @Test func `F46 of another server ends the login`() async throws {
        try await provider.saveExpired(
            idToken: provider.signer.token(#"{"iss":"https://other.example","sub":"s"}"#))
        guard
            case .failure(let refusal) = try await refresh(#""id_token":"\#(provider.idToken())""#)
        else {
            Issue.record("another server's token was used")
            return
        }
        #expect(refusal.isLoginRequired)
    }

    /// A refresh was rotated: whatever is wrong with the ID token, the login goes on.
    @Test func `leaves out one that is forged, expired or unreadable, and keeps the login`()
        async throws
    {
        let forged = provider.idToken(by: TokenSigner())
        let expired = provider.signer.token(
            #"{"iss":"https://login.example.com","sub":"s","aud":"my-cli","exp":1,"iat":1}"#)
        for token in [forged, expired, "e30.e30.", "a.b.c.d.e"] {
            let provider = try Provider()
            let earlier = provider.idToken()
            try await provider.saveExpired(idToken: earlier)
            provider.answer(
                #""access_token":"AT2","expires_in":300,"refresh_token":"RT2","id_token":"\#(token)""#
            )
            #expect(try await provider.ground.keeper(Provider.settings).text() == "AT2")
            let record = try await provider.record()
            #expect(record.idToken.map(reveal) == earlier)
            #expect(record.refresh == "RT2")
            #expect(record.rejection == nil)
        }
    }

    @Test func `is taken while the keys cannot be had`() async throws {
        provider.keys.withLock { $0 = .failure(.timedOut(mayHaveArrived: true)) }
        try await provider.saveExpired(idToken: provider.idToken())
        let fresh = provider.idToken(#","x":1"#)
        #expect(try await refresh(#""id_token":"\#(fresh)""#).get() == "AT2")
        #expect(try await provider.record().idToken.map(reveal) == fresh)
    }

    @Test func `is on disk before anybody is asked for keys`() async throws {
        try await provider.saveExpired(idToken: provider.idToken())
        #expect(try await refresh(#""id_token":"\#(provider.idToken())""#).get() == "AT2")
        #expect(provider.seen.withLock { $0 } == ["AT2"])
        // With the keys known, nobody is asked and the record is written once.
        let generation = try await provider.record().generation
        ground.clock.advance(seconds: 400)
        provider.answer(
            #""access_token":"AT3","expires_in":300,"refresh_token":"RT3","id_token":"\#(later)""#)
        #expect(try await ground.keeper(Provider.settings).text() == "AT3")
        #expect(provider.seen.withLock { $0 }.count == 1)
        #expect(try await provider.record().generation.count == generation.count + 1)
    }

    private var later: String {
        provider.signer.token(
            #"{"iss":"https://login.example.com","sub":"s","aud":"my-cli","exp":1700000700,"iat":1700000400}"#
        )
    }
}

@Suite struct `An ID token as the credential` {
    private let provider: Provider
    private var ground: Ground { provider.ground }

    init() throws { provider = try Provider() }

    /// Azure AD B2C gives no access token when no scope of an API was asked for.
    @Test func `F50 needs no access token`() async throws {
        let login = try await provider.login(Provider.injecting) { nonce in
            let token = provider.idToken(#","nonce":"\#(nonce)""#)
            return #""token_type":"Bearer","refresh_token":"RT1","id_token":"\#(token)""#
        }.get()
        #expect(login.accessToken == nil)
        let keeper = ground.keeper(Provider.injecting)
        #expect(try await keeper.text() == login.idToken.map(reveal))
        let status = await StatusDesk(in: ground.surroundings).status(
            of: CredentialSettings(id: github, kind: .oauth(Provider.injecting)))
        #expect(status.state == .usable)
        #expect(status.expiresAt == ground.now.advanced(by: 300))
    }

    @Test func `F40 is missed by name`() async throws {
        let result = try await provider.login(Provider.injecting) { _ in
            #""access_token":"AT1","refresh_token":"RT1""#
        }
        guard case .failure(.token(let failure)) = result else {
            Issue.record("it was logged in")
            return
        }
        #expect(failure.description.contains("no ID token"))
        #expect(try await ground.store.load(github) == nil)
        // And the other way round.
        let other = try await provider.login { nonce in
            #""id_token":"\#(provider.idToken(#","nonce":"\#(nonce)""#))""#
        }
        guard case .failure(.token(let failure)) = other else {
            Issue.record("it was logged in")
            return
        }
        #expect(failure.description.contains("no access token"))
    }

    @Test func `F50 is as fresh as its own expiry, whatever else lives longer`() async throws {
        let first = provider.idToken()
        var login = ground.login(secondsLeft: 3000)
        login.idToken = SecretBytes(first)
        login.idTokenExpiresAt = ground.now.advanced(by: 300)
        login.obtainedAt = ground.now
        try await ground.store.save(login, github)
        let keeper = ground.keeper(Provider.injecting)
        #expect(try await keeper.text() == first)
        ground.clock.advance(seconds: 301)
        let fresh = provider.signer.token(
            #"{"iss":"https://login.example.com","sub":"s","aud":"my-cli","exp":1700000700,"iat":1700000301}"#
        )
        provider.answer(#""access_token":"AT2","expires_in":9000,"id_token":"\#(fresh)""#)
        #expect(try await keeper.text() == fresh)
        #expect(ground.fetcher.spent == ["RT1"])
        // By our clock: 399 s from its arrival.
        #expect(try await provider.record().idTokenExpiresAt == ground.now.advanced(by: 399))
    }

    @Test func `that a refresh does not bring is used to its end, then a person is needed`()
        async throws
    {
        var login = ground.login(secondsLeft: 3000)
        login.idToken = SecretBytes(provider.idToken())
        login.idTokenExpiresAt = ground.now.advanced(by: 20)
        login.obtainedAt = ground.now.advanced(by: -280)
        try await ground.store.save(login, github)
        let keeper = ground.keeper(Provider.injecting)
        provider.answer(#""access_token":"AT2","expires_in":300"#)
        provider.answer(#""access_token":"AT3","expires_in":300"#)
        #expect(try await keeper.text() == login.idToken.map(reveal))
        ground.clock.advance(seconds: 30)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isLoginRequired)
        #expect(try await provider.record().rejection == nil)
    }

    @Test func `that is forged is not sent`() async throws {
        var login = ground.login(secondsLeft: 3000)
        login.idToken = SecretBytes(provider.idToken())
        login.idTokenExpiresAt = ground.now.advanced(by: -10)
        login.obtainedAt = ground.now.advanced(by: -310)
        try await ground.store.save(login, github)
        let forged = provider.idToken(by: TokenSigner())
        provider.answer(#""access_token":"AT2","expires_in":300,"id_token":"\#(forged)""#)
        let keeper = ground.keeper(Provider.injecting)
        let refusal = try await #require(throws: Refusal.self) { try await keeper.text() }
        #expect(refusal.isUnreachable)
        #expect(try await provider.record().access == "AT2")
    }
}

@Suite struct `Whoever is logged in` {
    private let provider: Provider
    private var ground: Ground { provider.ground }

    init() throws { provider = try Provider() }

    private func identity(
        _ settings: OAuthSettings = Provider.settings
    ) async -> Result<Identity, WhoamiFailure> {
        let desk = IdentityDesk(
            discovery: DiscoveryDesk(in: ground.surroundings), in: ground.surroundings)
        do throws(WhoamiFailure) {
            return .success(
                try await desk.identity(
                    of: CredentialSettings(id: github, kind: .oauth(settings)),
                    credential: SecretBytes("AT1")))
        } catch {
            return .failure(error)
        }
    }

    private func save(_ idToken: String?) async throws {
        var login = ground.login()
        login.idToken = idToken.map { SecretBytes($0) }
        try await ground.store.save(login, github)
    }

    @Test func `F48 is told by the ID token and by userinfo`() async throws {
        try await save(provider.idToken(#","email":"a@b""#))
        provider.userInfo.withLock { $0 = .json(200, #"{"sub":"s","name":"Ann"}"#) }
        let identity = try await identity().get()
        #expect(identity.subject == "s")
        #expect(identity.isVerified)
        #expect(identity.flaw == nil)
        #expect(identity.claims?["email"] == "a@b")
        #expect(identity.userInfo?.claims["name"] == "Ann")
        let number = try #require(ground.fetcher.urls.firstIndex(of: Provider.userInfoURL))
        #expect(ground.fetcher.fields(number + 1)["Authorization"] == "Bearer AT1")
    }

    @Test func `F48 is asked for with a proof where the token is bound to a key`() async throws {
        var login = ground.login()
        login.idToken = SecretBytes(provider.idToken())
        login.dpopKey = ProofKey.fresh().stored
        login.tokenType = "DPoP"
        try await ground.store.save(login, github)
        provider.userInfo.withLock { $0 = .json(200, #"{"sub":"s"}"#) }
        var settings = Provider.settings
        settings.requiresProof = true
        #expect(try await identity(settings).get().userInfo != nil)
        let number = try #require(ground.fetcher.urls.firstIndex(of: Provider.userInfoURL))
        let fields = ground.fetcher.fields(number + 1)
        #expect(fields["Authorization"] == "DPoP AT1")
        #expect(fields["DPoP"]?.split(separator: ".").count == 3)
    }

    @Test func `F48 is not shown when userinfo speaks of somebody else`() async throws {
        try await save(provider.idToken())
        provider.userInfo.withLock { $0 = .json(200, #"{"sub":"t"}"#) }
        guard case .failure(.userInfo(.otherSubject)) = await identity() else {
            Issue.record("another person was shown")
            return
        }
    }

    @Test func `is told by signed userinfo, with the provider's key only`() async throws {
        try await save(provider.idToken())
        func answer(_ signer: TokenSigner) -> Result<InboundResponse, FetchError> {
            .success(
                InboundResponse(
                    status: 200, fields: [("content-type", "application/jwt")],
                    body: SecretBytes(signer.token(#"{"sub":"s","name":"Ann"}"#))))
        }
        let (good, bad) = (answer(provider.signer), answer(TokenSigner()))
        provider.userInfo.withLock { $0 = good }
        #expect(try await identity().get().userInfo?.isSigned == true)
        provider.userInfo.withLock { $0 = bad }
        guard case .failure(.userInfo(.token(.badSignature))) = await identity() else {
            Issue.record("a forged answer was shown")
            return
        }
    }

    @Test func `stays known when the ID token is old, and says so when it is forged`() async throws
    {
        try await save(provider.idToken())
        ground.clock.advance(seconds: 86_400)
        var settings = Provider.settings
        settings.endpointsByHand["userinfo_endpoint"] = nil
        var identity = try await identity(settings).get()
        #expect(identity.isVerified)
        #expect(identity.expiresAt == WallTime(seconds: 1_700_000_300))
        try await save(provider.idToken(by: TokenSigner()))
        identity = try await self.identity(settings).get()
        #expect(!identity.isVerified)
        #expect(identity.flaw != nil)
    }

    @Test func `is told by userinfo alone where there is no ID token`() async throws {
        try await save(nil)
        provider.userInfo.withLock { $0 = .json(200, #"{"login":"ann"}"#) }
        let identity = try await identity().get()
        #expect(identity.subject == nil)
        #expect(identity.userInfo?.claims["login"] == "ann")
        var settings = Provider.settings
        settings.endpointsByHand["userinfo_endpoint"] = nil
        guard case .failure(.nothingKnown) = await self.identity(settings) else {
            Issue.record("something was known")
            return
        }
    }
}
