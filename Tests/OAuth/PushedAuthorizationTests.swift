import Bytes
import Testing
import Vocabulary

@testable import OAuth

private let client = ClientAuthentication.post(
    clientID: "my cli", secret: SecretBytes("canary+secret"))

private func request(
    _ endpoint: String = "https://id.example.com/authorize?p=x",
    resources: [String] = [], extras: [(name: String, value: String)] = []
) throws -> AuthorizationRequest {
    var wish = AuthorizationRequest.Wish(
        endpoint: endpoint, clientID: "my cli", redirectURI: "http://127.0.0.1:1/cb",
        scopes: ["api"], extras: extras)
    wish.resources = resources
    return try .fresh(wish)
}

private func post(_ request: AuthorizationRequest) -> FormPost {
    PushedAuthorization.post(request, at: "https://id.example.com/par?p=x", by: client)
}

private func read(_ answer: InboundResponse) throws -> Result<PushedAuthorization, TokenFailure> {
    let post = post(try request())
    return Result { () throws(TokenFailure) in
        try PushedAuthorization.read(answer, to: post, now: testNow)
    }
}

@Suite struct `Pushed authorization request` {
    @Test func `says everything once, with the proof of the client`() throws {
        let request = try request(resources: ["a:1", "a:2"], extras: [("x", "a+b&c")])
        let outbound = post(request).outbound()
        let body = outbound.body.map(text) ?? ""
        #expect(outbound.method == .post)
        #expect(outbound.url == "https://id.example.com/par?p=x")
        #expect(body.hasPrefix("response_type=code&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&"))
        #expect(body.contains("&x=a%2Bb%26c&resource=a%3A1&resource=a%3A2&client_id=my+cli"))
        #expect(body.hasSuffix("&client_secret=canary%2Bsecret"))
        #expect(body.split(separator: "&").filter { $0.hasPrefix("client_id=") }.count == 1)
    }

    @Test func `leaves client and reference in the browser, and the endpoint's query`() throws {
        let pushed = try request(resources: ["a:1"]).pushed(as: "urn:a+b&c")
        #expect(
            pushed.url
                == "https://id.example.com/authorize?p=x&client_id=my%20cli&request_uri=urn%3Aa%2Bb%26c"
        )
    }

    @Test func `is answered with a reference`() throws {
        let json = "application/json"
        let good = #"{"request_uri":"urn:1","expires_in":90}"#
        for status in [200, 201] {
            let pushed = try read(answer(status, json, good)).get()
            #expect(pushed.requestURI == "urn:1")
            #expect(pushed.expiresInSeconds == 90)
        }
        for (lifetime, seconds) in [("\"30\"", 30), ("-1", 1), ("null", 60), ("[]", 60)] {
            let body = #"{"request_uri":"urn:1","expires_in":\#(lifetime)}"#
            #expect(try read(answer(201, json, body)).get().expiresInSeconds == Int64(seconds))
        }
        for count in 0..<good.utf8.count {
            let cut = String(decoding: good.utf8.prefix(count), as: UTF8.self)
            #expect(throws: TokenFailure.self) { try read(answer(201, json, cut)).get() }
        }
        let long = #"{"request_uri":"\#(String(repeating: "a", count: 3000))"}"#
        for body in [
            #"{"request_uri":""}"#, #"{"request_uri":"a\nb"}"#, #"{"request_uri":1}"#, long,
        ] {
            #expect(throws: TokenFailure.self) { try read(answer(201, json, body)).get() }
        }
    }

    @Test(
        arguments: [
            (400, #"{"error":"invalid_request"}"#, .misconfigured),
            (401, #"{"error":"invalid_client"}"#, .misconfigured),
            (405, "", .misconfigured), (413, "<html>", .misconfigured),
            (429, "", .transient(retryAfterSeconds: 7)),
            (503, "", .transient(retryAfterSeconds: 7)),
            (200, #"{"error":"access_denied"}"#, .denied),
        ] as [(Int, String, TokenFailure.Verdict)])
    func `fails as a token request does`(
        status: Int, body: String, verdict: TokenFailure.Verdict
    ) throws {
        let result = try read(answer(status, "application/json", body, retryAfter: "7"))
        guard case .failure(let error) = result else {
            Issue.record("accepted")
            return
        }
        let failure = PushedAuthorization.failure(error)
        #expect(failure.verdict == verdict)
        #expect(failure.description.contains("the pushed authorization request endpoint"))
    }

    @Test func `hides what it sent`() throws {
        let body = #"{"error":"x","error_description":"no canary+secret here"}"#
        guard case .failure(let failure) = try read(answer(400, "application/json", body)) else {
            return
        }
        #expect(!failure.description.contains("canary"))
    }

    @Test func `takes no resource twice over`() throws {
        for extras in [[("resource", "a:2")], []] {
            let endpoint = extras.isEmpty ? "https://a/x?resource=a:2" : "https://a/x"
            #expect(throws: AuthorizationRequestError.repeatedParameter(name: "resource")) {
                try request(endpoint, resources: ["a:1"], extras: extras)
            }
        }
    }
}

@Suite struct `Parameters by key` {
    @Test func `are sent in one order, and only where they are set`() {
        var settings = AuthorizationSettings()
        #expect(settings.parameters.isEmpty)
        settings.vectorsOfTrust = ["Cl.Cm", "a\"b"]
        settings.locales = ["cy", "en"]
        settings.loginHint = "ann"
        settings.prompts = ["login", "consent"]
        settings.audience = "aud"
        settings.contextClasses = ["phr"]
        settings.maxAgeSeconds = 0
        settings.responseMode = "query"
        settings.resources = ["a:1"]
        #expect(
            settings.parameters.map { "\($0.name)=\($0.value)" } == [
                "response_mode=query", "audience=aud", "login_hint=ann", "prompt=login consent",
                "ui_locales=cy en", "acr_values=phr", "max_age=0", #"vtr=["Cl.Cm","a\"b"]"#,
            ])
    }
}
