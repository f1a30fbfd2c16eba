// The demo's authorization server without its sockets: metadata (RFC 8414), the authorization
// endpoint with its page, the token endpoint and revocation (RFC 7009). One public client, one
// person, loopback redirects on any port (RFC 8252 section 7.3), PKCE S256 or nothing.

import Bytes
import Crypto
import LoopbackServer
import OAuth
import Synchronization
import Vocabulary

final class AuthorizationDesk: Sendable {
    /// Whether the authorization endpoint asks anybody.
    enum Decision: Sendable {
        case page
        case automatic
    }

    static let clientID = "demo-cli"
    static let person = "Ada"
    static let scopes = [DemoIdentity.scope, "notes.read", "notes.write"]
    /// Requests that wait for a decision; the oldest are forgotten first.
    static let pendingMax = 64

    let issuer: String
    private let decision: Decision
    private let accessTokenLifetimeSeconds: Int64
    private let time: any TimeSource
    private let identity: DemoIdentity

    private struct Pending {
        var ticket: String
        var consent: GrantBook.Consent
        var state: String?
    }

    private struct Memory {
        var book: GrantBook
        var pending: [Pending] = []
        var tokenRequests: [String: Int] = [:]
        var logins = 0
    }

    private let memory: Mutex<Memory>

    init(
        issuer: String, decision: Decision, accessTokenLifetimeSeconds: Int64,
        time: any TimeSource
    ) {
        self.issuer = issuer
        self.decision = decision
        self.accessTokenLifetimeSeconds = accessTokenLifetimeSeconds
        self.time = time
        identity = DemoIdentity(issuer: issuer)
        let milliseconds = UInt64(max(accessTokenLifetimeSeconds, 0)) * 1000
        memory = Mutex(Memory(book: GrantBook(accessTokenLifetimeMilliseconds: milliseconds)))
    }

    func reply(to request: ServerRequest) -> ServerResponse {
        switch (request.method, request.path) {
        case ("GET", "/.well-known/oauth-authorization-server"): .json(metadata)
        case ("GET", "/keys"): .json(identity.keys)
        case ("GET", "/userinfo"):
            identity.userInfo(DemoAPI.bearer(request).token.map(standing) ?? .unknown)
        case ("GET", "/authorize"): authorize(request)
        case ("POST", "/authorize"): decide(request)
        case ("POST", "/token"): token(request)
        case ("POST", "/revoke"): revoke(request)
        case (_, "/authorize"): .methodNotAllowed("GET, POST")
        case (_, "/token"), (_, "/revoke"): .methodNotAllowed("POST")
        default: .line("nothing here", status: 404)
        }
    }

    // MARK: What the API and the tour ask

    func standing(of token: SecretBytes) -> TokenStanding {
        let now = time.bootTime()
        return memory.withLock { $0.book.standing(of: token, now: now) }
    }

    func revokeAccessTokens() { memory.withLock { $0.book.revokeAccessTokens() } }

    func killRefreshTokens() { memory.withLock { $0.book.killRefreshTokens() } }

    /// Requests by `grant_type`, reuses of a refresh token, and allowed logins.
    var counts: (tokenRequests: [String: Int], reuses: Int, logins: Int) {
        memory.withLock { ($0.tokenRequests, $0.book.reusesDetected, $0.logins) }
    }

    // MARK: Endpoints

