// Pushed authorization requests (RFC 9126) and tokens that are bound to a key (RFC 9449) at real
// providers, and all of it at once.

import Support
import Testing
import Vocabulary

extension `Real provider` {
    /// Glewlwyd's other issuers, behind the same clients.
    private func glewlwyd(
        _ issuer: String, _ client: Provider.Client, lifetimeSeconds: Int? = nil, _ lines: [String]
    ) throws -> ProviderWorld {
        let provider =
            if let lifetimeSeconds {
                try Provider(.glewlwyd, lifetimeSeconds: lifetimeSeconds)
            } else {
                try Provider.shared(.glewlwyd)
            }
        return try ProviderWorld(
            provider, client, issuer: "http://127.0.0.1:\(provider.port)/api/\(issuer)",
            lines: lines)
    }

    // MARK: Pushed

    @Test(arguments: [Provider.Client.publicly, .basic])
    func `pushes its request where the provider takes no other`(client: Provider.Client) throws {
        let world = try glewlwyd("pushed", client, [])
        try world.login()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", "/provider/api/pushed/userinfo").status == 200)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    @Test func `pushes its request where the configuration says so`() throws {
        let world = try ProviderWorld(try .shared(.glewlwyd), .basic, lines: ["par: true"])
        let login = try world.home.start(
            ["login", "--print-url", "--config", world.home.configurationFile])
        let url = try waited(for: "the address") {
            let lines = login.printed(.output).text.components(separatedBy: "\n")
            return lines.count > 1 ? lines[0] : nil
        }
        // The browser learns a name and nothing else.
        let query = FormText(reading: url.components(separatedBy: "?")[1])
        #expect(Set(query.pairs.map(\.name)) == ["client_id", "request_uri"])
        #expect(query["request_uri"]?.hasPrefix("urn:ietf:params:oauth:request_uri:") == true)
        try world.person([], at: url)
        let result = try CommandResult(of: login)
        #expect(result.status == 0, "\(result.error)")
        let proxy = try world.home.serve()
        #expect(try world.provider.isActive(world.sentToken(proxy), as: .basic))
        try proxy.stop()
    }

    // MARK: Bound

    @Test(arguments: ["oidc", "bound"])
    func `a bound token works with our key alone`(issuer: String) throws {
        let world = try glewlwyd(issuer, .basic, ["dpop: true"])
        try world.login()
        let proxy = try world.home.serve()
        let userinfo = "/api/\(issuer)/userinfo"
        // The provider checks each proof: its key, method, address, time and token.
        for _ in 0..<3 {
            #expect(try proxy.exchange("GET", "/provider" + userinfo).status == 200)
        }
        let token = try world.sentToken(proxy, scheme: "DPoP")
        #expect(world.api.requests.last?.has("DPoP") == true)
        let facts = try world.provider.introspect(token, as: .basic, issuer: issuer)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        let bound = facts["cnf"]?.asObject?["jkt"]?.asString
        #expect(bound?.utf8.count == 43, "\(facts)")
        // A control: whoever steals it has nothing.
        let thief = try RawClient(to: world.provider.port).exchange(
            "GET", userinfo, fields: [("Authorization", "Bearer \(token)")])
        #expect(thief.status == 401)
        try proxy.stop()

        // The key outlives the process, and a refresh.
        try world.refresh()
        let again = try world.home.serve()
        #expect(try again.exchange("GET", "/provider" + userinfo).status == 200)
        let next = try world.sentToken(again, scheme: "DPoP")
        #expect(next != token)
        let later = try world.provider.introspect(next, as: .basic, issuer: issuer)
        #expect(later["cnf"]?.asObject?["jkt"]?.asString == bound)
        try again.stop()
        #expect(try world.leaks() == [])
    }

    @Test func `bound tokens are renewed ahead of requests, nonces and all`() throws {
        // Glewlwyd cuts fractions of seconds off, so a tenth of a lifetime has to be more than one.
        let world = try glewlwyd("bound", .publicly, lifetimeSeconds: 12, ["dpop: true"])
        try world.login()
        let proxy = try world.home.serve()
        let first = try world.stored()
        _ = try world.stored(after: first)
        for _ in 0..<20 {
            #expect(try proxy.exchange("GET", "/provider/api/bound/userinfo").status == 200)
            pause(.milliseconds(200))
        }
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    /// Glewlwyd gives no nonces where requests are pushed, and takes only that place's address for the
    /// audience there.
    @Test(arguments: ["oidc", "pushed"])
    func `a key for the client, a key for the token, and a pushed request`(
        issuer: String
    ) throws {
        let world = try glewlwyd(
            issuer, .key,
            [
                "dpop: true", "par: true", "private_key: { file: client.pem }",
                "key_id: client-ec", "assertion_audience: endpoint",
            ])
        try world.write(world.provider.file("client-ec.pem").text, to: "client.pem")
        try world.login()
        let proxy = try world.home.serve()
        let userinfo = "/provider/api/\(issuer)/userinfo"
        #expect(try proxy.exchange("GET", userinfo).status == 200)
        try world.refresh()
        #expect(try proxy.exchange("GET", userinfo).status == 200)
        try proxy.stop()
        #expect(try world.leaks() == [])
    }

    /// Apache and mod_oauth2 know nothing of the issuer but its keys, and look at every proof.
    @Test func `a resource server takes each of our proofs, and no thief's`() throws {
        let provider = try Provider.shared(.glewlwyd)
        let server = try ServerScript("apache", ["\(provider.issuer)/jwks"])
        let world = try ProviderWorld(
            provider, upstream: "http://127.0.0.1:\(server.port)", lines: ["dpop: true"])
        try world.login()
        let proxy = try world.home.serve()
        for number in 0..<20 {
            let answer = try proxy.exchange("GET", "/upstream/api/thing?number=\(number)")
            #expect(answer.status == 200, "\(answer)")
        }
        // Controls: what our own API was sent is bound to its address; a token alone is nothing.
        let token = try world.sentToken(proxy, scheme: "DPoP")
        let proof = world.api.requests.last?.value("DPoP") ?? ""
        for fields in [
            [("Authorization", "DPoP \(token)"), ("DPoP", proof)],
            [("Authorization", "DPoP \(token)")], [("Authorization", "Bearer \(token)")],
        ] {
            let stolen = try RawClient(to: server.port).exchange(
                "GET", "/api/thing", fields: fields)
            #expect(stolen.status == 401)
        }
        try proxy.stop()
    }

    @Test func `a second implementation binds its tokens to our key`() throws {
        let world = try ProviderWorld(try .shared(.authgent), lines: ["dpop: true"])
        try world.login()
        let proxy = try world.home.serve()
        let token = try world.sentToken(proxy, scheme: "DPoP")
        let facts = try world.provider.introspect(token, as: .service)
        #expect(facts["active"]?.asBool == true, "\(facts)")
        #expect(facts["token_type"]?.asString == "DPoP")
        try proxy.stop()
    }
}
