import Bytes
import Testing
import Vocabulary

@testable import OAuth

private let asked = ["http://127.0.0.1:20001/callback", "http://127.0.0.1/callback"]
private let now = WallTime(seconds: 1_000_000)

private func request(
    _ form: RegistrationSettings.Form = .dynamic, token: SecretBytes? = nil
) -> RegistrationRequest {
    RegistrationRequest(
        endpoint: "https://id.example.com/register", form: form, clientName: "Cli & Co",
        redirectURIs: asked, scopes: ["a", "b"], initialAccessToken: token)
}

private func read(
    _ body: String, status: Int = 201, fields: [(name: String, value: String)] = [],
    token: SecretBytes? = nil
) -> Result<RegisteredClient, RegistrationError> {
    Result { () throws(RegistrationError) in
        try RegisteredClient.read(
            InboundResponse(status: status, fields: fields, body: SecretBytes(body)),
            to: request(token: token), now: now)
    }
}

private func text(_ secret: SecretBytes?) -> String? {
    secret.map { $0.withBytes { String(decoding: $0, as: UTF8.self) } }
}

@Suite struct `Client registration` {
    @Test func `asks for a native client (F77)`() throws {
        let outbound = request(token: SecretBytes("initial")).outbound
        #expect(outbound.method == .post)
        #expect(outbound.url == "https://id.example.com/register")
        let fields = Dictionary(
            uniqueKeysWithValues: outbound.fields.map { ($0.name, text($0.value)) })
        #expect(fields["Content-Type"] == "application/json")
        #expect(fields["Authorization"] == "Bearer initial")
        let body = try #require(outbound.body)
        let document = try #require(try JSONReader.read(body, strings: .plain).asObject)
        #expect(document["application_type"] == "native")
        #expect(document["client_name"] == "Cli & Co")
        #expect(document["redirect_uris"] == .array(asked.map { .string($0) }))
        #expect(document["grant_types"] == ["authorization_code", "refresh_token"])
        #expect(document["response_types"] == ["code"])
        #expect(document["token_endpoint_auth_method"] == "none")
        #expect(document["scope"] == "a b")
    }

