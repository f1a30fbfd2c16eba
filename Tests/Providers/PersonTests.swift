// A person's logins at providers that nobody here wrote: code and PKCE, refresh with rotation, expiry,
// revocation behind the proxy's back, introspection of what the API was sent.

import Bytes
import Support
import Testing
import Vocabulary

/// One test at a time: Glewlwyd mixes up flows that run at once.
@Suite(.enabled(if: Provider.isWanted), .serialized)
struct `Real provider` {
    typealias Pair = (Provider.Kind, Provider.Client)

    /// Authgent's only client with a person is public; Canaille's secrets go by Basic.
    static let logins: [Pair] = [
        (.glewlwyd, .publicly), (.glewlwyd, .basic), (.glewlwyd, .post),
        (.nanoidp, .publicly), (.nanoidp, .basic), (.nanoidp, .post),
        (.dot, .publicly), (.dot, .basic), (.dot, .post),
        (.canaille, .publicly), (.canaille, .basic),
        (.authgent, .publicly),
        (.lemonldap, .publicly), (.lemonldap, .basic), (.lemonldap, .post),
    ]

    /// Who may introspect what was given to whom.
    static let introspected: [Pair] = [
        (.glewlwyd, .basic), (.glewlwyd, .post), (.nanoidp, .basic), (.dot, .basic),
        (.canaille, .basic), (.lemonldap, .basic), (.authgent, .publicly),
    ]

    /// Public clients may not revoke at Glewlwyd, LemonLDAP::NG revokes nothing, and Authgent says that
    /// it did and did not.
    static let revoking: [Pair] = [
        (.glewlwyd, .post), (.nanoidp, .basic), (.dot, .basic), (.canaille, .basic),
    ]

