import Bytes
import LoopbackServer
import OAuth
import Support
import Testing
import Vocabulary

@testable import Demo

private let redirect = "http://127.0.0.1:49152/callback"

func text(_ secret: SecretBytes) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

func bytes(_ text: String) -> SecretBytes { SecretBytes(text) }

extension ServerResponse {
    func field(_ name: String) -> String? { fields.first { $0.name == name }?.value }

    var object: JSONObject {
        (try? JSONReader.read(SecretBytes(body)))?.asObject ?? JSONObject()
    }
}

/// A client that does what the OAuth room says, and what a test changes.
struct DeskClient {
    let desk: AuthorizationDesk
    let time: StoppedTime
    let request: AuthorizationRequest

    init(_ decision: AuthorizationDesk.Decision = .automatic, scopes: [String] = ["notes.read"])
        throws
    {
        time = StoppedTime()
        desk = AuthorizationDesk(
            issuer: "http://127.0.0.1:1", decision: decision, accessTokenLifetimeSeconds: 5,
            time: time)
        request = try AuthorizationRequest.fresh(
            .init(
                endpoint: "http://127.0.0.1:1/authorize", clientID: "demo-cli",
                redirectURI: redirect, scopes: scopes, issuer: "http://127.0.0.1:1",
                issuerIsPromised: true))
    }

    var query: String { String(request.url.drop { $0 != "?" }.dropFirst()) }

    func get(_ path: String, _ query: String = "") -> ServerResponse {
        desk.reply(
            to: ServerRequest(
                method: "GET", target: "\(path)?\(query)", path: path, query: query))
    }

    func post(_ path: String, _ parameters: [String: String]) -> ServerResponse {
        let form = FormEncoding.encode(parameters.map { FormParameter($0.key, $0.value) })
        return desk.reply(
            to: ServerRequest(
                method: "POST", target: path, path: path, body: form.withBytes { Array($0) }))
    }

    func code(from reply: ServerResponse) throws -> String {
        let location = try #require(reply.field("Location"))
        return text(try AuthorizationResponse.read(pasted: location, for: request).code)
    }

    func exchange(_ code: String, changing changes: [(name: String, value: String?)] = [])
        -> ServerResponse
    {
        var parameters = [
            "grant_type": "authorization_code", "client_id": "demo-cli", "code": code,
            "redirect_uri": redirect, "code_verifier": text(request.pkce.verifier),
        ]
        for (name, value) in changes { parameters[name] = value }
        return post("/token", parameters)
    }

    func login() throws -> (access: String, refresh: String) {
        try tokens(exchange(try code(from: get("/authorize", query))))
    }

    func refresh(_ token: String, scope: String? = nil) -> ServerResponse {
        var parameters = [
            "grant_type": "refresh_token", "client_id": "demo-cli", "refresh_token": token,
        ]
        parameters["scope"] = scope
        return post("/token", parameters)
    }

    func tokens(_ reply: ServerResponse) throws -> (access: String, refresh: String) {
        try #require(reply.status == 200, "\(reply.object)")
        let access = try #require(reply.object["access_token"]?.asRevealedString)
        let refresh = try #require(reply.object["refresh_token"]?.asRevealedString)
        return (access, refresh)
    }

    func standing(_ token: String) -> TokenStanding { desk.standing(of: bytes(token)) }

    func error(_ reply: ServerResponse) -> String? { reply.object["error"]?.asRevealedString }
}

@Suite struct `Demo authorization server` {
    @Test func `describes itself as our own client wants it`() throws {
        let client = try DeskClient()
        let reply = client.get("/.well-known/oauth-authorization-server")
        let metadata = try ServerMetadata.read(
            InboundResponse(status: reply.status, body: SecretBytes(reply.body)),
            issuer: "http://127.0.0.1:1")
        #expect(try metadata.url(of: .token) == "http://127.0.0.1:1/token")
        #expect(metadata.promisesIssuer)
        #expect(metadata.codeChallengeMethods == ["S256"])
        #expect(client.get("/.well-known/openid-configuration").status == 404)
    }

    @Test func `logs in, rotates and expires`() throws {
        let client = try DeskClient()
        let first = try client.login()
        #expect(client.standing(first.access) == .good(scopes: ["notes.read"], secondsLeft: 5))
        client.time.advance(milliseconds: 4999)
        #expect(client.standing(first.access) == .good(scopes: ["notes.read"], secondsLeft: 1))
        client.time.advance(milliseconds: 1)
        #expect(client.standing(first.access) == .expired)
        let second = try client.tokens(client.refresh(first.refresh))
        #expect(second.access != first.access)
        #expect(second.refresh != first.refresh)
        #expect(client.standing(second.access) == .good(scopes: ["notes.read"], secondsLeft: 5))
        #expect(client.standing("something") == .unknown)
        let counts = client.desk.counts
        #expect(counts.tokenRequests == ["authorization_code": 1, "refresh_token": 1])
        #expect(counts.reuses == 0)
        #expect(counts.logins == 1)
    }

