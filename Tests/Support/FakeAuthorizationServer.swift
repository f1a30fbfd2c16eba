// A small authorization server on loopback: metadata, an authorization endpoint that consents at once,
// and a token endpoint that rotates, detects reuse and fails on command. Nothing in it is secure.

import Synchronization

/// Counts everything, so that tests can say "exactly one".
package final class FakeAuthorizationServer: Sendable {
    /// How it behaves; may change while it runs.
    package struct Policy: Sendable {
        package var clientID = "cli-4711"
        package var clientSecret: String?
        /// How long the API takes an access token, and what `expires_in` says.
        package var accessSeconds: Int64 = 3600
        /// JSON text of `expires_in` instead of the truth; empty text leaves the member out.
        package var expiresInText: String?
        package var rotates = true
        package var revokesFamilyOnReuse = true
        /// For how long a spent refresh token still works.
        package var reuseTolerance = Duration.zero
        package var givesRefreshToken = true
        /// As GitHub does: a refresh ends the access tokens before it.
        package var refreshRevokesAccessTokens = false
        /// Between reading a token request and answering it.
        package var tokenDelay = Duration.zero
        /// The shortest length of an access token.
        package var accessTokenLength = 0
        /// The error that the authorization endpoint sends back instead of a code.
        package var authorizationError: String?
        /// The `iss` of authorization responses (RFC 9207); nil sends none.
        package var issuerOfResponses: String?
        package var announcesIssuerParameter = false
        /// The issuer in the metadata, when it is not the true one.
        package var announcedIssuer: String?
        /// The path of the issuer: "" or "/tenant".
        package var issuerPath = ""
        /// Which metadata documents exist.
        package var wellKnownPaths: Set<String> = [
            "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration",
        ]
        /// Pushed requests, revocation, log-outs.
        package var sessions = SessionPolicy()
        package var proofs = ProofPolicy()
        /// Whether clients may register; the last one is the only client then.
        package var registers = false
        /// ID tokens, keys, userinfo.
        package var identity = IdentityPolicy()
        package var machines = MachinePolicy()
        package var authenticationMethods = ["none", "client_secret_basic", "client_secret_post"]

        package init() {}
    }

    /// One request to the token endpoint.
    package struct TokenRequest: Sendable {
        package let form: FormText
        package let message: HTTPMessage
        package let arrival: ContinuousClock.Instant

        package var grantType: String? { form["grant_type"] }
        package var refreshToken: String? { form["refresh_token"] }
    }

    struct State: Sendable {
        var policy: Policy
        var grants = FakeGrants()
        var faults: [TokenFault] = []
        var faultForAll: TokenFault?
        var tokenRequests: [TokenRequest] = []
        var answerCount = 0
        var authorizations: [FormText] = []
        var sessions = Sessions()
        var registrations: [HTTPMessage] = []
        var machines = Machines()
        var front: FakeUpstream?
    }

    let state: Mutex<State>
    /// Judges proofs and hands out nonces.
    package let proofs: ProofCheck
    package let port: UInt16

    package init(_ policy: Policy = Policy()) throws {
        state = Mutex(State(policy: policy))
        proofs = ProofCheck("as", nonceUses: policy.proofs.nonceUses)
        // The port is the kernel's choice once; the server comes back to it after an outage.
        let front = try FakeUpstream { _ in }
        port = front.port
        front.stop()
        try comeUp()
    }

    deinit { goDown() }

    /// Connections are refused from here on.
    package func goDown() {
        state.withLock { $0.front.take() }?.stop()
    }

    /// Back on the same port.
    package func comeUp() throws {
        let front = try FakeUpstream(port: port) { [weak self] connection in
            while let request = try connection.readRequest(within: .seconds(300)) {
                guard let self, try self.answer(request, on: connection) else { return }
            }
        }
        state.withLock { $0.front = front }
    }

    package var origin: String { "http://127.0.0.1:\(port)" }
    package var issuer: String { origin + policy.issuerPath }

    // MARK: Steering

    package var policy: Policy { state.withLock { $0.policy } }

    package func set(_ change: (inout Policy) -> Void) { state.withLock { change(&$0.policy) } }

    /// The next token requests meet these faults, one each.
    package func failNext(_ faults: TokenFault...) {
        state.withLock { $0.faults += faults }
    }

    /// Every token request meets this fault once `failNext` is used up; nil ends that.
    package func failAlways(_ fault: TokenFault?) { state.withLock { $0.faultForAll = fault } }

    /// The API stops taking what was issued so far.
    package func revokeAccessTokens() { state.withLock { $0.grants.revokeAllAccessTokens() } }

    /// Refreshing stops working; access tokens live on.
    package func revokeRefreshTokens() { state.withLock { $0.grants.revokeAllRefreshTokens() } }

    package func revokeEverything() { state.withLock { $0.grants.revokeAllFamilies() } }

    /// Tokens as an earlier login would have left them.
    package func makeLogin(scope: String = "openid api") -> (access: String, refresh: String?) {
        state.withLock { state in
            guard
                case .issued(let access, let refresh, _) = state.grants.makeFamily(
                    scope: scope, policy: state.policy)
            else { preconditionFailure("making a family cannot be refused") }
            return (access, refresh)
        }
    }

    // MARK: What happened

    package func accepts(accessToken: String) -> Bool {
        state.withLock { $0.grants.accepts(accessToken: accessToken) }
    }

    /// Whether the request carries one Bearer token and it is good.
    package func accepts(_ request: HTTPMessage) -> Bool {
        guard let value = request.value("Authorization"), value.hasPrefix("Bearer ") else {
            return false
        }
        return accepts(accessToken: String(value.dropFirst("Bearer ".count)))
    }

    package var tokenRequests: [TokenRequest] { state.withLock { $0.tokenRequests } }

    /// How many of them are done with, whoever was still there to hear it.
    package var answerCount: Int { state.withLock { $0.answerCount } }

    /// Refresh tokens that would be taken now.
    package var liveRefreshTokens: Set<String> { state.withLock { $0.grants.liveRefreshTokens } }

    package var refreshRequests: [TokenRequest] {
        tokenRequests.filter { $0.grantType == "refresh_token" }
    }

    package var codeRequests: [TokenRequest] {
        tokenRequests.filter { $0.grantType == "authorization_code" }
    }

    /// The queries of the authorization requests.
    package var authorizations: [FormText] { state.withLock { $0.authorizations } }

    /// How often a spent refresh token was presented.
    package var reuses: Int { state.withLock { $0.grants.reuses } }
    package var codeReuses: Int { state.withLock { $0.grants.codeReuses } }

    /// Every token, code, verifier and secret so far.
    package var secrets: Set<String> {
        state.withLock { $0.grants.secrets.union([$0.policy.clientSecret].compactMap { $0 }) }
    }

    /// All requests in order, whatever the endpoint.
    package var requests: [HTTPMessage] { state.withLock { $0.front }?.requests ?? [] }
}

extension FakeUpstream {
    /// An API that answers 401 unless the request carries a token which the server takes.
    package convenience init(
        protectedBy server: FakeAuthorizationServer,
        answering respond: @escaping @Sendable (HTTPMessage) throws -> FakeResponse = { _ in .ok() }
    ) throws {
        try self.init(answering: { request in
            server.accepts(request) ? try respond(request) : .invalidToken
        })
    }
}