    private var metadata: JSONValue {
        [
            "issuer": .string(issuer),
            "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"),
            "revocation_endpoint": .string(issuer + "/revoke"),
            "userinfo_endpoint": .string(issuer + "/userinfo"),
            "jwks_uri": .string(issuer + "/keys"),
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "scopes_supported": .array(AuthorizationDesk.scopes.map { .string($0) }),
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": true,
        ]
    }

    private func authorize(_ request: ServerRequest) -> ServerResponse {
        guard let form = Form(SecretBytes(request.query ?? "")) else {
            return ConsentPage.refusal("The request cannot be read, or says something twice.")
        }
        guard form["client_id"] == AuthorizationDesk.clientID else {
            return ConsentPage.refusal("No client with this client_id is known here.")
        }
        guard let redirect = form["redirect_uri"], let target = try? WebURL(redirect),
            target.origin.scheme == .http, target.origin.isLoopback, target.fragment == nil
        else {
            return ConsentPage.refusal("The redirect_uri is not an address on this machine.")
        }
        let state = form["state"]
        func refuse(_ code: String, _ explanation: String) -> ServerResponse {
            redirectBack(
                to: redirect, state: state,
                [("error", code), ("error_description", explanation)], status: 302)
        }
        guard form["response_type"] == "code" else {
            return refuse("unsupported_response_type", "only code")
        }
        guard form["code_challenge_method"] == PKCE.method, let challenge = form["code_challenge"],
            challenge.utf8.count == 43
        else { return refuse("invalid_request", "PKCE with S256 is required") }
        let scopes = form["scope"].map { $0.split(separator: " ").map(String.init) } ?? []
        guard Set(scopes).isSubset(of: AuthorizationDesk.scopes) else {
            return refuse(
                "invalid_scope", "only " + AuthorizationDesk.scopes.joined(separator: ", "))
        }
        let consent = GrantBook.Consent(
            clientID: AuthorizationDesk.clientID, redirectURI: redirect,
            scopes: scopes.isEmpty ? AuthorizationDesk.scopes : scopes, challenge: challenge,
            nonce: form["nonce"])
        switch decision {
        case .automatic:
            return allow(consent, state: state, status: 302)
        case .page:
            return ask(Pending(ticket: fresh(), consent: consent, state: state), target.origin)
        }
    }

    private func ask(_ pending: Pending, _ returnOrigin: Origin) -> ServerResponse {
        memory.withLock { memory in
            memory.pending.append(pending)
            if memory.pending.count > AuthorizationDesk.pendingMax { memory.pending.removeFirst() }
        }
        return ConsentPage.reply(
            client: AuthorizationDesk.clientID, person: AuthorizationDesk.person,
            scopes: pending.consent.scopes, ticket: pending.ticket,
            returnOrigin: returnOrigin.description)
    }

    /// What the page's buttons send. The ticket, which only the page knows and which serves once,
    /// keeps other pages from pressing them.
    private func decide(_ request: ServerRequest) -> ServerResponse {
        guard let form = Form(SecretBytes(request.body)), let ticket = form["ticket"] else {
            return ConsentPage.refusal("The decision cannot be read.")
        }
        let found = memory.withLock { memory in
            memory.pending.firstIndex { SecretBytes($0.ticket) == SecretBytes(ticket) }
                .map { memory.pending.remove(at: $0) }
        }
        guard let found else {
            return ConsentPage.refusal("This decision was made before, or the login was given up.")
        }
        guard form["decision"] == "allow" else {
            return redirectBack(
                to: found.consent.redirectURI, state: found.state, [("error", "access_denied")],
                status: 303)
        }
        return allow(found.consent, state: found.state, status: 303)
    }

    private func allow(_ consent: GrantBook.Consent, state: String?, status: Int) -> ServerResponse
    {
        let code = fresh()
        let now = time.bootTime()
        memory.withLock { memory in
            memory.logins += 1
            memory.book.enter(consent, code: SecretBytes(code), now: now)
        }
        return redirectBack(to: consent.redirectURI, state: state, [("code", code)], status: status)
    }

    private func redirectBack(
        to redirect: String, state: String?, _ parameters: [(String, String)], status: Int
    ) -> ServerResponse {
        var parameters = parameters
        if let state { parameters.append(("state", state)) }
        parameters.append(("iss", issuer))
        let query = parameters.map { "\($0.0)=\(FormEncoding.encodeForURL($0.1))" }
            .joined(separator: "&")
        return .redirect(status, to: redirect + (redirect.contains("?") ? "&" : "?") + query)
    }

    private func token(_ request: ServerRequest) -> ServerResponse {
        guard let form = Form(SecretBytes(request.body)), let grant = form["grant_type"] else {
            return refusal(.invalidRequest("no grant_type"))
        }
        let now = time.bootTime()
        let result = memory.withLock { memory in
            memory.tokenRequests[grant, default: 0] += 1
            return Result { () throws(GrantError) in
                try tokens(grant, form, from: &memory.book, now: now)
            }
        }
        switch result {
        case .failure(let error): return refusal(error)
        case .success(let tokens):
            var answer = JSONObject([
                .init(name: "access_token", value: .secret(tokens.access)),
                .init(name: "token_type", value: "Bearer"),
                .init(
                    name: "expires_in", value: .number(JSONNumber(accessTokenLifetimeSeconds))),
                .init(name: "refresh_token", value: .secret(tokens.refresh)),
                .init(name: "scope", value: .string(tokens.scopes.joined(separator: " "))),
            ])
            if tokens.scopes.contains(DemoIdentity.scope) {
                answer["id_token"] = .secret(
                    identity.token(
                        clientID: AuthorizationDesk.clientID, nonce: tokens.nonce,
                        now: time.wallTime()))
            }
            return .json(.object(answer))
        }
    }

    private func tokens(
        _ grant: String, _ form: Form, from book: inout GrantBook, now: BootTime
    ) throws(GrantError) -> GrantBook.Tokens {
        guard let client = form["client_id"], client == AuthorizationDesk.clientID else {
            throw .invalidClient
        }
        let pair = (access: SecretBytes(fresh()), refresh: SecretBytes(fresh()))
        switch grant {
        case "authorization_code":
            guard let code = form.secret("code"), let redirect = form["redirect_uri"],
                let verifier = form.secret("code_verifier")
            else { throw .invalidRequest("code, redirect_uri and code_verifier are required") }
            return try book.redeem(
                code: code, clientID: client, redirectURI: redirect, verifier: verifier,
                fresh: pair, now: now)
        case "refresh_token":
            guard let token = form.secret("refresh_token") else {
                throw .invalidRequest("refresh_token is required")
            }
            return try book.refresh(
                token: token, clientID: client,
                scopes: form["scope"].map { $0.split(separator: " ").map(String.init) },
                fresh: pair, now: now)
        default:
            throw .unsupportedGrantType
        }
    }

    private func revoke(_ request: ServerRequest) -> ServerResponse {
        guard let form = Form(SecretBytes(request.body)), let token = form.secret("token") else {
            return refusal(.invalidRequest("token is required"))
        }
        guard let client = form["client_id"], client == AuthorizationDesk.clientID else {
            return refusal(.invalidClient)
        }
        memory.withLock { $0.book.revoke(token: token, clientID: client) }
        return ServerResponse(status: 200)
    }

    private func refusal(_ error: GrantError) -> ServerResponse {
        .json(
            ["error": .string(error.code), "error_description": .string(error.explanation)],
            status: error == .invalidClient ? 401 : 400)
    }

    /// 256 random bits.
    private func fresh() -> String { Base64.encode(RandomBytes.make(32), .url) }
}

/// Parameters by name, each once.
private struct Form {
    private let parameters: [FormParameter]

    init?(_ bytes: SecretBytes) {
        guard let parameters = try? bytes.withBytes({ try FormEncoding.read($0) }) else {
            return nil
        }
        self.parameters = parameters
    }

    func secret(_ name: String) -> SecretBytes? {
        parameters.first { $0.name.isIdentical(to: name) && !$0.value.isEmpty }?.value
    }

    subscript(name: String) -> String? {
        secret(name)?.withBytes { String(decoding: $0, as: UTF8.self) }
    }
}