    @Test func `ends the family when a refresh token comes twice`() throws {
        let client = try DeskClient()
        let first = try client.login()
        let second = try client.tokens(client.refresh(first.refresh))
        let reply = client.refresh(first.refresh)
        #expect(reply.status == 400)
        #expect(client.error(reply) == "invalid_grant")
        #expect(client.desk.counts.reuses == 1)
        #expect(client.standing(second.access) == .revoked)
        #expect(client.error(client.refresh(second.refresh)) == "invalid_grant")
        #expect(client.desk.counts.reuses == 1)
    }

    @Test func `takes back what it is told to and nothing else`() throws {
        let client = try DeskClient()
        let first = try client.login()
        client.desk.revokeAccessTokens()
        #expect(client.standing(first.access) == .revoked)
        let second = try client.tokens(client.refresh(first.refresh))
        client.desk.killRefreshTokens()
        #expect(client.standing(second.access) == .good(scopes: ["notes.read"], secondsLeft: 5))
        #expect(client.error(client.refresh(second.refresh)) == "invalid_grant")
        #expect(client.desk.counts.reuses == 0)
    }

    @Test func `revokes by RFC 7009`() throws {
        let client = try DeskClient()
        func revoke(_ token: String, client id: String = "demo-cli") -> Int {
            client.post("/revoke", ["token": token, "client_id": id]).status
        }
        let first = try client.login()
        #expect(revoke("unknown") == 200)
        #expect(revoke(first.access, client: "other") == 401)
        #expect(revoke(first.access) == 200)
        #expect(client.standing(first.access) == .revoked)
        let second = try client.tokens(client.refresh(first.refresh))
        #expect(revoke(second.refresh) == 200)
        #expect(client.standing(second.access) == .revoked)
        #expect(client.error(client.refresh(second.refresh)) == "invalid_grant")
    }

    @Test(
        arguments: [
            ("code", "x", "invalid_grant"), ("redirect_uri", redirect + "/", "invalid_grant"),
            ("code_verifier", "x", "invalid_grant"), ("code_verifier", nil, "invalid_request"),
            ("client_id", "other", "invalid_client"), ("client_id", nil, "invalid_client"),
            ("grant_type", "password", "unsupported_grant_type"),
            ("grant_type", nil, "invalid_request"),
        ] as [(String, String?, String)])
    func `exchanges no code with one thing wrong`(
        name: String, value: String?, error: String
    ) throws {
        let client = try DeskClient()
        let code = try client.code(from: client.get("/authorize", client.query))
        let reply = client.exchange(code, changing: [(name, value)])
        #expect(client.error(reply) == error)
        #expect(reply.object["access_token"] == nil)
        #expect(client.exchange(code).status == 200)
    }

    @Test func `exchanges a code once, in time, and regrets a second time`() throws {
        let client = try DeskClient()
        let late = try client.code(from: client.get("/authorize", client.query))
        client.time.advance(milliseconds: 60_000)
        #expect(client.error(client.exchange(late)) == "invalid_grant")
        let code = try client.code(from: client.get("/authorize", client.query))
        let tokens = try client.tokens(client.exchange(code))
        #expect(client.error(client.exchange(code)) == "invalid_grant")
        #expect(client.standing(tokens.access) == .revoked)
    }

    @Test func `gives no more scopes than were allowed`() throws {
        let client = try DeskClient(scopes: ["notes.read", "notes.write"])
        let first = try client.login()
        let second = try client.tokens(client.refresh(first.refresh, scope: "notes.read"))
        #expect(client.standing(second.access) == .good(scopes: ["notes.read"], secondsLeft: 5))
        let third = client.refresh(second.refresh, scope: "notes.read admin")
        #expect(client.error(third) == "invalid_scope")
        #expect(client.refresh(second.refresh).status == 200)
    }

