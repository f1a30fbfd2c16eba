import Bytes
import Testing
import Vocabulary

@testable import OAuth

@Suite struct `The type of a token (F43)` {
    private func read(
        _ body: String, isBound: Bool
    ) -> Result<TokenResponse, TokenFailure> {
        let request = TokenRequest(
            endpoint: "https://id.example.com/token", grant: .refresh(SecretBytes("RT")),
            client: .none(clientID: "cli"), isBound: isBound)
        let answer = InboundResponse(
            status: 200, fields: [("Content-Type", "application/json")], body: SecretBytes(body))
        return Result { () throws(TokenFailure) in
            try TokenResponse.read(answer, to: request, now: testNow)
        }
    }

    @Test(arguments: ["DPoP", "dpop"])
    func `is DPoP where that was asked for`(type: String) throws {
        let response = try read(
            #"{"access_token":"AT","token_type":"\#(type)"}"#, isBound: true
        ).get()
        #expect(response.tokenType == "DPoP")
        #expect(response.oddities.isEmpty)
    }

    @Test(arguments: [
        #"{"access_token":"AT","token_type":"Bearer"}"#, #"{"access_token":"AT"}"#,
    ])
    func `that is bound to no key is refused where DPoP was asked for`(body: String) throws {
        let failure = try #require(throws: TokenFailure.self) {
            try read(body, isBound: true).get()
        }
        #expect(failure.verdict == .misconfigured)
        #expect(failure.reason == .unboundToken)
    }

    @Test(arguments: [("mac", true), ("mac", false), ("DPoP", false), ("N_A", false)])
    func `that nobody asked for is refused`(type: String, isBound: Bool) throws {
        let failure = try #require(throws: TokenFailure.self) {
            try read(#"{"access_token":"AT","token_type":"\#(type)"}"#, isBound: isBound).get()
        }
        #expect(failure.reason == .unsupportedTokenType(type))
    }

    /// atproto.com/specs/oauth, "DPoP": an answer without a nonce is to be rejected. A refresh's is
    /// kept all the same, since it may be the only copy of a rotated token.
    @Test(
        arguments: [
            (.atproto, false, nil, false), (.atproto, false, "a nonce", false),
            (.atproto, false, "N1", true), (.atproto, true, nil, true),
            (ProviderQuirks(), false, nil, true),
        ] as [(ProviderQuirks, Bool, String?, Bool)])
    func `comes with a nonce at the AT Protocol's servers`(
        quirks: ProviderQuirks, isRefresh: Bool, nonce: String?, isGood: Bool
    ) throws {
        let code = TokenGrant.authorizationCode(
            SecretBytes("C"), redirectURI: "http://127.0.0.1/", verifier: SecretBytes("V"))
        let request = TokenRequest(
            endpoint: "https://id.example.com/token",
            grant: isRefresh ? .refresh(SecretBytes("RT")) : code, client: .none(clientID: "cli"),
            isBound: true, quirks: quirks)
        let fields =
            [("Content-Type", "application/json")] + (nonce.map { [("DPoP-Nonce", $0)] } ?? [])
        let answer = InboundResponse(
            status: 200, fields: fields.map { (name: $0.0, value: $0.1) },
            body: SecretBytes(#"{"access_token":"AT","token_type":"DPoP"}"#))
        let result = Result { () throws(TokenFailure) in
            try TokenResponse.read(answer, to: request, now: testNow)
        }
        switch result {
        case .success: #expect(isGood)
        case .failure(let failure):
            #expect(!isGood)
            #expect(failure.reason == .missingMember("DPoP-Nonce"))
            #expect(failure.verdict == .malformed)
        }
    }

    @Test func `asked for without anything to spend is only the grant's name`() {
        let request = TokenRequest(
            endpoint: "https://id.example.com/token",
            grant: TokenGrant.refresh(SecretBytes("canary-RT"), scopes: ["a"]).hollow,
            client: .none(clientID: "cli"))
        let body = request.outbound.body.map {
            $0.withBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(body == "grant_type=refresh_token&client_id=cli")
    }
}