    @Test(arguments: logins)
    func `logs in with code and PKCE, and serves a request`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(try .shared(kind), client)
        try world.login()
        #expect(try Files.mode(world.home.loginFile()) == 0o600)
        let proxy = try world.home.serve()
        #expect(try world.sentToken(proxy) == world.stored().access)
        if kind.userinfoPath != nil {
            let answer = try world.userinfo(proxy)
            #expect(answer.status == 200)
            #expect(answer.body.text.contains("\"sub\""))
        }
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: introspected)
    func `introspection knows the token that the API got`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(try .shared(kind), client)
        let judge: Provider.Client = kind == .authgent ? .service : client
        try world.login()
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy)
        let facts = try world.provider.introspect(token, as: judge)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        #expect(facts["client_id"]?.asString == (try world.provider.name(of: client)))
        let granted = facts["scope"]?.asString?.components(separatedBy: " ") ?? []
        #expect(Set(granted).isSuperset(of: ["profile"]), "\(facts)")
        // A control: it does not say so of anything.
        #expect(try !world.provider.isActive(String(token.dropLast(8)) + "AAAAAAAA", as: judge))
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: [Provider.Kind.glewlwyd, .nanoidp, .dot, .canaille, .lemonldap])
    func `says who is logged in`(kind: Provider.Kind) throws {
        let world = try ProviderWorld(try .shared(kind))
        try world.login()
        let who = try world.home.run(["whoami", "--json"])
        #expect(who.status == 0, "\(who.error)")
        #expect(who.output.contains("\"userinfo\""), "\(who.output)")
        #expect(try world.leaks() == [])
    }

    @Test(arguments: [Provider.Kind.dot, .canaille, .authgent])
    func `a person who refuses is believed, and nothing is stored`(kind: Provider.Kind) throws {
        let world = try ProviderWorld(try .shared(kind), lines: ["prompt: consent"])
        let login = try world.tryLogin(person: kind.person + " --deny")
        #expect(login.status == 4, "\(login.error)")
        #expect(login.error.contains("access_denied"))
        #expect(!Files.exists(world.home.loginFile()))
    }

    // MARK: Refreshes

    @Test(arguments: [
        (Provider.Kind.glewlwyd, Provider.Client.basic), (.nanoidp, .basic), (.dot, .basic),
        (.canaille, .basic), (.authgent, .publicly),
    ])
    func `a refresh brings new tokens, and the provider takes the old ones no more`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(try .shared(kind), client)
        try world.login()
        let first = try world.stored()
        try world.refresh()
        let second = try world.stored()
        #expect(second.access != first.access)
        #expect(second.refresh != first.refresh)
        let proxy = try world.home.serve()
        #expect(try world.sentToken(proxy) == second.access)
        #expect(try world.provider.statusOfRefresh(first.refresh, as: client) >= 400)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test func `a provider without rotation keeps its refresh token, and so do we`() throws {
        let world = try ProviderWorld(try .shared(.lemonldap), .basic)
        try world.login()
        let first = try world.stored()
        try world.refresh()
        let second = try world.stored()
        #expect(second.access != first.access)
        #expect(second.refresh == first.refresh)
        let proxy = try world.home.serve()
        #expect(try world.provider.isActive(world.sentToken(proxy), as: .basic))
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: [Provider.Kind.glewlwyd, .dot])
    func `expires, is refreshed ahead of requests, and rotates on disk`(
        kind: Provider.Kind
    ) throws {
        let world = try ProviderWorld(try Provider(kind, lifetimeSeconds: 2))
        try world.login()
        let first = try world.stored()
        let proxy = try world.home.serve()
        // Nobody asks for anything; the tokens are replaced all the same.
        let second = try world.stored(after: first)
        #expect(second.refresh != first.refresh)
        let third = try world.stored(after: second)
        #expect(third.refresh != second.refresh)
        // Longer than a token lives, with a request every so often.
        for _ in 0..<20 {
            #expect(try world.userinfo(proxy).status == 200)
            pause(.milliseconds(200))
        }
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    // MARK: Revocation by others

    /// The others end the whole grant with its access token.
    @Test(arguments: [(Provider.Kind.glewlwyd, Provider.Client.post), (.nanoidp, .basic)])
    func `replays a request whose token was revoked`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        let world = try ProviderWorld(try .shared(kind), client)
        try world.login()
        let proxy = try world.home.serve()
        #expect(try world.userinfo(proxy).status == 200)
        let before = try world.stored()
        try world.provider.revoke(before.access, as: client)
        let answer = try world.userinfo(proxy)
        #expect(answer.status == 200)
        let after = try world.stored()
        #expect(after.access != before.access)
        #expect(after.refresh != before.refresh)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test(arguments: revoking)
    func `says that a login is needed when the grant was revoked, and works after it`(
        kind: Provider.Kind, client: Provider.Client
    ) throws {
        // Glewlwyd does not say why it refuses, so the old token has to end before the proxy is sure.
        let provider =
            kind == .glewlwyd
            ? try Provider(kind, lifetimeSeconds: 2) : try Provider.shared(kind)
        let world = try ProviderWorld(provider, client)
        try world.login()
        let proxy = try world.home.serve()
        // Again for whatever a refresh has just brought.
        let refusal = try waited(for: "a login to be needed", within: .seconds(60)) {
            let tokens = try world.stored()
            try world.provider.revoke(tokens.refresh, as: client)
            try world.provider.revoke(tokens.access, as: client)
            let answer = try world.userinfo(proxy)
            pause(.milliseconds(100))
            return answer.body.text.contains("login_required") ? answer : nil
        }
        #expect(refusal.status == 503)
        #expect(refusal.value("Content-Type") == "application/problem+json")
        let status = try world.home.run(["status"])
        #expect(status.output.contains("run: proxy login"), "\(status.output)")
        try world.login()
        let answer = try waited(for: "the new login to be noticed", within: .seconds(5)) {
            let answer = try world.userinfo(proxy)
            return answer.status == 200 ? answer : nil
        }
        #expect(answer.body.text.contains("\"sub\""))
        try proxy.stop()
        #expect(try world.leaks() == [])
    }
}
