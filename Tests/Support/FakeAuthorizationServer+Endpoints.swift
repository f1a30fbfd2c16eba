// The endpoints of the fake authorization server.

import Crypto
import Synchronization

extension FakeAuthorizationServer {
    /// Answers one request; false when the connection is over.
    func answer(_ request: HTTPMessage, on connection: FakeConnection) throws -> Bool {
        if ["/token", "/par"].contains(request.path) {
            switch proofKey(of: request) {
            case .success(let thumbprint):
                state.withLock { $0.grants.proofKey = thumbprint }
                connection.standingFields = proofs.fields
            case .failure(let refused):
                connection.standingFields = proofs.fields
                if request.path == "/token" {
                    state.withLock {
                        $0.tokenRequests.append(
                            TokenRequest(
                                form: FormText(reading: request.body.text), message: request,
                                arrival: .now))
                    }
                }
                try connection.respond(refused.response, to: request)
                return true
            }
        }
        switch (request.method, request.path) {
        case ("GET", "/authorize"):
            try connection.respond(authorize(FormText(reading: request.query)), to: request)
        case ("POST", "/token"):
            return try token(request, on: connection)
        case ("POST", "/par"), ("POST", "/revoke"):
            return try sessionRequest(request, on: connection)
        case ("POST", "/device"):
            try connection.respond(authorizeDevice(request), to: request)
        case ("GET", "/end_session"):
            try connection.respond(endSession(FormText(reading: request.query)), to: request)
        case ("POST", "/register"):
            try connection.respond(register(request), to: request)
        case ("GET", "/jwks"):
            try connection.respond(keys(), to: request)
        case ("GET", "/userinfo"):
            try connection.respond(userInfo(request), to: request)
        case ("GET", let path) where isMetadata(path):
            try connection.respond(.json(metadata), to: request)
        default:
            try connection.respond(FakeResponse(404, body: "no such endpoint"), to: request)
        }
        return true
    }

    // MARK: Metadata

    private func isMetadata(_ path: String) -> Bool { policy.wellKnownPaths.contains(path) }

    private var metadata: String {
        let policy = policy
        let methods = policy.authenticationMethods.map(jsonText).joined(separator: ",")
        return """
            {"issuer":\(jsonText(policy.announcedIssuer ?? issuer)),
            "authorization_endpoint":"\(origin)/authorize",
            "token_endpoint":"\(origin)/token",
            "jwks_uri":"\(origin)/jwks",
            "response_types_supported":["code"],
            "subject_types_supported":["public"],
            "id_token_signing_alg_values_supported":["RS256"],
            "code_challenge_methods_supported":["S256"],
            "authorization_response_iss_parameter_supported":\(policy.announcesIssuerParameter),
            "token_endpoint_auth_methods_supported":[\(methods)]\(sessionMetadata)\(registrationMetadata)\(identityMetadata)\(machineMetadata)}
            """
    }

    // MARK: Authorization

    private func authorize(_ query: FormText) -> FakeResponse {
        state.withLock { state in
            state.authorizations.append(query)
            for name in ["state", "nonce"] {
                if let value = query[name] { state.grants.noteSecret(value) }
            }
            guard let query = authorizationParameters(query, &state),
                query["client_id"] == state.policy.clientID, query["response_type"] == "code",
                let target = query["redirect_uri"]
            else { return FakeResponse(400, body: "client_id, response_type or redirect_uri") }

            var answer = FormText([])
            if let error = state.policy.authorizationError {
                answer.pairs.append(("error", error))
            } else if query["code_challenge_method"] != "S256" {
                answer.pairs.append(("error", "invalid_request"))
            } else {
                answer.pairs.append(("code", state.grants.makeCode(query)))
            }
            if let value = query["state"] { answer.pairs.append(("state", value)) }
            if let issuer = state.policy.issuerOfResponses {
                answer.pairs.append(("iss", issuer))
            }
            let separator = target.contains("?") ? "&" : "?"
            return FakeResponse(302, fields: [("Location", target + separator + answer.encoded)])
        }
    }

    // MARK: Tokens

    private func token(_ request: HTTPMessage, on connection: FakeConnection) throws -> Bool {
        let form = FormText(reading: request.body.text)
        let arrival = ContinuousClock.now
        let (fault, delay) = state.withLock { state -> (TokenFault?, Duration) in
            state.tokenRequests.append(
                TokenRequest(form: form, message: request, arrival: arrival))
            let fault = state.faults.isEmpty ? state.faultForAll : state.faults.removeFirst()
            return (fault, state.policy.tokenDelay)
        }
        defer { state.withLock { $0.answerCount += 1 } }
        pause(delay)
        return try answer(request, on: connection, fault) { fault in
            grant(request, form, fault)
        }
    }

