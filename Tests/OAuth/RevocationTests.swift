import Bytes
import Testing
import Vocabulary

@testable import OAuth

private let token = SecretBytes("canary/token+1")

private func post(_ client: ClientAuthentication = .none(clientID: "cli")) -> FormPost {
    Revocation.post(token, .refreshToken, at: "https://id.example.com/revoke", by: client)
}

private func read(_ answer: InboundResponse) -> Revocation.Outcome {
    Revocation.read(answer, token: token, to: post(), now: testNow)
}

@Suite struct `Revocation request` {
    @Test func `names the token, its kind and the client`() {
        let body = post().outbound().body.map(text)
        #expect(body == "token=canary%2Ftoken%2B1&token_type_hint=refresh_token&client_id=cli")
        let basic = post(.basic(clientID: "cli", secret: SecretBytes("s"))).outbound()
        #expect(basic.body.map(text)?.contains("client_id") == false)
        #expect(basic.fields.contains { $0.name == "Authorization" })
    }

    @Test(arguments: [
        (200, ""), (200, "{\"error\":\"whatever\"}"), (200, "<html>"), (204, ""),
        (400, #"{"error":"invalid_token"}"#),
    ])
    func `succeeds for a token that is gone`(status: Int, body: String) {
        guard case .revoked = read(answer(status, "application/json", body)) else {
            Issue.record("\(status) \(body)")
            return
        }
    }

    @Test func `knows kinds that are not revoked`() {
        let body = #"{"error":"unsupported_token_type"}"#
        guard case .unsupported = read(answer(400, "application/json", body)) else {
            Issue.record("not unsupported")
            return
        }
    }

    @Test(arguments: [408, 429, 500, 502, 503]) func `may be tried again later`(status: Int) {
        let body = #"{"error":"invalid_client"}"#
        let result = read(answer(status, "application/json", body, retryAfter: "3"))
        guard case .later(retryAfterSeconds: 3, let failure) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(failure.description.contains("the revocation endpoint"))
    }

    @Test func `fails for what no waiting mends, and hides what it sent`() {
        let body = #"{"error":"invalid_client","error_description":"not canary/token+1"}"#
        guard case .failed(let failure) = read(answer(401, "application/json", body)) else {
            Issue.record("not failed")
            return
        }
        #expect(failure.verdict == .misconfigured)
        #expect(!failure.description.contains("canary"))
        guard case .failed = Revocation.outcome(of: TokenFailure(.invalidURL)) else {
            Issue.record("a URL that is none may be tried again")
            return
        }
    }
}

@Suite struct `End of session` {
    private func request(
        _ endpoint: String = "https://id.example.com/bye", hint: String? = nil,
        redirect: String? = nil, locales: [String] = []
    ) throws -> EndSessionRequest {
        try EndSessionRequest(
            endpoint: endpoint, hint: hint.map { SecretBytes($0) }, clientID: "my cli",
            redirectURI: redirect, locales: locales)
    }

    @Test func `says who logs out, and no more than it must (F83)`() throws {
        #expect(
            text(try request(hint: "a.b+/c").url)
                == "https://id.example.com/bye?id_token_hint=a.b%2B%2Fc&client_id=my+cli")
        #expect(
            text(try request("https://a/?p=x", locales: ["cy", "en"]).url)
                == "https://a/?p=x&client_id=my+cli&ui_locales=cy+en")
        for own in ["client_id=c", "client_id=c&p=x", "client%5Fid=c"] {
            let endpoint = "https://a/?\(own)"
            #expect(text(try request(endpoint).url) == endpoint)
            #expect(text(try request(endpoint, hint: "h").url) == endpoint + "&id_token_hint=h")
        }
        #expect(
            text(try request("https://a/?not_client_id=c").url)
                == "https://a/?not_client_id=c&client_id=my+cli")
        let back = try request(redirect: "http://127.0.0.1:1/bye")
        let state = try #require(back.state)
        #expect(
            text(back.url)
                == "https://id.example.com/bye?client_id=my+cli&post_logout_redirect_uri="
                + "http%3A%2F%2F127.0.0.1%3A1%2Fbye&state=\(state)")
        #expect(try request(redirect: "http://127.0.0.1:1/bye").state != state)
    }

    @Test func `goes nowhere in the clear`() {
        #expect(throws: AuthorizationRequestError.insecureEndpoint("http://a.example/")) {
            try request("http://a.example/")
        }
        for endpoint in ["https://a/#b", "file:///x", "", "https://a/?p=1&p=2"] {
            #expect(throws: AuthorizationRequestError.invalidEndpoint(endpoint)) {
                try request(endpoint)
            }
        }
    }

    @Test func `judges what comes back`() throws {
        let request = try request(redirect: "http://127.0.0.1:1/bye")
        func judged(_ query: String) -> EndSessionAnswer {
            Array(query.utf8).withUnsafeBytes { request.read(answer: $0) }
        }
        let state = try #require(request.state)
        #expect(judged("state=\(state)") == .good)
        #expect(judged("x=y&state=\(state)") == .good)
        #expect(judged("") == .withoutState)
        #expect(judged("x=y") == .withoutState)
        #expect(judged("state=") == .otherState)
        for count in 1..<state.utf8.count {
            #expect(judged("state=\(state.prefix(count))") == .otherState)
        }
        #expect(judged("state=\(state)&state=\(state)") == .unreadable)
        #expect(judged("state=%zz") == .unreadable)
    }
}
