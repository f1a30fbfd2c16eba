import Bytes
import Testing
import Vocabulary

@testable import OAuth

private func sent(
    _ client: ClientAuthentication, grant: TokenGrant = .refresh(SecretBytes("RT+1")),
    extras: [(name: String, value: String)] = []
) -> (body: String, authorization: String?, request: OutboundRequest) {
    let request = TokenRequest(
        endpoint: "https://id.example.com/token?p=x", grant: grant, client: client,
        additions: FormAdditions(parameters: extras.map { FormParameter($0.name, $0.value) })
    ).outbound
    let field = request.fields.first { $0.name == "Authorization" }
    return (request.body.map(text) ?? "", field.map { text($0.value) }, request)
}

@Suite struct `Token request` {
    @Test func `is a form and never a query`() {
        let (body, authorization, request) = sent(.none(clientID: "my cli"))
        #expect(body == "grant_type=refresh_token&refresh_token=RT%2B1&client_id=my+cli")
        #expect(authorization == nil)
        #expect(request.method == .post)
        #expect(request.url == "https://id.example.com/token?p=x")
        let fields = request.fields.map { "\($0.name): \(text($0.value))" }
        #expect(
            fields == [
                "Content-Type: application/x-www-form-urlencoded", "Accept: application/json",
            ])
        #expect(request.timeoutMilliseconds >= 30_000)
    }

    @Test func `exchanges a code with the redirect URI that was sent`() {
        let grant = TokenGrant.authorizationCode(
            SecretBytes("C/1"), redirectURI: "http://127.0.0.1:1/cb", verifier: SecretBytes("V"))
        #expect(
            sent(.none(clientID: "c"), grant: grant).body == """
                grant_type=authorization_code&code=C%2F1&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb\
                &code_verifier=V&client_id=c
                """)
    }

    @Test func `form-encodes name and secret before Basic`() {
        let client = ClientAuthentication.basic(
            clientID: "1P/G 1", secret: SecretBytes("z+t:%&\u{E9}="))
        let (body, authorization, _) = sent(client)
        // base64("1P%2FG+1:z%2Bt%3A%25%26%C3%A9%3D")
        #expect(authorization == "Basic MVAlMkZHKzE6eiUyQnQlM0ElMjUlMjYlQzMlQTklM0Q=")
        #expect(body == "grant_type=refresh_token&refresh_token=RT%2B1")
    }

    @Test func `sends the secret in the body or in the head, never in both`() {
        let (body, authorization, _) = sent(.post(clientID: "c", secret: SecretBytes("a$b")))
        #expect(authorization == nil)
        #expect(body.hasSuffix("&client_id=c&client_secret=a%24b"))
    }

    @Test func `repeats what the client sends with every request`() {
        let (body, _, _) = sent(
            .none(clientID: "c"),
            extras: [
                ("resource", "https://api.example.com/mcp"), ("audience", "a b"),
                ("client_id", "other"), ("client_secret", "x"), ("refresh_token", "x"),
            ])
        #expect(
            body.hasSuffix("&client_id=c&resource=https%3A%2F%2Fapi.example.com%2Fmcp&audience=a+b")
        )
        #expect(!body.contains("other"))
        #expect(!body.contains("secret"))
    }

    @Test func `names scopes on a refresh only when asked to`() {
        let grant = TokenGrant.refresh(SecretBytes("R"), scopes: ["a", "b"])
        #expect(sent(.none(clientID: "c"), grant: grant).body.contains("&scope=a+b&"))
        #expect(!sent(.none(clientID: "c")).body.contains("scope"))
    }
}

@Suite struct `Client authentication` {
    private typealias Method = OAuthSettings.ClientAuthentication

    @Test func `follows the configuration, then the server, then the RFC`() {
        // C093: what the server lists is respected, and it is one method.
        func choose(
            _ method: Method?, _ supported: [String]?, hasSecret: Bool = true
        ) -> Method {
            .chosen(configured: method, hasSecret: hasSecret, supported: supported)
        }
        #expect(choose(nil, nil) == .basic)
        #expect(choose(nil, []) == .basic)
        #expect(choose(nil, ["client_secret_post", "client_secret_basic"]) == .basic)
        #expect(choose(nil, ["client_secret_post", "private_key_jwt"]) == .post)
        #expect(choose(nil, ["client_secret_jwt", "private_key_jwt"]) == .secretJWT)
        #expect(choose(.post, ["client_secret_basic"]) == .post)
        #expect(choose(.basic, ["client_secret_post"]) == .basic)
        #expect(choose(Method.none, nil) == .none)
        #expect(choose(nil, nil, hasSecret: false) == .none)
        #expect(choose(.basic, nil, hasSecret: false) == .none)
    }

    @Test func `prefers what was given besides a secret`() {
        #expect(Method.chosen(hasSecret: true, hasKey: true) == .privateKeyJWT)
        #expect(Method.chosen(hasSecret: false, hasKey: true, supported: []) == .privateKeyJWT)
        #expect(Method.chosen(hasSecret: true, hasCertificate: true) == .basic)
        #expect(Method.chosen(hasSecret: false, hasCertificate: true) == .tls)
        #expect(
            Method.chosen(
                hasSecret: false, hasCertificate: true, supported: ["self_signed_tls_client_auth"])
                == .selfSignedTLS)
        #expect(
            Method.chosen(configured: .tls, hasSecret: true, hasCertificate: true) == .tls)
    }

    @Test func `with an assertion names the client and nothing that it could be guessed from`() {
        let (body, authorization, _) = sent(
            .assertion(clientID: "c", SecretBytes("h.c.s")))
        #expect(authorization == nil)
        #expect(
            body.hasSuffix(
                "&client_id=c&client_assertion_type="
                    + "urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer"
                    + "&client_assertion=h.c.s"))
    }

    @Test func `is left out for a client without a name`() {
        #expect(!sent(.none(clientID: "")).body.contains("client_id"))
    }
}