    /// Answers as the fault has it; `grant` makes the true answer.
    func answer(
        _ request: HTTPMessage, on connection: FakeConnection, _ fault: TokenFault?,
        _ grant: (TokenFault?) -> FakeResponse
    ) throws -> Bool {
        switch fault {
        case .reset:
            connection.stream.reset()
            return false
        case .silence:
            _ = try connection.stream.waitForEnd(within: .seconds(120))
            return false
        case .answer(let response):
            try connection.respond(response, to: request)
            return true
        case .cutShort:
            try connection.write(
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
                    + "{\"access_token\":\"canary-cut")
            return false
        case .lostAnswer:
            _ = grant(nil)
            connection.stream.reset()
            return false
        case .drip(let gap):
            let answer = grant(nil).octets(to: "POST")
            try connection.stream.writeByteByByte(answer, pausing: gap)
            return true
        case .formEncoded, .member, nil:
            try connection.respond(grant(fault), to: request)
            return true
        }
    }

    private func grant(
        _ request: HTTPMessage, _ form: FormText, _ fault: TokenFault? = nil
    ) -> FakeResponse {
        state.withLock { state in
            let isKnown =
                state.policy.machines.clientKey == nil
                ? isAuthenticated(request, form, state.policy)
                : Self.takes(assertionOf: form, &state, issuer: issuer(state.policy))
            guard isKnown else {
                return FakeResponse(
                    401,
                    fields: [
                        ("Content-Type", "application/json"),
                        ("WWW-Authenticate", "Basic realm=\"token\""),
                    ], body: "{\"error\":\"invalid_client\"}")
            }
            let outcome: FakeGrants.Outcome
            switch form["grant_type"] {
            case "authorization_code": outcome = state.grants.exchange(form, state.policy)
            case "refresh_token": outcome = state.grants.refresh(form, state.policy)
            default:
                outcome =
                    Self.machineGrant(form, &state)
                    ?? .refused(status: 400, code: "unsupported_grant_type")
            }
            switch outcome {
            case .refused(let status, let code):
                return .json("{\"error\":\"\(code)\"}", status: status)
            case .issued(let access, let refresh, let family):
                var members = members(
                    access, refresh, state.grants.families[family], state.policy)
                if let token = idToken(state.grants.families[family], state.policy) {
                    state.grants.noteSecret(token)
                    members.append(("id_token", jsonText(token)))
                    if state.policy.identity.omitsAccessToken {
                        members.removeAll { ["access_token", "expires_in"].contains($0.0) }
                    }
                }
                return document(members, fault)
            }
        }
    }

    /// As `issuer`, where the state is held already.
    private func issuer(_ policy: Policy) -> String { origin + policy.issuerPath }

    /// One method and never two (RFC 6749 section 2.3).
    func isAuthenticated(
        _ request: HTTPMessage, _ form: FormText, _ policy: Policy
    ) -> Bool {
        let basic = request.values("Authorization")
        let posted = form.values("client_secret")
        guard let secret = policy.clientSecret else {
            return basic.isEmpty && posted.isEmpty && form["client_id"] == policy.clientID
        }
        if basic.isEmpty { return posted == [secret] && form["client_id"] == policy.clientID }
        let id = FormText.encoded(policy.clientID)
        let expected = Base64.encode(
            Array("\(id):\(FormText.encoded(secret))".utf8), .standard)
        return posted.isEmpty && basic == ["Basic \(expected)"]
    }

    /// Names and JSON texts.
    private func members(
        _ access: String, _ refresh: String?, _ family: FakeGrants.Family, _ policy: Policy
    ) -> [(String, String)] {
        var members = [
            ("access_token", jsonText(access)),
            (
                "token_type",
                jsonText(policy.proofs.tokenType ?? (family.proofKey == nil ? "Bearer" : "DPoP"))
            ),
        ]
        let expiry = policy.expiresInText ?? String(policy.accessSeconds)
        if !expiry.isEmpty { members.append(("expires_in", expiry)) }
        if let refresh { members.append(("refresh_token", jsonText(refresh))) }
        members.append(("scope", jsonText(family.scope)))
        return members
    }

    private func document(_ members: [(String, String)], _ fault: TokenFault?) -> FakeResponse {
        var members = members
        switch fault {
        case .formEncoded:
            let pairs = members.map { name, text in
                (
                    name: name,
                    value: text.hasPrefix("\"") ? String(text.dropFirst().dropLast()) : text
                )
            }
            return FakeResponse(
                fields: [("Content-Type", "application/x-www-form-urlencoded; charset=utf-8")],
                body: Octets(FormText(pairs).encoded))
        case .member(let name, let text):
            members.removeAll { $0.0 == name }
            if let text { members.append((name, text)) }
        default: break
        }
        let body = members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",")
        return .json("{\(body)}")
    }
}
