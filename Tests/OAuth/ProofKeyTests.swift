import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private func claims(_ field: OutboundRequest.Field?) throws -> JSONObject {
    let text = try #require(field).value.withBytes { String(decoding: $0, as: UTF8.self) }
    let parts = text.split(separator: ".").map(String.init)
    let bytes = try #require(Base64.decode(parts[1], .url))
    let document = try JSONReader.read(text: String(decoding: bytes, as: UTF8.self))
    return try #require(document.asObject)
}

private func response(
    _ status: Int, _ fields: [(name: String, value: String)] = [], _ body: String = ""
) -> InboundResponse {
    InboundResponse(status: status, fields: fields, body: SecretBytes(body))
}

@Suite struct `A proof key` {
    private let key = ProofKey.fresh()
    private let now = WallTime(seconds: 1_700_000_000)

    @Test(arguments: [
        ("https://as.example/token?tenant=x", "https://as.example/token"),
        ("https://as.example", "https://as.example/"),
        ("http://[::1]:8443/a%2Fb?c#d", "http://[::1]:8443/a%2Fb"),
    ])
    func `names the target without query and fragment (F73)`(url: String, target: String) throws {
        let claims = try claims(
            key.field(for: OutboundRequest(.post, url), nonce: "n-1", at: now))
        #expect(claims["htu"]?.asString == target)
        #expect(claims["htm"]?.asString == "POST")
        #expect(claims["nonce"]?.asString == "n-1")
        #expect(claims["iat"]?.asNumber?.asInteger == 1_700_000_000)
        #expect(claims["ath"] == nil)
    }

    @Test func `names the access token of a request to a resource`() throws {
        let claims = try claims(
            key.field(
                for: OutboundRequest(.get, "https://as.example/userinfo"),
                accessToken: SecretBytes("token"), nonce: nil, at: now))
        #expect(
            claims["ath"]?.asString == Base64.encode(Digest.sha256(Array("token".utf8)), .url))
        #expect(claims["nonce"] == nil)
    }

    @Test func `is the same after it was stored, and nothing else can be read as one`() {
        #expect(ProofKey(stored: key.stored)?.thumbprint == key.thumbprint)
        #expect(ProofKey.fresh().thumbprint != key.thumbprint)
        #expect(ProofKey(stored: SecretBytes("junk")) == nil)
        #expect(ProofKey(stored: SigningKey.generate(.edDSA).stored) == nil)
        #expect(ProofKey(stored: SigningKey.generate(.es384).stored) == nil)
    }

    @Test func `does not show itself`() {
        #expect("\(key.stored)" == "[secret]")
        #expect(String(reflecting: key).contains("PRIVATE") == false)
    }
}

@Suite struct `A proof nonce` {
    @Test func `is visible ASCII without quotes, once`() {
        let name = "DPoP-Nonce"
        #expect(ProofNonce.value(in: response(200, [(name, "eyJ7S_zG.~")])) == "eyJ7S_zG.~")
        #expect(ProofNonce.value(in: response(200, [("dpop-nonce", "x")])) == "x")
        for bad in ["", "a b", "a\"b", "a\\b", "\u{e9}", String(repeating: "x", count: 513)] {
            #expect(ProofNonce.value(in: response(200, [(name, bad)])) == nil, "\(bad)")
        }
        #expect(ProofNonce.value(in: response(200, [(name, "a"), (name, "b")])) == nil)
    }

    @Test func `is demanded by an error in a document or by a challenge`() {
        let document = #"{"error":"use_dpop_nonce","error_description":"x"}"#
        #expect(ProofNonce.isDemanded(by: response(400, [], document)))
        let challenge = (name: "WWW-Authenticate", value: #"DPoP error="use_dpop_nonce""#)
        #expect(ProofNonce.isDemanded(by: response(401, [challenge])))
        #expect(!ProofNonce.isDemanded(by: response(200, [], document)))
        #expect(!ProofNonce.isDemanded(by: response(400, [], #"{"error":"invalid_grant"}"#)))
        #expect(!ProofNonce.isDemanded(by: response(503, [], document)))
    }
}
