import Bytes
import Testing

@testable import OAuth

private let redirect = "http://127.0.0.1:49152/callback"

private func wish(
    _ endpoint: String = "https://id.example.com/authorize", scopes: [String] = ["openid", "a:b"],
    extras: [(name: String, value: String)] = []
) -> AuthorizationRequest.Wish {
    .init(
        endpoint: endpoint, clientID: "my cli", redirectURI: redirect, scopes: scopes,
        extras: extras, issuer: "https://id.example.com")
}

private func make(
    _ wish: AuthorizationRequest.Wish
) -> Result<AuthorizationRequest, AuthorizationRequestError> {
    Result { () throws(AuthorizationRequestError) in
        try AuthorizationRequest(
            wish, state: "S+1", nonce: "N1",
            pkce: PKCE(verifier: SecretBytes("dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")))
    }
}

@Suite struct `Authorization request` {
    @Test func `says everything once`() throws {
        let request = try make(wish(extras: [("prompt", "consent"), ("vtr", #"["Cl.Cm"]"#)])).get()
        #expect(
            request.url == """
                https://id.example.com/authorize?response_type=code&client_id=my%20cli\
                &redirect_uri=http%3A%2F%2F127.0.0.1%3A49152%2Fcallback&scope=openid%20a%3Ab\
                &state=S%2B1&nonce=N1&code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM\
                &code_challenge_method=S256&prompt=consent&vtr=%5B%22Cl.Cm%22%5D
                """)
    }

    @Test func `has no nonce without openid and no scope without scopes`() throws {
        let request = try make(wish(scopes: [])).get()
        #expect(request.nonce == nil)
        #expect(!request.url.contains("nonce="))
        #expect(!request.url.contains("scope="))
    }

    @Test(arguments: [
        ("https://a/x?p=b2c_1", "https://a/x?p=b2c_1&response_type=code&"),
        ("https://a/x?", "https://a/x?response_type=code&"),
        ("https://a", "https://a?response_type=code&"),
        ("https://a?p=%26", "https://a?p=%26&response_type=code&"),
    ])
    func `keeps the query of the endpoint`(endpoint: String, start: String) throws {
        #expect(try make(wish(endpoint)).get().url.hasPrefix(start))
    }

    @Test(
        arguments: [
            ("http://id.example.com/a", .insecureEndpoint("http://id.example.com/a")),
            ("https://a/#x", .invalidEndpoint("https://a/#x")),
            ("file:///x", .invalidEndpoint("file:///x")),
            ("https://a/?state=x", .reservedParameter(name: "state")),
            ("https://a/?x=1&x=2", .invalidEndpoint("https://a/?x=1&x=2")),
        ] as [(String, AuthorizationRequestError)])
    func `refuses an endpoint`(endpoint: String, error: AuthorizationRequestError) {
        #expect(throws: error) { try make(wish(endpoint)).get() }
    }

    @Test func `goes to a server on this machine without TLS`() throws {
        #expect((try? make(wish("http://127.0.0.1:1/a")).get()) != nil)
    }

    @Test(arguments: AuthorizationRequest.reservedParameters.sorted())
    func `refuses an extra parameter with a name of the flow's own`(name: String) {
        #expect(throws: AuthorizationRequestError.reservedParameter(name: name)) {
            try make(wish(extras: [(name, "x")])).get()
        }
    }

    @Test func `refuses to say a thing twice`() {
        #expect(throws: AuthorizationRequestError.repeatedParameter(name: "p")) {
            try make(wish("https://a/?p=1", extras: [("p", "2")])).get()
        }
        #expect(throws: AuthorizationRequestError.repeatedParameter(name: "q")) {
            try make(wish(extras: [("q", "1"), ("q", "2")])).get()
        }
    }

    @Test func `is fresh each time`() throws {
        let (one, two) = (
            try AuthorizationRequest.fresh(wish()), try AuthorizationRequest.fresh(wish())
        )
        #expect(one.state != two.state)
        #expect(one.nonce != two.nonce)
        #expect(one.pkce.verifier != two.pkce.verifier)
        #expect(one.state != one.nonce)
        #expect(one.state.utf8.count == 43)
        #expect(!one.url.contains(text(one.pkce.verifier)))
        #expect(!one.url.contains("plain"))
    }
}
