import Bytes
import Testing
import Vocabulary

@testable import OAuth

private let json = "application/json"
private let form = "application/x-www-form-urlencoded"
let testNow = WallTime(seconds: 1_700_000_000)

func answer(
    _ status: Int, _ type: String?, _ body: String, retryAfter: String? = nil
) -> InboundResponse {
    var fields: [(name: String, value: String)] = []
    if let type { fields.append(("content-TYPE", type)) }
    if let retryAfter { fields.append(("Retry-After", retryAfter)) }
    return InboundResponse(status: status, fields: fields, body: SecretBytes(body))
}

func readToken(
    _ response: InboundResponse, quirks: ProviderQuirks = []
) -> Result<TokenResponse, TokenFailure> {
    let request = TokenRequest(
        endpoint: "https://id.example.com/token", grant: .refresh(SecretBytes("canary-RT+1")),
        client: .basic(clientID: "cli", secret: SecretBytes("canary-secret")), quirks: quirks)
    return Result { () throws(TokenFailure) in
        try TokenResponse.read(response, to: request, now: testNow)
    }
}

private func success(_ body: String, type: String? = json) throws -> TokenResponse {
    try readToken(answer(200, type, body)).get()
}

private func failure(
    _ response: InboundResponse, quirks: ProviderQuirks = []
) throws -> TokenFailure {
    switch readToken(response, quirks: quirks) {
    case .success: throw Unexpected()
    case .failure(let failure): return failure
    }
}

private struct Unexpected: Error {}

@Suite struct `Token answer` {
    @Test func `is read whole`() throws {
        let response = try success(
            """
            {"access_token":"AT.1","token_type":"bearer","expires_in":3600,"refresh_token":"RT 2",
             "id_token":"ID","scope":"a b:c","refresh_token_expires_in":86400,
             "sub":"did:x","nested":{"token":"canary"}}
            """)
        #expect(response.accessToken.map(text) == "AT.1")
        #expect(response.expiresInSeconds == 3600)
        #expect(response.refreshToken.map(text) == "RT 2")
        #expect(response.refreshExpiresInSeconds == 86400)
        #expect(response.idToken.map(text) == "ID")
        #expect(response.scopes == ["a", "b:c"])
        #expect(response.extras.members.map(\.name) == ["sub", "nested"])
        #expect(response.extras["sub"]?.asRevealedString == "did:x")
        #expect(response.oddities.isEmpty)
        #expect(!"\(response)".contains("canary"))
        #expect(!"\(response)".contains("AT.1"))
    }

