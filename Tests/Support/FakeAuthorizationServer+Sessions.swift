// What the fake authorization server does before and after tokens: pushed authorization requests (RFC
// 9126), revocation (RFC 7009) and the end of a session (OpenID Connect RP-Initiated Logout).

import Synchronization

extension FakeAuthorizationServer {
    /// How it behaves beside the token endpoint.
    package struct SessionPolicy: Sendable {
        /// Whether the metadata names the endpoint.
        package var announcesPushing = false
        /// Whether authorization requests are taken by reference only, and the metadata says so.
        package var requiresPushing = false
        /// `expires_in` of a reference.
        package var pushedSeconds: Int64 = 60
        /// Whether the metadata names the endpoint.
        package var announcesRevocation = false
        /// Kinds that are not revoked: "access_token" or "refresh_token".
        package var unrevocableKinds: Set<String> = []
        package var announcesEndSession = false
        /// Whether `state` comes back after a log-out.
        package var returnsLogoutState = true

        package init() {}
    }

    struct Sessions: Sendable {
        var references: [String: FormText] = [:]
        var ends: [FormText] = []
        /// By path.
        var requests: [String: [TokenRequest]] = [:]
        var faults: [String: [TokenFault]] = [:]
    }

    // MARK: Steering

    /// The next requests to an endpoint other than the token endpoint meet these faults, one each.
    package func failNext(_ faults: TokenFault..., at path: String) {
        state.withLock { $0.sessions.faults[path, default: []] += faults }
    }

    // MARK: What happened

    package var pushedRequests: [TokenRequest] {
        state.withLock { $0.sessions.requests["/par"] ?? [] }
    }

    package var revocations: [TokenRequest] {
        state.withLock { $0.sessions.requests["/revoke"] ?? [] }
    }

    /// The queries of the log-outs.
    package var endedSessions: [FormText] { state.withLock { $0.sessions.ends } }

    /// Whether a refresh token would be honoured.
    package func accepts(refreshToken: String) -> Bool {
        state.withLock { $0.grants.accepts(refreshToken: refreshToken) }
    }

    // MARK: Endpoints

    var sessionMetadata: String {
        let policy = policy.sessions
        var members: [String] = []
        if policy.announcesPushing || policy.requiresPushing {
            members.append("\"pushed_authorization_request_endpoint\":\"\(origin)/par\"")
        }
        if policy.requiresPushing {
            members.append("\"require_pushed_authorization_requests\":true")
        }
        if policy.announcesRevocation {
            members.append("\"revocation_endpoint\":\"\(origin)/revoke\"")
        }
        if policy.announcesEndSession {
            members.append("\"end_session_endpoint\":\"\(origin)/end_session\"")
        }
        return members.map { ",\n" + $0 }.joined()
    }

    /// The parameters of an authorization request: its own, or those that it refers to. Nil where it
    /// is not to be served; a reference is good once.
    func authorizationParameters(_ query: FormText, _ state: inout State) -> FormText? {
        guard let reference = query["request_uri"] else {
            return state.policy.sessions.requiresPushing ? nil : query
        }
        guard let pushed = state.sessions.references.removeValue(forKey: reference),
            pushed["client_id"] == query["client_id"]
        else { return nil }
        return pushed
    }

    /// False when the connection is over.
    func sessionRequest(_ request: HTTPMessage, on connection: FakeConnection) throws -> Bool {
        let form = FormText(reading: request.body.text)
        let fault = state.withLock { state -> TokenFault? in
            state.sessions.requests[request.path, default: []].append(
                TokenRequest(form: form, message: request, arrival: .now))
            guard var faults = state.sessions.faults[request.path], !faults.isEmpty else {
                return nil
            }
            defer { state.sessions.faults[request.path] = faults }
            return faults.removeFirst()
        }
        return try answer(request, on: connection, fault) { _ in
            request.path == "/par" ? push(request, form) : revoke(request, form)
        }
    }

    private func push(_ request: HTTPMessage, _ form: FormText) -> FakeResponse {
        state.withLock { state in
            guard isAuthenticated(request, form, state.policy) else {
                return .json("{\"error\":\"invalid_client\"}", status: 401)
            }
            guard form["request_uri"] == nil, form["redirect_uri"] != nil else {
                return .json("{\"error\":\"invalid_request\"}", status: 400)
            }
            let reference =
                "urn:ietf:params:oauth:request_uri:"
                + String(UInt64.random(in: 1 << 60 ... .max), radix: 36)
            var form = form
            if let key = state.grants.proofKey, form["dpop_jkt"] == nil {
                form.pairs.append(("dpop_jkt", key))
            }
            state.sessions.references[reference] = form
            let seconds = state.policy.sessions.pushedSeconds
            return .json(
                "{\"request_uri\":\"\(reference)\",\"expires_in\":\(seconds)}", status: 201)
        }
    }

    private func revoke(_ request: HTTPMessage, _ form: FormText) -> FakeResponse {
        state.withLock { state in
            guard isAuthenticated(request, form, state.policy) else {
                return .json("{\"error\":\"invalid_client\"}", status: 401)
            }
            if let kind = form["token_type_hint"],
                state.policy.sessions.unrevocableKinds.contains(kind)
            {
                return .json("{\"error\":\"unsupported_token_type\"}", status: 400)
            }
            // A token that is not known is as good as revoked (RFC 7009 section 2.2).
            state.grants.revoke(form["token"] ?? "")
            return FakeResponse(body: "")
        }
    }

    func endSession(_ query: FormText) -> FakeResponse {
        state.withLock { state in
            state.sessions.ends.append(query)
            guard query["client_id"] == state.policy.clientID else {
                return FakeResponse(400, body: "who?")
            }
            guard let target = query["post_logout_redirect_uri"] else {
                return .ok("You are logged out.")
            }
            var location = target
            if let value = query["state"], state.policy.sessions.returnsLogoutState {
                location += "?" + FormText([("state", value)]).encoded
            }
            return FakeResponse(302, fields: [("Location", location)])
        }
    }
}