    @Test(arguments: [
        ("response_type=code", "response_type=token", "unsupported_response_type"),
        ("code_challenge_method=S256", "code_challenge_method=plain", "invalid_request"),
        ("code_challenge=", "x=", "invalid_request"),
        ("scope=notes.read", "scope=admin", "invalid_scope"),
    ])
    func `refuses by redirect what the client did wrong`(
        original: String, change: String, error: String
    ) throws {
        let client = try DeskClient()
        let reply = client.get("/authorize", client.query.replacing(original, with: change))
        #expect(reply.status == 302)
        let location = try #require(reply.field("Location"))
        let refusal = #expect(throws: CallbackError.self) {
            try AuthorizationResponse.read(pasted: location, for: client.request)
        }
        guard case .refused(error, _) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
    }

    @Test(arguments: [
        ("client_id=demo-cli", "client_id=x"),
        ("client_id=demo-cli", "client_id=demo-cli&client_id=x"),
        ("127.0.0.1", "evil.example"),
        ("http%3A%2F%2F127.0.0.1%3A49152%2Fcallback", "javascript%3Aalert(1)"),
        ("http%3A%2F%2F127.0.0.1", "https%3A%2F%2F127.0.0.1"), ("%2Fcallback", "%2Fcallback%23x"),
        ("redirect_uri=", "x="), ("state=", "state=%&"),
    ])
    func `never redirects to an address that it does not trust`(
        original: String, change: String
    ) throws {
        let client = try DeskClient()
        let reply = client.get("/authorize", client.query.replacing(original, with: change))
        #expect(reply.status == 400)
        #expect(reply.field("Location") == nil)
    }

    @Test func `answers other methods and paths`() throws {
        let client = try DeskClient()
        #expect(client.get("/token").status == 405)
        #expect(client.get("/revoke").field("Allow") == "POST")
        #expect(client.post("/", [:]).status == 404)
        #expect(client.error(client.post("/token", [:])) == "invalid_request")
    }
}

@Suite struct `Demo consent page` {
    private func ticket(in reply: ServerResponse) throws -> String {
        let html = String(decoding: reply.body, as: UTF8.self)
        let mark = "name=\"ticket\" value=\""
        let start = try #require(html.firstRange(of: mark)).upperBound
        return String(html[start...].prefix { $0 != "\"" })
    }

    @Test func `allows once`() throws {
        let client = try DeskClient(.page)
        let page = client.get("/authorize", client.query)
        #expect(page.status == 200)
        let ticket = try ticket(in: page)
        let reply = client.post("/authorize", ["ticket": ticket, "decision": "allow"])
        #expect(reply.status == 303)
        _ = try client.tokens(client.exchange(try client.code(from: reply)))
        #expect(client.post("/authorize", ["ticket": ticket, "decision": "allow"]).status == 400)
    }

    @Test(arguments: ["deny", "", "Allow"])
    func `denies everything but allow`(decision: String) throws {
        let client = try DeskClient(.page)
        let ticket = try ticket(in: client.get("/authorize", client.query))
        let reply = client.post("/authorize", ["ticket": ticket, "decision": decision])
        let location = try #require(reply.field("Location"))
        #expect(throws: CallbackError.refused(code: "access_denied", description: nil)) {
            try AuthorizationResponse.read(pasted: location, for: client.request)
        }
        #expect(client.desk.counts.logins == 0)
    }

    @Test func `obeys no form without its ticket`() throws {
        let client = try DeskClient(.page)
        _ = client.get("/authorize", client.query)
        for parameters in [["decision": "allow"], ["decision": "allow", "ticket": "x"]] {
            #expect(client.post("/authorize", parameters).status == 400)
        }
    }

    @Test func `is whole in itself and escapes what it is given`() {
        let reply = ConsentPage.reply(
            client: "<script>alert(1)</script>", person: "A & 'B'", scopes: ["\"><img src=x>"],
            ticket: "\"'>", returnOrigin: "http://127.0.0.1:9")
        // The one address is a picture's name for its own language.
        let html = String(decoding: reply.body, as: UTF8.self)
            .components(separatedBy: "xmlns='http://www.w3.org/2000/svg'").joined()
        for forbidden in ["<script", "<img", "http:", "https:", "url(", "A & 'B'"] {
            #expect(!html.contains(forbidden), "\(forbidden)")
        }
        let policy = reply.field("Content-Security-Policy") ?? ""
        #expect(policy.hasPrefix("default-src 'none'; style-src 'nonce-"))
        #expect(policy.contains("form-action 'self' http://127.0.0.1:9;"))
        #expect(policy.contains("frame-ancestors 'none'"))
        #expect(reply.field("Cache-Control") == "no-store")
    }

    @Test func `forgets the oldest of many pending logins`() throws {
        let client = try DeskClient(.page)
        let first = try ticket(in: client.get("/authorize", client.query))
        for _ in 0..<AuthorizationDesk.pendingMax { _ = client.get("/authorize", client.query) }
        #expect(client.post("/authorize", ["ticket": first, "decision": "allow"]).status == 400)
    }
}
