// Bluesky as atproto.com/specs/oauth describes it: pushed requests only, DPoP with nonces everywhere,
// and an account whose own records name the server that may speak for it.

import Support
import Synchronization
import Testing

@Suite(.ownThread) struct `Preset: Bluesky` {
    private static let account = "did:plc:ewvi7nxzyoun6zhxrhs64oiz"

    /// One Internet: the server that logs people in, the directory of accounts, the account's own
    /// server.
    private final class Atmosphere: Sendable {
        let login = ProofCheck("login", nonceUses: 2)
        let data = ProofCheck("data", nonceUses: 2)
        /// Who the account's server says may speak for it.
        let trusted = Mutex("https://bsky.social")
        let scope = Mutex<String?>(nil)
        let thumbprints = Mutex<Set<String>>([])
    }

    private static let host = "example.us-east.host.bsky.network"

    private static func provider(_ world: Atmosphere) -> ScriptedProvider {
        var manner = ScriptedProvider.Manner()
        manner.authorizationPath = "/oauth/authorize"
        manner.tokenPath = "/oauth/token"
        manner.documents = [
            "/.well-known/oauth-authorization-server": """
            {"issuer":"https://bsky.social",
            "authorization_endpoint":"https://bsky.social/oauth/authorize",
            "token_endpoint":"https://bsky.social/oauth/token",
            "pushed_authorization_request_endpoint":"https://bsky.social/oauth/par",
            "revocation_endpoint":"https://bsky.social/oauth/revoke",
            "jwks_uri":"https://bsky.social/oauth/jwks",
            "require_pushed_authorization_requests":true,
            "client_id_metadata_document_supported":true,
            "authorization_response_iss_parameter_supported":true,
            "scopes_supported":["atproto","transition:generic"],
            "response_types_supported":["code"],
            "code_challenge_methods_supported":["S256"],
            "dpop_signing_alg_values_supported":["ES256"],
            "token_endpoint_auth_methods_supported":["none","private_key_jwt"]}
            """
        ]
        manner.callbackParameters = [("iss", "https://bsky.social")]
        manner.wantedParameters = ["scope": "atproto transition:generic"]
        manner.other = { request, provider in
            guard request.method == "POST" else { return nil }
            let isPush = request.path == "/oauth/par"
            guard isPush || request.path == "/oauth/token" else { return nil }
            do throws(ProofCheck.Refusal) {
                let proof = try world.login.check(
                    request, url: "https://bsky.social" + request.path)
                world.thumbprints.withLock { _ = $0.insert(proof.thumbprint) }
            } catch {
                if case .proof = error { provider.noteFault("\(error)") }
                var answer = FakeResponse.json("{\"error\":\"\(error.code)\"}", status: 400)
                answer.fields += world.login.fields
                return answer
            }
            guard isPush else { return nil }
            let name = provider.push(FormText(reading: request.body.text))
            var answer = FakeResponse.json(
                "{\"request_uri\":\(jsonText(name)),\"expires_in\":299}", status: 201)
            answer.fields += world.login.fields
            return answer
        }
        manner.answer = { granted in
            let scope = world.scope.withLock { $0 } ?? granted.scope
            var answer = FakeResponse.json(
                granted.document(
                    [
                        ("expires_in", "3600"), ("scope", jsonText(scope)),
                        ("sub", jsonText(account)),
                    ], type: "DPoP"))
            answer.fields += world.login.fields
            return answer
        }
        return ScriptedProvider(manner)
    }

    private static func world(
        _ provider: ScriptedProvider, _ atmosphere: Atmosphere
    ) throws -> PresetWorld {
        try PresetWorld(
            "bluesky",
            [
                "bsky.social": { try provider.answer($0) },
                "plc.directory": { request in
                    guard request.path == "/" + account else { return FakeResponse(404) }
                    return .json(
                        """
                        {"id":"\(account)","alsoKnownAs":["at://ada.bsky.social"],"service":[
                        {"id":"#atproto_pds","type":"AtprotoPersonalDataServer",
                        "serviceEndpoint":"https://\(host)"}]}
                        """)
                },
                host: { request in
                    if request.path == "/.well-known/oauth-protected-resource" {
                        return .json(
                            """
                            {"resource":"https://\(host)",
                            "authorization_servers":["\(atmosphere.trusted.withLock { $0 })"]}
                            """)
                    }
                    return resource(request, provider, atmosphere)
                },
            ])
    }

    private static func resource(
        _ request: HTTPMessage, _ provider: ScriptedProvider, _ atmosphere: Atmosphere
    ) -> FakeResponse {
        let words = (request.value("Authorization") ?? "").components(separatedBy: " ")
        var answer: FakeResponse
        if words.count == 2, words[0] == "DPoP", provider.accepts(words[1]) {
            do throws(ProofCheck.Refusal) {
                try atmosphere.data.check(
                    request, url: "https://\(host)\(request.path)", accessToken: words[1])
                answer = .json("{\"handle\":\"ada.bsky.social\"}")
            } catch {
                answer = FakeResponse(
                    401, fields: [("WWW-Authenticate", "DPoP error=\"\(error.code)\"")])
            }
        } else {
            answer = FakeResponse(
                401, fields: [("WWW-Authenticate", "DPoP error=\"invalid_token\"")])
        }
        answer.fields += atmosphere.data.fields
        return answer
    }

    private static let path = "/xrpc/app.bsky.actor.getProfile?actor=ada.bsky.social"

    @Test func `pushes, proves, logs in, calls and refreshes with one key`() throws {
        let atmosphere = Atmosphere()
        let provider = Self.provider(atmosphere)
        let world = try Self.world(provider, atmosphere)
        try world.logIn()
        let proxy = try world.home.serve()
        for _ in 0..<5 { #expect(try proxy.exchange("GET", Self.path).status == 200) }
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", Self.path).status == 200)
        #expect(provider.tokenRequests.last?.form["grant_type"] == "refresh_token")
        #expect(atmosphere.thumbprints.withLock { $0.count } == 1)
        #expect(provider.faults == [])
        let seen = try provider.authorizations.item(0)
        #expect(seen["redirect_uri"]?.hasPrefix("http://127.0.0.1:") == true)
    }

    @Test func `refuses an account that trusts another server, at login`() throws {
        let atmosphere = Atmosphere()
        atmosphere.trusted.withLock { $0 = "https://evil.example" }
        let world = try Self.world(Self.provider(atmosphere), atmosphere)
        let result = try world.home.run(["login", "--browser", world.browser()])
        #expect(result.status == 1)
        #expect(result.error.contains("https://evil.example"), "\(result.error)")
        #expect(try Files.read(world.home.loginFile()) == nil)
    }

    @Test func `and at a refresh`() throws {
        let atmosphere = Atmosphere()
        let provider = Self.provider(atmosphere)
        let world = try Self.world(provider, atmosphere)
        try world.logIn()
        let proxy = try world.home.serve()
        #expect(try proxy.exchange("GET", Self.path).status == 200)
        atmosphere.trusted.withLock { $0 = "https://evil.example" }
        provider.endAccessTokens()
        #expect(try proxy.exchange("GET", Self.path).isOurs(503, "login_required"))
    }

    @Test func `refuses a session without the protocol's scope`() throws {
        let atmosphere = Atmosphere()
        atmosphere.scope.withLock { $0 = "transition:generic" }
        let world = try Self.world(Self.provider(atmosphere), atmosphere)
        let result = try world.home.run(["login", "--browser", world.browser()])
        #expect(result.status == 1)
        #expect(result.error.contains("atproto"), "\(result.error)")
    }
}