    @Test(arguments: [
        "", #","refresh_token":null"#, #","refresh_token":"""#,
        #","refresh_token":null,"id_token":"""#,
    ])
    func `without a refresh token says nothing about the old one`(member: String) throws {
        let response = try success(#"{"access_token":"AT2","token_type":"Bearer"\#(member)}"#)
        #expect(response.refreshToken == nil)
        #expect(response.idToken == nil)
        #expect(response.scopes == nil)
        #expect(response.extras.members.isEmpty)
        #expect(response.oddities.isEmpty)
    }

    @Test(
        arguments: [
            ("3599", 3599, nil), (#""3599""#, 3599, nil), ("3599.0", 3599, nil),
            ("3.6e3", 3600, nil),
            ("3599.7", 3599, nil), (#""3599.7""#, 3599, nil), (#"" 3599 ""#, 3599, nil),
            (#""abc""#, nil, .expiresInUnreadable), (#""""#, nil, .expiresInUnreadable),
            (#""0x10""#, nil, .expiresInUnreadable), (#""nan""#, nil, .expiresInUnreadable),
            ("true", nil, .expiresInUnreadable), ("[60]", nil, .expiresInUnreadable),
            ("null", nil, nil),
            ("-1", 0, .expiresInPast), ("0", 0, .expiresInPast), (#""-5""#, 0, .expiresInPast),
            ("-1e400", 0, .expiresInPast), ("99999999999999", 315_360_000, .expiresInTooLong),
            ("1e400", 315_360_000, .expiresInTooLong),
            ("18446744073709551616", 315_360_000, .expiresInTooLong),
        ] as [(String, Int64?, TokenResponse.Oddity?)])
    func `tells its lifetime as number or as text`(
        value: String, seconds: Int64?, oddity: TokenResponse.Oddity?
    ) throws {
        let response = try success(
            #"{"token_type":"Bearer","expires_in":\#(value),"access_token":"AT"}"#)
        #expect(response.expiresInSeconds == seconds)
        #expect(response.oddities == (oddity.map { [$0] } ?? []))
    }

    @Test func `expires by the local clock, else by its JWT, else by the configuration`() throws {
        func expiry(_ members: String) throws -> Int64? {
            try success(#"{"token_type":"Bearer",\#(members)}"#)
                .expiry(receivedAt: testNow, fallbackLifetimeSeconds: 60)?.seconds
        }
        // {"alg":"none"} . {"exp":1700000100}
        let jwt = #""access_token":"eyJhbGciOiJub25lIn0.eyJleHAiOjE3MDAwMDAxMDB9.""#
        #expect(try expiry(#"\#(jwt),"expires_in":30"#) == 1_700_000_030)
        #expect(try expiry(jwt) == 1_700_000_100)
        #expect(try expiry(#""access_token":"opaque""#) == 1_700_000_060)
        #expect(try expiry(#""access_token":"opaque","expires_in":0"#) == 1_700_000_000)
        let unknown = try success(#"{"access_token":"a.b.c"}"#)
            .expiry(receivedAt: testNow, fallbackLifetimeSeconds: nil)
        #expect(unknown == nil)
    }

    @Test(
        arguments: [
            (form + "; charset=utf-8", "access_token=AT%2Bx&scope=repo%2Cgist&token_type=bearer"),
            ("text/plain", "access_token=AT%2Bx&scope=repo%2Cgist&token_type=bearer"),
            (nil, "access_token=AT%2Bx&scope=repo%2Cgist&token_type=bearer"),
            ("text/html", #" {"access_token":"AT+x","scope":"repo,gist","token_type":"Bearer"}"#),
            (form, #"{"access_token":"AT+x","scope":"repo,gist","token_type":"Bearer"}"#),
            (
                "Application/JSON ;charset=UTF-8",
                "\u{FEFF}{\"access_token\":\"AT\\u002bx\",\"scope\":\"repo gist\",\"token_type\":\"BEARER\"}"
            ),
            (
                "application/vnd.x+json",
                #"{"access_token":"AT+x","scope":"repo gist","token_type":"Bearer","error":null}"#
            ),
        ] as [(String?, String)])
    func `is read by media type or by its first byte`(type: String?, body: String) throws {
        let response = try success(body, type: type)
        #expect(response.accessToken.map(text) == "AT+x")
        #expect(response.scopes == ["repo", "gist"])
        #expect(response.oddities.isEmpty)
    }

    @Test(
        arguments: [
            (#"{"access_token":null}"#, .missingAccessToken), ("{}", .missingAccessToken),
            (#"{"access_token":""}"#, .missingAccessToken),
            (#"{"access_token":7}"#, .missingAccessToken),
            (#"{"access_token":["a"]}"#, .missingAccessToken),
            (#"{"id_token":"a"}"#, .missingAccessToken),
            (#"{"access_token":"a\r\nX-Evil: 1"}"#, .unusableAccessToken),
            (#"{"access_token":"a\nb"}"#, .unusableAccessToken),
            (#"{"access_token":"a b"}"#, .unusableAccessToken),
            (#"{"access_token":" "}"#, .unusableAccessToken),
            (#"{"access_token":"a\u0000"}"#, .unusableAccessToken),
            (#"{"access_token":"a\u007f"}"#, .unusableAccessToken),
            (#"{"access_token":"é"}"#, .unusableAccessToken),
            (#"{"access_token":"a\t"}"#, .unusableAccessToken),
            (#"{"access_token":"a","token_type":"mac"}"#, .unsupportedTokenType("mac")),
            (#"{"access_token":"a","token_type":"DPoP"}"#, .unsupportedTokenType("DPoP")),
        ] as [(String, TokenFailure.Reason)])
    func `without a token that fits a header is a failure`(
        body: String, reason: TokenFailure.Reason
    ) throws {
        let failure = try failure(answer(200, json, body))
        #expect(failure.verdict == .malformed)
        #expect(failure.reason == reason)
    }

    @Test func `with 403 is final where the provider says so in that way (Auth0)`() throws {
        func verdict(_ status: Int, _ quirks: ProviderQuirks) -> TokenFailure.Verdict {
            TokenFailure.verdict(
                status: status, code: "invalid_grant", retryAfterSeconds: nil, quirks: quirks)
        }
        #expect(verdict(403, .forbiddenGrant) == .needsLogin)
        #expect(verdict(403, []) == .unfamiliar)
        #expect(verdict(404, .forbiddenGrant) == .unfamiliar)
    }

    @Test func `may have spaces around its type`() throws {
        let response = try success(#"{"access_token":"a","token_type":" Bearer "}"#)
        #expect(response.tokenType == "Bearer")
        #expect(response.oddities.isEmpty)
    }

    @Test(arguments: [
        #""token_type":"bot","access_token":"a""#, #""token_type":"Bearer""#,
        #""access_token":"a b""#,
    ])
    func `that is not used still hands on its refresh token`(members: String) throws {
        let failure = try failure(answer(200, json, #"{"refresh_token":"R2",\#(members)}"#))
        #expect(failure.refreshToken.map(text) == "R2")
        #expect(!failure.description.contains("R2"))
    }

    @Test func `may hold a token with letters beyond b64token`() throws {
        #expect(
            try success(#"{"access_token":"12|x","token_type":"bearer"}"#).oddities == [
                .tokenIsNotB64
            ])
        #expect(
            try success(#"{"access_token":"==","token_type":"bearer"}"#).oddities == [
                .tokenIsNotB64
            ])
        #expect(
            try success(#"{"access_token":"aZ0-._~+/==","token_type":"bearer"}"#).oddities.isEmpty)
        #expect(try success(#"{"access_token":"a"}"#).oddities == [.tokenTypeMissing])
        #expect(
            try success(#"{"access_token":"a","token_type":"bearer","refresh_token":7}"#).oddities
                == [.refreshTokenUnreadable])
    }

    @Test func `is refused when a member stands twice`() throws {
        let bodies = [
            (json, #"{"access_token":"a","access_token":"b"}"#),
            (form, "access_token=a&access_token=b"),
        ]
        for (type, body) in bodies {
            #expect(try failure(answer(200, type, body)).reason == .unreadableBody)
        }
    }

    @Test func `truncated anywhere gives no token`() {
        let body = Array(#"{"access_token":"AT","token_type":"Bearer","expires_in":3600}"#.utf8)
        for length in 0..<body.count {
            let response = InboundResponse(
                status: 200, fields: [("Content-Type", json)],
                body: SecretBytes(Array(body[..<length])))
            guard case .failure(let failure) = readToken(response) else {
                Issue.record("a token after \(length) bytes")
                continue
            }
            #expect(failure.verdict == .transient(retryAfterSeconds: nil))
        }
    }
}

@Suite struct `Token failure` {
    private typealias Verdict = TokenFailure.Verdict
    private static let soon = TokenFailure.Verdict.transient(retryAfterSeconds: nil)

    /// The table of codes, each with the statuses that it may come with.
    @Test(arguments: TokenFailure.codes.map(\.code), [200, 400, 401])
    func `is classed by the server's code`(code: String, status: Int) throws {
        let row = try #require(TokenFailure.codes.first { $0.code == code })
        let answer = answer(status, json, #"{"error":"\#(code)","access_token":"AT"}"#)
        let failure = try failure(answer, quirks: row.quirk)
        #expect(failure.verdict == row.verdict)
        #expect(failure.reason == .code(code))
        #expect(failure.status == status)
    }

    @Test func `has one row for each code`() {
        #expect(Set(TokenFailure.codes.map(\.code)).count == TokenFailure.codes.count)
    }

    /// Policy, row by row: oauth.md section 2.1 and the cases from the field.
    @Test(
        arguments: [
            // Only these end a grant.
            ("invalid_grant", .needsLogin), ("login_required", .needsLogin),
            ("interaction_required", .needsLogin), ("consent_required", .needsLogin),
            ("account_selection_required", .needsLogin), ("expired_token", .needsLogin),
            // The configuration is wrong.
            ("invalid_client", .misconfigured), ("unauthorized_client", .misconfigured),
            ("unsupported_grant_type", .misconfigured), ("invalid_request", .misconfigured),
            ("invalid_target", .misconfigured), ("redirect_uri_mismatch", .misconfigured),
            ("unsupported_response_type", .misconfigured),
            ("invalid_request_object", .misconfigured), ("invalid_request_uri", .misconfigured),
            ("request_not_supported", .misconfigured),
            ("invalid_client_attestation", .misconfigured),
            ("invalid_scope", .dropScope), ("access_denied", .denied),
            ("use_dpop_nonce", .answerChallenge),
            ("use_attestation_challenge", .answerChallenge),
            ("use_fresh_attestation", .answerChallenge), ("invalid_dpop_proof", .malformed),
            ("temporarily_unavailable", soon), ("server_error", soon), ("slow_down", soon),
            ("authorization_pending", soon),
            // Not in any table.
            ("invalid_refresh_token", .unfamiliar), ("Invalid_Grant", .unfamiliar),
            ("x", .unfamiliar),
        ] as [(String, TokenFailure.Verdict)])
    func `means what the decision table says`(code: String, verdict: TokenFailure.Verdict) throws {
        #expect(try failure(answer(400, json, #"{"error":"\#(code)"}"#)).verdict == verdict)
        #expect(try failure(answer(400, form, "error=\(code)")).verdict == verdict)
    }

    @Test func `takes a provider's own codes for that provider's only`() throws {
        // GitHub's, which come with status 200 (F38).
        let own = TokenFailure.codes.filter { !$0.quirk.isEmpty }
        #expect(own.contains { $0.code == "bad_refresh_token" && $0.verdict == .needsLogin })
        #expect(
            own.contains {
                $0.code == "incorrect_client_credentials" && $0.verdict == .misconfigured
            })
        for row in own {
            let answer = answer(200, json, #"{"error":"\#(row.code)"}"#)
            #expect(try failure(answer).verdict == .unfamiliar)
            #expect(try failure(answer, quirks: [row.quirk, .atproto]).verdict == row.verdict)
        }
    }

    @Test(
        arguments: [
            // The status decides, whatever the body says.
            (500, json, #"{"error":"invalid_grant"}"#, soon),
            (503, json, #"{"error":"invalid_grant"}"#, soon),
            (599, json, "null", soon), (500, json, "null", soon),
            (502, "text/html", "<html>", soon),
            (503, "text/plain", "upstream connect error", soon),
            (408, json, #"{"error":"invalid_grant"}"#, soon),
            (429, json, #"{"error":"invalid_grant"}"#, soon), (429, "text/html", "<html>", soon),
            (302, nil, "", soon), (307, json, #"{"error":"invalid_grant"}"#, soon),
            // Somebody else's page.
            (403, "text/html", "Access denied by WAF", soon), (404, "text/html", "<html>", soon),
            (400, "text/html", "<p>error=invalid_grant", soon), (200, "text/html", "<html>", soon),
            (200, json, "", soon), (200, json, "[1]", soon),
            (400, json, #"{"error":"invalid_grant""#, soon),
            (404, nil, "", soon),
            // A refusal without a code.
            (400, nil, "", .unfamiliar), (401, nil, "", .unfamiliar), (403, nil, "", .unfamiliar),
            (400, json, "{}", .unfamiliar), (401, json, #"{"message":"no"}"#, .unfamiliar),
            (400, json, #"{"error":{"code":190}}"#, .unfamiliar),
            (200, json, #"{"error":{"code":190},"access_token":"AT"}"#, .unfamiliar),
            (200, json, #"{"error":190,"access_token":"AT"}"#, .unfamiliar),
            // Only 200, 400 and 401 with a terminal code are the server's last word.
            (403, json, #"{"error":"invalid_grant"}"#, .unfamiliar),
            (404, json, #"{"error":"invalid_grant"}"#, .unfamiliar),
            (403, json, #"{"error":"invalid_client"}"#, .misconfigured),
        ] as [(Int, String?, String, TokenFailure.Verdict)])
    func `weighs the status first`(
        status: Int, type: String?, body: String, verdict: TokenFailure.Verdict
    ) throws {
        #expect(try failure(answer(status, type, body)).verdict == verdict)
    }

    @Test(arguments: [429, 503, 400])
    func `says when to come back`(status: Int) throws {
        let failure = try failure(
            answer(status, json, #"{"error":"temporarily_unavailable"}"#, retryAfter: "30"))
        #expect(failure.verdict == .transient(retryAfterSeconds: 30))
    }

    @Test(arguments: [
        (FetchError.nameNotResolved(host: "h"), soon), (.connectionRefused(host: "h"), soon),
        (.tlsFailed(host: "h", reason: "r"), soon), (.forwardProxyFailed(reason: "r"), soon),
        (.timedOut(mayHaveArrived: true), soon), (.brokenOff(mayHaveArrived: true), soon),
        (.responseTooLarge(limit: 1), soon), (.notHTTP, soon), (.cancelled, soon),
        (.other(code: 1, reason: "r"), soon), (.invalidURL, .misconfigured),
    ])
    func `without an answer says nothing about the login`(
        error: FetchError, verdict: TokenFailure.Verdict
    ) {
        #expect(TokenFailure(error).verdict == verdict)
    }

    @Test func `tells the server's words without what it was sent`() throws {
        let failure = try failure(
            answer(
                200, json,
                #"""
                {"error":"bad_verification_code","error_description":
                "Invalid token canary-RT+1 or canary-RT%2B1 for canary-secret.\r\n\u001b[31mBye\u202e"}
                """#))
        #expect(failure.reason == .code("bad_verification_code"))
        #expect(failure.explanation == "Invalid token [secret] or [secret] for [secret].[31mBye")
        #expect(
            "\(failure)" == """
                the token endpoint answered "bad_verification_code": \
                Invalid token [secret] or [secret] for [secret].[31mBye
                """)
        #expect(!"\(failure)".contains("canary"))
    }

    @Test func `hides a secret that is written oddly`() throws {
        // With an invisible letter within, and where the text is cut.
        let padding = String(repeating: "x", count: 290)
        for words in ["canary-\\u200bRT+1", "canary-R\\u0000T+1", padding + "canary-RT+1"] {
            let failure = try failure(
                answer(400, json, #"{"error":"x","error_description":"\#(words)"}"#))
            #expect(!"\(failure)".contains("canary"), "\(failure)")
        }
    }

    @Test func `is told in a bounded line`() throws {
        let long = String(repeating: "x", count: 5000)
        let failure = try failure(answer(400, form, "error=\(long)&error_description=\(long)"))
        #expect("\(failure)".utf8.count < 800)
    }
}

@Suite struct `A token response without an access token` {
    private func read(
        _ body: String, _ demand: TokenRequest.Demand
    ) -> Result<TokenResponse, TokenFailure> {
        Result { () throws(TokenFailure) in
            var request = TokenRequest(
                endpoint: "https://id.example.com/token", grant: .refresh(SecretBytes("r")),
                client: .none(clientID: "c"))
            request.demand = demand
            return try TokenResponse.read(
                InboundResponse(
                    status: 200, fields: [("Content-Type", "application/json")],
                    body: SecretBytes(body)), to: request, now: WallTime(seconds: 1_700_000_000))
        }
    }

    private func reason(
        _ body: String, _ demand: TokenRequest.Demand
    ) -> TokenFailure.Reason? {
        if case .failure(let failure) = read(body, demand) { failure.reason } else { nil }
    }

    @Test func `F50 is good where the ID token is wanted`() throws {
        let body = #"{"id_token":"e30.e30.c2ln","not_before":1,"refresh_token":"r"}"#
        for demand in [TokenRequest.Demand.idToken, .either] {
            let response = try read(body, demand).get()
            #expect(response.accessToken == nil)
            #expect(response.idToken == SecretBytes("e30.e30.c2ln"))
            #expect(response.oddities.isEmpty)
            #expect(response.withoutIDToken.idToken == nil)
            #expect(response.withoutIDToken.refreshToken == SecretBytes("r"))
        }
        #expect(reason(body, .accessToken) == .missingAccessToken)
    }

    @Test func `F40 names what is missing`() {
        let body = #"{"access_token":"a","token_type":"Bearer"}"#
        #expect(reason(body, .idToken) == .missingIDToken)
        #expect(reason(body, .either) == nil)
        #expect(reason("{}", .either) == .missingAccessToken)
        #expect(reason(#"{"id_token":""}"#, .idToken) == .missingIDToken)
    }
}

@Suite struct `Token answer from a stranger` {
    /// Every byte of three answers replaced by every value: a token that fits a header, or a
    /// failure.
    @Test(arguments: [
        (json, #"{"access_token":"A\u0054","expires_in":"1","error":null,"scope":"a"}"#),
        (form, "access_token=A%54&expires_in=1&scope=a+b"),
        ("text/plain", #"{"error":"invalid_grant","error_description":"\u00e9"}"#),
    ])
    func `is read or refused`(type: String, body: String) {
        let original = Array(body.utf8)
        for index in original.indices {
            for byte in UInt8.min...UInt8.max {
                var bytes = original
                bytes[index] = byte
                let response = InboundResponse(
                    status: 200, fields: [("Content-Type", type)], body: SecretBytes(bytes))
                guard case .success(let token) = readToken(response) else { continue }
                let fits = token.accessToken?.withBytes { bytes in
                    !bytes.isEmpty && bytes.allSatisfy { $0 > 0x20 && $0 < 0x7F }
                }
                if fits != true { Issue.record("byte \(byte) at \(index)") }
            }
        }
    }
}

@Suite struct `No token answer` {
    /// Status, page and log show it to people.
    @Test(arguments: [
        (FetchError.connectionRefused(host: "id.example"), "\"id.example\" refuses the connection"),
        (.timedOut(mayHaveArrived: true), "no answer in time"),
        (.other(code: 1, reason: "something"), "something"),
    ])
    func `is told in words`(error: FetchError, words: String) {
        #expect(TokenFailure(error).description == "the token endpoint gave no answer: \(words)")
    }
}
