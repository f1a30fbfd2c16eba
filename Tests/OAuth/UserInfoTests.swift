import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private let policy = IDTokenPolicy(
    issuer: "https://id.example.com", clientID: "cli", keys: .set(TestKeys.set))

private func read(
    _ body: SecretBytes, type: String = "application/json", status: Int = 200,
    fields: [(String, String)] = [], policy: IDTokenPolicy = policy
) -> Result<UserInfo, UserInfoError> {
    Result { () throws(UserInfoError) in
        try UserInfo.read(
            InboundResponse(
                status: status, fields: [("Content-Type", type)] + fields, body: body),
            subject: "u1", policy: policy)
    }
}

private func error(
    _ body: String, type: String = "application/json", status: Int = 200,
    fields: [(String, String)] = []
) -> UserInfoError? {
    if case .failure(let error) = read(
        SecretBytes(body), type: type, status: status, fields: fields)
    {
        error
    } else {
        nil
    }
}

@Suite struct `Userinfo` {
    @Test(arguments: ["application/json", "application/json; charset=utf-8", "text/plain", ""])
    func `in JSON is read whatever the type says`(type: String) throws {
        let info = try read(SecretBytes(#"{"sub":"u1","email":"a@b"}"#), type: type).get()
        #expect(info.claims["email"] == "a@b")
        #expect(!info.isSigned)
    }

    @Test func `F48 of another person is not used`() {
        #expect(error(#"{"sub":"u2"}"#) == .otherSubject)
        #expect(error(#"{"sub":"U1"}"#) == .otherSubject)
        #expect(error(#"{"email":"a@b"}"#) == .missingSubject)
        #expect(error(#"{"sub":7}"#) == .missingSubject)
    }

    @Test func `is not read from anything else`() {
        for body in ["", "[]", "<html>", "7", #"{"sub":"u1""#] {
            #expect(error(body) == .unreadable)
        }
        #expect(error("", status: 500) == .refused(status: 500, challenge: nil))
        #expect(error("", status: 302) == .refused(status: 302, challenge: nil))
        #expect(
            error(
                "", status: 401,
                fields: [("WWW-Authenticate", "Bearer realm=\"x\", error=\"invalid_token\"")])
                == .refused(status: 401, challenge: "invalid_token"))
    }

    private func signed(
        _ changes: [String: JSONValue] = [:], _ algorithm: JWSAlgorithm = .rs256,
        keyID: String? = nil, header: JSONObject = [:]
    ) -> Result<UserInfo, UserInfoError> {
        let claims: JSONObject = [
            "sub": "u1", "iss": "https://id.example.com", "aud": ["cli"], "email": "a@b",
        ]
        let bytes = JSONWebToken.signed(
            claims.changed(changes), by: TestKeys.signer(algorithm, keyID: keyID), header: header)
        return read(bytes, type: "application/jwt; charset=utf-8")
    }

    private func flaw(of result: Result<UserInfo, UserInfoError>) -> UserInfoError? {
        if case .failure(let error) = result { error } else { nil }
    }

    @Test func `may be a signed token`() throws {
        let info = try signed().get()
        #expect(info.isSigned)
        #expect(info.claims["email"] == "a@b")
        #expect(flaw(of: signed(["iss": .null, "aud": .null])) == nil)
        #expect(flaw(of: signed(["aud": "cli"], .edDSA)) == nil)
    }

    @Test func `that is signed wrongly is not used`() {
        #expect(flaw(of: signed(["sub": "u2"])) == .otherSubject)
        #expect(flaw(of: signed(["aud": "other"])) == .token(.otherAudience))
        #expect(
            flaw(of: signed(["iss": "https://evil.example"]))
                == .token(
                    .otherIssuer(
                        expected: "https://id.example.com", received: "https://evil.example")))
        #expect(flaw(of: signed(keyID: "nobody's")) == .token(.unknownKey))
        #expect(flaw(of: signed(header: ["crit": ["x"]])) == .token(.criticalHeader))
        let unsigned = compact(["alg": "none"], ["sub": "u1"], signature: "")
        #expect(flaw(of: read(unsigned, type: "application/jwt")) == .token(.unsigned))
        #expect(error("a.b.c.d.e", type: "application/jwt") == .token(.encrypted))
        #expect(error("opaque", type: "application/jwt") == .token(.unreadable(.notCompact)))
        // A token by a stranger with a known name.
        let stranger = JSONWebSigner(.generate(.es256), keyID: "ES256")!
        let forged = JSONWebToken.signed(["sub": "u1"], by: stranger)
        #expect(flaw(of: read(forged, type: "application/jwt")) == .token(.badSignature))
    }

    @Test func `is asked for with the token in the head`() {
        let request = UserInfo.request("https://id.example.com/me", accessToken: SecretBytes("t0"))
        #expect(request.method == .get)
        #expect(request.url == "https://id.example.com/me")
        #expect(request.fields.map(\.name) == ["Accept", "Authorization"])
        #expect(request.fields[1].value == SecretBytes("Bearer t0"))
        #expect(request.body == nil)
    }
}
