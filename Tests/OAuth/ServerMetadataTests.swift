import Bytes
import Testing
import Vocabulary

@testable import OAuth

private func urls(_ issuer: String) -> Result<[String], MetadataError> {
    Result { () throws(MetadataError) in try ServerMetadata.wellKnownURLs(for: issuer) }
}

private func read(
    _ body: String, status: Int = 200, issuer: String = "https://id.example.com"
) -> Result<ServerMetadata, MetadataError> {
    Result { () throws(MetadataError) in
        try ServerMetadata.read(
            InboundResponse(status: status, body: SecretBytes(body)), issuer: issuer)
    }
}

private func endpoint(
    _ url: String, issuer: String = "https://id.example.com"
) throws -> Result<String, MetadataError> {
    let metadata = try read(#"{"issuer":"\#(issuer)","token_endpoint":"\#(url)"}"#, issuer: issuer)
        .get()
    return Result { () throws(MetadataError) in try metadata.url(of: .token) }
}

@Suite struct `Server metadata` {
    @Test(arguments: [
        (
            "https://id.example.com",
            [
                "https://id.example.com/.well-known/oauth-authorization-server",
                "https://id.example.com/.well-known/openid-configuration",
            ]
        ),
        (
            "https://id.example.com/",
            [
                "https://id.example.com/.well-known/oauth-authorization-server",
                "https://id.example.com/.well-known/openid-configuration",
            ]
        ),
        (
            "https://ID.example.com:8443/tenant1",
            [
                "https://ID.example.com:8443/.well-known/oauth-authorization-server/tenant1",
                "https://ID.example.com:8443/.well-known/openid-configuration/tenant1",
                "https://ID.example.com:8443/tenant1/.well-known/openid-configuration",
            ]
        ),
        (
            "https://id.example.com/app/x/",
            [
                "https://id.example.com/.well-known/oauth-authorization-server/app/x",
                "https://id.example.com/.well-known/openid-configuration/app/x",
                "https://id.example.com/app/x/.well-known/openid-configuration",
            ]
        ),
        (
            "https://id.example.com/t?p=b2c",
            [
                "https://id.example.com/.well-known/oauth-authorization-server/t?p=b2c",
                "https://id.example.com/.well-known/openid-configuration/t?p=b2c",
                "https://id.example.com/t/.well-known/openid-configuration?p=b2c",
            ]
        ),
    ])
    func `is looked for in a fixed order`(issuer: String, expected: [String]) {
        #expect(urls(issuer) == .success(expected))
    }

    @Test(
        arguments: [
            ("http://id.example.com", .insecureIssuer("http://id.example.com")),
            ("id", .invalidIssuer("id")),
            ("https://id.example.com/#x", .invalidIssuer("https://id.example.com/#x")),
            ("https://u@id.example.com", .invalidIssuer("https://u@id.example.com")),
        ] as [(String, MetadataError)])
    func `is not looked for at a wrong issuer`(issuer: String, error: MetadataError) {
        #expect(urls(issuer) == .failure(error))
    }

    @Test func `on this machine needs no TLS`() {
        #expect(urls("http://127.0.0.1:4600").map(\.count) == .success(2))
    }

    @Test func `needs no more than an issuer`() throws {
        let metadata = try read(#"{"issuer":"https://id.example.com"}"#).get()
        #expect(metadata.clientAuthenticationMethods == nil)
        #expect(metadata.codeChallengeMethods == nil)
        #expect(!metadata.promisesIssuer)
        #expect(!metadata.has(.token))
        #expect(throws: MetadataError.missingEndpoint(name: "token_endpoint")) {
            try metadata.url(of: .token)
        }
    }

    @Test func `tells what the server supports and keeps what nobody asked for`() throws {
        let metadata = try read(
            """
            {"issuer":"https://id.example.com","token_endpoint":"https://id.example.com/t?x=1",
             "token_endpoint_auth_methods_supported":["none",7,"client_secret_post"],
             "code_challenge_methods_supported":["S256"],"scopes_supported":["a"],
             "grant_types_supported":"wrong",
             "authorization_response_iss_parameter_supported":true,"x":{"y":1.50}}
            """
        ).get()
        #expect(metadata.clientAuthenticationMethods == ["none", "client_secret_post"])
        #expect(metadata.codeChallengeMethods == ["S256"])
        #expect(metadata.scopes == ["a"])
        #expect(metadata.grantTypes == nil)
        #expect(metadata.promisesIssuer)
        #expect(try metadata.url(of: .token) == "https://id.example.com/t?x=1")
        #expect(JSONWriter.redactedText(.object(metadata.document)).contains(#""x":{"y":1.50}"#))
        let kept = try ServerMetadata(document: metadata.document, issuer: "https://id.example.com")
        #expect(kept.promisesIssuer)
    }

    @Test(arguments: ["https://id.example.com/app/x/", "https://id.example.com/app/x"])
    func `names the issuer byte by byte`(issuer: String) {
        #expect((try? read(#"{"issuer":"\#(issuer)"}"#, issuer: issuer).get()) != nil)
        for other in [issuer + "/", String(issuer.dropLast()), issuer.uppercased(), ""] {
            guard case .failure(let error) = read(#"{"issuer":"\#(other)"}"#, issuer: issuer) else {
                Issue.record("accepted \(other)")
                continue
            }
            #expect(error == .issuerMismatch(expected: issuer, received: other))
            #expect(error.mayBeElsewhere)
        }
    }

    @Test(
        arguments: [
            (404, "{}", .notHere(status: 404)), (401, "", .notHere(status: 401)),
            (403, "", .notHere(status: 403)),
            (405, "", .notHere(status: 405)), (302, "", .notHere(status: 302)),
            (204, "", .notHere(status: 204)),
            (503, "", .unavailable(status: 503)), (429, "", .unavailable(status: 429)),
            (200, "<html>", .unreadable), (200, "", .unreadable), (200, "[]", .unreadable),
            (200, "{}", .unreadable), (200, #"{"issuer":7}"#, .unreadable),
        ] as [(Int, String, MetadataError)])
    func `may be elsewhere`(status: Int, body: String, error: MetadataError) {
        guard case .failure(let failure) = read(body, status: status) else {
            Issue.record("accepted")
            return
        }
        #expect(failure == error)
        #expect(failure.mayBeElsewhere)
    }

    @Test(
        arguments: [
            (
                "http://id.example.com/t",
                .insecureEndpoint(name: "token_endpoint", url: "http://id.example.com/t")
            ),
            (
                "http://127.0.0.1:1/t",
                .insecureEndpoint(name: "token_endpoint", url: "http://127.0.0.1:1/t")
            ),
            (
                "file:///etc/passwd",
                .invalidEndpoint(name: "token_endpoint", url: "file:///etc/passwd")
            ),
            (
                "https://id.example.com/t#x",
                .invalidEndpoint(name: "token_endpoint", url: "https://id.example.com/t#x")
            ),
            ("/t", .invalidEndpoint(name: "token_endpoint", url: "/t")),
            ("", .invalidEndpoint(name: "token_endpoint", url: "")),
        ] as [(String, MetadataError)])
    func `points at nothing unsafe`(url: String, error: MetadataError) throws {
        #expect(try endpoint(url) == .failure(error))
    }

    @Test func `on this machine points at this machine or at TLS`() throws {
        let issuer = "http://127.0.0.1:4600"
        for url in ["http://127.0.0.1:4600/t", "http://localhost:1/t", "https://other.example/t"] {
            #expect(try endpoint(url, issuer: issuer) == .success(url))
        }
        let url = "http://other.example/t"
        #expect(
            try endpoint(url, issuer: issuer)
                == .failure(.insecureEndpoint(name: "token_endpoint", url: url)))
    }

    @Test func `a wrong endpoint that nobody uses stops nobody`() throws {
        let metadata = try read(
            """
            {"issuer":"https://id.example.com","token_endpoint":"https://id.example.com/t",
             "registration_endpoint":7,"jwks_uri":"http://insecure.example"}
            """
        ).get()
        #expect(try metadata.url(of: .token) == "https://id.example.com/t")
        #expect(throws: MetadataError.missingEndpoint(name: "registration_endpoint")) {
            try metadata.url(of: .registration)
        }
    }
}