    @Test func `is a form at Mastodon (F80)`() throws {
        let outbound = request(.mastodon).outbound
        #expect(
            text(outbound.body)
                == "client_name=Cli+%26+Co&redirect_uris=http%3A%2F%2F127.0.0.1%3A20001%2Fcallback"
                + "%0Ahttp%3A%2F%2F127.0.0.1%2Fcallback&scopes=a+b")
        #expect(!outbound.fields.contains { $0.name == "Authorization" })
    }

    @Test(
        arguments: [
            (nil, OAuthSettings.ClientAuthentication.none),
            (["client_secret_basic", "none"], OAuthSettings.ClientAuthentication.none),
            (["client_secret_post", "client_secret_basic"], .basic),
            (["client_secret_post"], .post),
            (["private_key_jwt", "tls_client_auth"], nil), ([], nil),
        ] as [([String]?, OAuthSettings.ClientAuthentication?)])
    func `asks for what the server supports (I43, I69)`(
        supported: [String]?, method: OAuthSettings.ClientAuthentication?
    ) {
        #expect(RegistrationRequest.method(supported: supported) == method)
    }

    @Test(arguments: [200, 201]) func `is done with either status`(status: Int) throws {
        let client = try read(#"{"client_id":"c1"}"#, status: status).get()
        #expect(client.clientID == "c1")
        #expect(client.secret == nil)
        #expect(client.method == OAuthSettings.ClientAuthentication.none)
        #expect(client.redirectURIs == asked)
        #expect(client.isUsable(at: WallTime(seconds: .max)))
    }

    @Test(arguments: ["0", "null", #""0""#, "-5", "\"soon\"", "[]"])
    func `with a secret that never expires`(expiry: String) throws {
        let client = try read(
            #"{"client_id":"c1","client_secret":"s3","client_secret_expires_at":\#(expiry)}"#
        ).get()
        #expect(text(client.secret) == "s3")
        #expect(client.secretExpiresAt == nil)
        #expect(client.method == .basic)
        #expect(client.isUsable(at: WallTime(seconds: .max)))
    }

    @Test func `with a secret that expires is used until then`() throws {
        let client = try read(
            #"{"client_id":"c1","client_secret":"s3","client_secret_expires_at":1002000}"#
        ).get()
        #expect(client.isUsable(at: now))
        #expect(client.isUsable(at: WallTime(seconds: 1_001_939)))
        #expect(!client.isUsable(at: WallTime(seconds: 1_001_940)))
        #expect(!client.isUsable(at: WallTime(seconds: .max)))
    }

    @Test func `with a secret that has expired is none`() {
        guard
            case .failure(.expired) = read(
                #"{"client_id":"c1","client_secret":"s3","client_secret_expires_at":999999}"#)
        else {
            Issue.record("accepted")
            return
        }
    }

    @Test func `is what the server made of it`() throws {
        let client = try read(
            #"""
            {"client_id":"c1","client_secret":"s3","client_secret_expires_at":0,
             "token_endpoint_auth_method":"client_secret_post","client_name":"other",
             "redirect_uris":["http://127.0.0.1/callback","https://else.example"]}
            """#
        ).get()
        #expect(client.method == .post)
        #expect(client.redirectURIs == ["http://127.0.0.1/callback"])
        let kept = try RegisteredClient(document: client.document, asked: asked)
        #expect(kept.clientID == "c1")
        #expect(kept.secret == client.secret)
        #expect(kept.redirectURIs == client.redirectURIs)
    }

    @Test func `reads an app of Mastodon's`() throws {
        let client = try read(
            #"""
            {"id":"563419","name":"Cli & Co","website":null,
             "redirect_uri":"http://127.0.0.1:20001/callback\nhttp://127.0.0.1/callback",
             "client_id":"TWhM","client_secret":"ZEaF","vapid_key":"BCk-"}
            """#, status: 200
        ).get()
        #expect(client.clientID == "TWhM")
        #expect(text(client.secret) == "ZEaF")
        #expect(client.redirectURIs == asked)
    }

    @Test(
        arguments: [
            (#"{"client_id":""}"#, .missing("client_id")), (#"{}"#, .missing("client_id")),
            (#"{"client_id":7}"#, .missing("client_id")),
            (#"{"client_id":"a\nb"}"#, .missing("client_id")),
            (
                #"{"client_id":"c","token_endpoint_auth_method":"private_key_jwt"}"#,
                .unsupportedMethod("private_key_jwt")
            ),
            (
                #"{"client_id":"c","token_endpoint_auth_method":"client_secret_basic"}"#,
                .missing("client_secret")
            ),
            (
                #"{"client_id":"c","redirect_uris":["https://else.example"]}"#,
                .redirectChanged(["https://else.example"])
            ),
            ("", .unreadable(status: 201)), ("<html>", .unreadable(status: 201)),
            ("[]", .unreadable(status: 201)),
        ] as [(String, RegistrationError)])
    func `that is of no use is an error`(body: String, error: RegistrationError) {
        guard case .failure(let failure) = read(body) else {
            Issue.record("accepted")
            return
        }
        #expect(failure == error)
    }

    @Test(
        arguments: [
            (400, "invalid_redirect_uri", .rejected), (400, "invalid_client_metadata", .rejected),
            (400, "invalid_software_statement", .rejected),
            (400, "unapproved_software_statement", .rejected),
            (422, "Validation failed", .rejected), (200, "invalid_client_metadata", .rejected),
            (401, "invalid_token", .notAllowed), (403, "access_denied", .notAllowed),
            (404, "not_found", .absent), (405, "x", .absent),
        ] as [(Int, String, RegistrationError.Kind)])
    func `may be refused`(status: Int, code: String, kind: RegistrationError.Kind) {
        let body = #"{"error":"\#(code)","error_description":"because"}"#
        guard case .failure(let failure) = read(body, status: status) else {
            Issue.record("accepted")
            return
        }
        #expect(failure == .refused(kind, code: code, explanation: "because", status: status))
        #expect(failure.message.contains("\"\(code)\": because"))
        #expect(failure.hint != nil)
    }

    @Test(arguments: [429, 500, 503, 408]) func `may be possible later`(status: Int) {
        let failure = read(#"{"error":"x"}"#, status: status, fields: [("Retry-After", "7")])
        guard case .failure(.unavailable(status, retryAfterSeconds: 7)) = failure else {
            Issue.record("\(failure)")
            return
        }
    }

    @Test func `repeats no secret`() {
        let failure = read(
            #"{"error":"invalid_token","error_description":"canary-token is wrong"}"#, status: 401,
            token: SecretBytes("canary-token"))
        guard case .failure(let error) = failure else {
            Issue.record("accepted")
            return
        }
        #expect(!error.message.contains("canary"))
        #expect(error.message.contains("[secret] is wrong"))
    }

    @Test func `is an error at every length but the last`() {
        let body = #"{"client_id":"c1","client_secret":"s3","client_secret_expires_at":0}"#
        for count in 0..<body.utf8.count {
            guard case .failure = read(String(body.prefix(count))) else {
                Issue.record("accepted \(count) bytes")
                continue
            }
        }
        #expect((try? read(body).get()) != nil)
    }
}

@Suite struct `A client's document` {
    private static let url = "https://me.example/client.json"
    private static let redirect = "http://127.0.0.1/callback"

    private func check(
        _ body: String, status: Int = 200, redirect: String = redirect
    ) -> ClientDocumentError? {
        do throws(ClientDocumentError) {
            try ClientDocument.check(
                InboundResponse(status: status, body: SecretBytes(body)), url: Self.url,
                redirectURI: redirect)
            return nil
        } catch {
            return error
        }
    }

    private static func body(_ more: String = "", id: String = url, uri: String = redirect)
        -> String
    {
        #"{"client_id":"\#(id)","redirect_uris":["\#(uri)"]\#(more)}"#
    }

    @Test func `names its own URL and our callback, whatever the port (F79)`() {
        #expect(check(Self.body()) == nil)
        #expect(check(Self.body(), redirect: "http://127.0.0.1:8123/callback") == nil)
        #expect(check(Self.body(#","token_endpoint_auth_method":"none""#)) == nil)
    }

    @Test(
        arguments: [
            (body(id: url + "/"), 200, .otherClient(url + "/")),
            (body(id: "x"), 200, .otherClient("x")),
            (body(uri: "http://localhost/callback"), 200, .redirectMissing(redirect)),
            (body(uri: "http://127.0.0.1/other"), 200, .redirectMissing(redirect)),
            (#"{"client_id":"\#(url)"}"#, 200, .redirectMissing(redirect)),
            (body(), 404, .notHere(status: 404)), (body(), 302, .notHere(status: 302)),
            ("<html>", 200, .unreadable), ("{}", 200, .unreadable),
            (
                body(#","token_endpoint_auth_method":"client_secret_basic""#), 200,
                .sharedSecret("client_secret_basic")
            ),
        ] as [(String, Int, ClientDocumentError)])
    func `is refused otherwise`(body: String, status: Int, error: ClientDocumentError) {
        #expect(check(body, status: status) == error)
        #expect(!error.message.isEmpty)
    }

    @Test(arguments: [
        "http://me.example/client.json", "https://me.example", "https://me.example/",
        "https://me.example/a/../b", "https://me.example/./b", "https://me.example/c#x",
        "https://u:p@me.example/c", "client",
    ])
    func `needs a URL of its own`(url: String) {
        #expect(throws: ClientDocumentError.invalidURL) { try ClientDocument.request(url) }
    }

    @Test func `is told from other names by its URL`() {
        #expect(ClientDocument.isURL(Self.url))
        for name in ["my-cli", "http://me.example/c", "https://me.example", "https://me.example/"] {
            #expect(!ClientDocument.isURL(name))
        }
    }
}
