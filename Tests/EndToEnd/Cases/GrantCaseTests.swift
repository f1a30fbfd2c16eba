// Grants by the real binary: the client's own account, signed proofs, codes for devices (F34, F63, F64;
// cases C079, C093).

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Cases: grants` {
    private func policy(
        _ change: (inout FakeAuthorizationServer.Policy) -> Void = { _ in }
    ) -> FakeAuthorizationServer.Policy {
        var policy = FakeAuthorizationServer.Policy()
        change(&policy)
        return policy
    }

    // MARK: The client's own account

    @Test func `client credentials need nobody, from the first request on`() throws {
        let setup = try LoginSetup(
            policy { $0.clientSecret = "canary-a+b:c/d=" },
            credential: ["grant: client_credentials", "client_secret: { file: secret }"])
        try setup.home.directory.write("canary-a+b:c/d=", to: "settings/secret")
        let proxy = try setup.home.serve()
        for _ in 0..<3 { #expect(try proxy.exchange().status == 200) }
        #expect(setup.server.tokenRequests.map(\.grantType) == ["client_credentials"])
        #expect(setup.server.authorizations.isEmpty)
        // The next process uses what this one got.
        let token = try setup.home.run(["token"])
        #expect(token.status == 0, "\(token)")
        #expect(setup.server.tokenRequests.count == 1)
        let status = try setup.home.run(["status"])
        #expect(status.status == 0, "\(status)")
        let login = try setup.home.run(["login"])
        #expect(login.status != 0, "\(login)")
        // A 401 of the API's is one more request for a token.
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange().status == 200)
        #expect(setup.server.tokenRequests.count == 2)
    }

    @Test func `a key signs for the client, differently each time`() throws {
        let key = TestKey()
        let setup = try LoginSetup(
            policy {
                $0.machines.clientKey = key.publicKey
                $0.authenticationMethods = ["private_key_jwt"]
            },
            credential: ["grant: client_credentials", "private_key: { file: client.pem }"])
        try setup.home.directory.write(Octets(key.pem.utf8), to: "settings/client.pem")
        let check = try setup.home.run(["check"])
        #expect(check.status == 0, "\(check)")
        let proxy = try setup.home.serve()
        #expect(try proxy.exchange().status == 200)
        setup.server.revokeAccessTokens()
        #expect(try proxy.exchange().status == 200)
        #expect(setup.server.tokenRequests.count == 2)
        let printed = setup.home.printed()
        for request in setup.server.tokenRequests {
            let assertion = try #require(request.form["client_assertion"])
            #expect(printed.allSatisfy { !$0.contains(Octets(assertion.utf8)) })
        }
    }

    @Test func `the server's "no" to a client is the configuration's matter`() throws {
        let setup = try LoginSetup(
            policy { $0.clientSecret = "right" },
            credential: ["grant: client_credentials", "client_secret: { env: WRONG }"])
        let proxy = try setup.home.serve(environment: ["WRONG": "canary-wrong-secret"])
        let answer = try proxy.exchange()
        #expect(answer.isOurs(503, "credential_misconfigured"))
        #expect((1...5).contains(Int(answer.value("Retry-After") ?? "") ?? 0), "\(answer)")
        #expect(try proxy.exchange().isOurs(503, "credential_misconfigured"))
        #expect(setup.server.tokenRequests.count == 1)
    }

    @Test func `a token made from another credential's is renewed by command`() throws {
        let server = try FakeAuthorizationServer(policy { $0.clientSecret = "canary-exchange" })
        let client = [
            "issuer: \(server.issuer)", "client_id: \(server.policy.clientID)",
            "client_secret: { file: secret }", "scopes: [api]",
        ].joined(separator: ", ")
        let home = try ProxyHome(
            configuration: """
                routes: [{ upstream: "http://127.0.0.1:1", credential: narrow }]
                credentials:
                  wide: { grant: client_credentials, \(client) }
                  narrow: { grant: token_exchange, exchange: { subject: { credential: wide } }, \(client) }
                """)
        try home.directory.write("canary-exchange", to: "settings/secret")
        for flags in [[], ["--force"]] {
            let result = try home.run(["refresh", "narrow"] + flags)
            #expect(result.status == 0, "\(result)")
        }
        let exchanges = server.tokenRequests.filter {
            $0.grantType == "urn:ietf:params:oauth:grant-type:token-exchange"
        }
        #expect(exchanges.count == 2)
        #expect(server.tokenRequests.contains { $0.grantType == "client_credentials" })
    }

    // MARK: Devices

    private func device(
        _ change: (inout FakeAuthorizationServer.MachinePolicy) -> Void = { _ in },
        credential: [String] = []
    ) throws -> LoginSetup {
        try LoginSetup(policy { change(&$0.machines) }, credential: credential)
    }

    @Test func `a login on another device shows address and code, and works`() throws {
        let setup = try device()
        let result = try setup.home.run(["login", "--device"])
        #expect(result.status == 0, "\(result)")
        #expect(result.output == "\(setup.server.origin)/activate\n")
        #expect(result.error.contains("WDJB-MJHT"))
        #expect(result.error.contains("\(setup.server.origin)/activate?user_code=WDJB-MJHT"))
        #expect(try setup.home.serve().exchange().status == 200)
        #expect(setup.server.authorizations.isEmpty)
        #expect(setup.server.deviceRequests.map { $0["scope"] } == ["api"])
        let found = SecretSearch(setup.server.secrets)
        for text in setup.home.printed() { #expect(found.found(in: text).isEmpty) }
    }

    @Test func `a login on another device ends with its own code where nobody comes`() throws {
        let setup = try device { policy in
            policy.polls = Array(repeating: "authorization_pending", count: 100)
            policy.deviceSeconds = 2
        }
        let expired = try setup.home.run(["login", "--device"])
        #expect(expired.status == 5, "\(expired)")
        setup.server.set { $0.machines.polls = ["access_denied"] }
        let denied = try setup.home.run(["login", "--device"])
        #expect(denied.status == 4, "\(denied)")
        #expect(!Files.exists(setup.home.loginFile()))
    }

    @Test func `nobody is sent to an address without TLS`() throws {
        let setup = try device { $0.verificationURI = "http://evil.example/activate" }
        let result = try setup.home.run(["login", "--device"])
        #expect(result.status == 1, "\(result)")
        #expect(result.output.isEmpty)
    }

    @Test func `a code cannot steer a terminal`() throws {
        let setup = try device { $0.userCode = "AB\u{1b}[31m\u{7}CD" }
        let result = try setup.home.run(["login", "--device"])
        #expect(result.status == 0, "\(result)")
        #expect(!result.error.contains("\u{1b}[31m"))
        #expect(result.error.contains("AB[31mCD"))
    }

    @Test func `a request without a login gets the code in its answer (C079)`() throws {
        let setup = try device(
            { $0.polls = Array(repeating: "authorization_pending", count: 2) },
            credential: ["grant: device_code"])
        let proxy = try setup.home.serve()
        let refused = try proxy.exchange()
        #expect(refused.isOurs(503, "login_required"), "\(refused)")
        #expect(refused.member("user_code") == "WDJB-MJHT")
        #expect(
            refused.member("login_url") == "\(setup.server.origin)/activate?user_code=WDJB-MJHT")
        try proxy.waitForLog("WDJB-MJHT")
        try waited(for: "the device's login", within: .seconds(20)) {
            try proxy.exchange().status == 200 ? () : nil
        }
        #expect(setup.server.deviceRequests.count == 1)
    }
}
