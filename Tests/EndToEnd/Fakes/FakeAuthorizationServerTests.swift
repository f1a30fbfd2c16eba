// The fake authorization server has to be right before it may judge.

import Crypto
import Support
import Testing

@Suite(.ownThread) struct `Fake authorization server` {
    private let server: FakeAuthorizationServer

    init() throws { server = try FakeAuthorizationServer() }

    private func post(_ pairs: (name: String, value: String)...) throws -> HTTPMessage {
        let form = FormText(pairs + [("client_id", server.policy.clientID)]).encoded
        return try RawClient(to: server.port).exchange("POST", "/token", body: Octets(form))
    }

    private func refresh(_ token: String) throws -> HTTPMessage {
        try post(("grant_type", "refresh_token"), ("refresh_token", token))
    }

    private func member(_ name: String, of response: HTTPMessage) -> String? {
        let parts = response.body.text.components(separatedBy: "\"\(name)\":\"")
        return parts.count > 1 ? parts[1].components(separatedBy: "\"")[0] : nil
    }

    @Test func `hands out a code and takes it once, with its verifier`() throws {
        let verifier = String(repeating: "v", count: 43)
        let challenge = Base64.encode(Digest.sha256(Array(verifier.utf8)), .url)
        let query = FormText([
            ("response_type", "code"), ("client_id", server.policy.clientID), ("state", "s t"),
            ("redirect_uri", "http://127.0.0.1:1/callback"), ("code_challenge", challenge),
            ("code_challenge_method", "S256"), ("scope", "api"),
        ])
        let redirect = try RawClient(to: server.port).exchange(
            "GET", "/authorize?" + query.encoded)
        let answer = FormText(
            reading: redirect.value("Location")?.components(separatedBy: "?").last ?? "")
        #expect(redirect.status == 302)
        #expect(answer["state"] == "s t")
        let code = try #require(answer["code"])

        let exchange = { (verifier: String) in
            try post(
                ("grant_type", "authorization_code"), ("code", code), ("code_verifier", verifier),
                ("redirect_uri", "http://127.0.0.1:1/callback"))
        }
        let answered = try exchange(verifier)
        #expect(answered.status == 200)
        let access = try #require(member("access_token", of: answered))
        #expect(server.accepts(accessToken: access))
        #expect(server.secrets.isSuperset(of: [access, code, verifier, "s t"]))
        #expect(try exchange(verifier).status == 400)
        #expect(server.codeReuses == 1)
    }

    @Test func `revokes the family when a spent refresh token comes again`() throws {
        let login = server.makeLogin()
        let first = try #require(login.refresh)
        let second = try #require(member("refresh_token", of: refresh(first)))
        #expect(server.accepts(accessToken: login.access))
        #expect(try refresh(first).status == 400)
        #expect(server.reuses == 1)
        #expect(!server.accepts(accessToken: login.access))
        #expect(try refresh(second).body.contains("invalid_grant"))
        #expect(server.reuses == 1)
    }

    @Test func `fails as often as told and then works`() throws {
        let token = try #require(server.makeLogin().refresh)
        server.failNext(.reset, .tooManyRequests(retryAfter: 7), .lostAnswer)
        #expect(throws: Failure.reset) { try refresh(token) }
        #expect(try refresh(token).value("Retry-After") == "7")
        #expect(throws: Failure.reset) { try refresh(token) }
        // The last one was granted before the answer was lost.
        #expect(try refresh(token).status == 400)
        #expect(server.reuses == 1)
        #expect(server.refreshRequests.count == 4)
    }

    @Test func `comes back on its port after an outage`() throws {
        let token = try #require(server.makeLogin().refresh)
        server.goDown()
        #expect(throws: Failure.self) { try refresh(token) }
        try server.comeUp()
        #expect(try refresh(token).status == 200)
    }

    @Test func `says what an answer of its own may look like`() throws {
        server.set { $0.rotates = false }
        let token = try #require(server.makeLogin().refresh)
        server.failNext(.formEncoded, .member("expires_in", "\"3599\""))
        let form = FormText(reading: try refresh(token).body.text)
        #expect(form["access_token"].map(server.accepts(accessToken:)) == true)
        #expect(try refresh(token).body.contains("\"expires_in\":\"3599\""))
    }
}
