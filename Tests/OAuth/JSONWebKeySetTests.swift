import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private let key = TestKeys.all[.es256]!
private let other = SigningKey.generate(.es256)

private func set(_ keys: JSONValue...) -> JSONWebKeySet {
    try! JSONWebKeySet(document: ["keys": .array(keys)])
}

private func token(_ keyID: String? = "a", _ algorithm: JWSAlgorithm = .es256) -> JSONWebToken {
    var signer = JSONWebSigner(TestKeys.all[algorithm]!, as: algorithm)!
    signer.keyID = keyID
    return try! JSONWebToken(JSONWebToken.signed(["sub": "u"], by: signer))
}

private func jwk(_ changes: [String: JSONValue] = [:]) -> JSONValue { TestKeys.jwk(key, changes) }

@Suite struct `A set of keys` {
    private func read(_ body: String, status: Int = 200) -> Result<JSONWebKeySet, KeySetError> {
        Result { () throws(KeySetError) in
            try JSONWebKeySet.read(InboundResponse(status: status, body: SecretBytes(body)))
        }
    }

    private func error(_ body: String, status: Int = 200) -> KeySetError? {
        if case .failure(let error) = read(body, status: status) { error } else { nil }
    }

    @Test func `is read as a provider publishes it`() throws {
        let document: JSONValue = [
            "keys": [
                jwk(["kid": "a", "use": "sig", "x5c": ["AAAA"], "future": [1]]),
                ["kty": "oct", "k": "c2VjcmV0"], ["kty": "future"], 7,
                TestKeys.jwk(other, ["y": "AAAA"]),
            ], "extra": true,
        ]
        let set = try read(text(JSONWriter.write(document))).get()
        #expect(set.keys.count == 1)
        #expect(set.skipped == 4)
        #expect(set.verifies(token()))
    }

    @Test func `is refused when it is none, or too much`() {
        for body in ["", "[]", "{}", #"{"keys":7}"#, "<html>", #"{"keys":[],"keys":[]}"#] {
            #expect(error(body) == .unreadable)
        }
        #expect(error(#"{"keys":[]}"#) == nil)
        #expect(error(#"{"keys":[]}"#, status: 302) == .status(302))
        #expect(error(#"{"keys":[]}"#, status: 404) == .status(404))
        let many = String(repeating: "0,", count: 128) + "0"
        #expect(error("{\"keys\":[\(many)]}") == .tooManyKeys(limit: 128))
        let long = String(repeating: " ", count: JSONWebKeySet.bytesMax)
        #expect(error("{\"keys\":[]}" + long) == .unreadable)
    }

    @Test(
        arguments: [
            ([:], true), (["use": "sig"], true), (["use": "enc"], false), (["use": 7], false),
            (["key_ops": ["verify"]], true), (["key_ops": ["sign", "verify"]], true),
            (["key_ops": ["encrypt"]], false), (["key_ops": []], false),
            (["alg": "ES256"], true), (["alg": "ES384"], false), (["alg": "ECDH-ES"], false),
            (["use": "sig", "key_ops": ["verify"], "alg": "ES256"], true),
            (["use": "enc", "key_ops": ["verify"]], false),
        ] as [([String: JSONValue], Bool)])
    func `gives no key for what it is not meant for`(
        changes: [String: JSONValue], isGood: Bool
    ) {
        let set = set(jwk(changes.merging(["kid": "a"]) { $1 }))
        #expect(set.verifies(token()) == isGood)
        #expect(set.mayVerify(token()) == isGood)
    }

    @Test func `finds the key by its name`() {
        let both = set(TestKeys.jwk(other, ["kid": "b"]), jwk(["kid": "a"]))
        #expect(both.verifies(token("a")))
        #expect(!both.verifies(token("b")))
        #expect(!both.mayVerify(token("c")))
        // Names are bytes, not letters.
        #expect(!set(jwk(["kid": "e\u{301}"])).mayVerify(token("\u{E9}")))
    }

    @Test func `tries all where nobody names one`() {
        let both = set(TestKeys.jwk(other, ["kid": "b"]), jwk(["kid": "a"]))
        #expect(both.verifies(token(nil)))
        #expect(set(jwk()).verifies(token("a")))
        #expect(set(TestKeys.jwk(other), jwk()).verifies(token(nil)))
    }

    @Test func `bears two keys of one name, as while keys change`() {
        let doubled = set(
            TestKeys.jwk(other, ["kid": "a"]), jwk(["kid": "a"]), jwk(["kid": "a"]),
            TestKeys.jwk(TestKeys.all[.rs256]!, ["kid": "a"]))
        #expect(doubled.verifies(token("a")))
        #expect(doubled.verifies(token("a", .rs256)))
        #expect(!doubled.verifies(token("a", .es384)))
    }

    /// RFC 8725 section 3.1: the key decides what it can be used for.
    @Test func `does not take an RSA key for a secret`() throws {
        let rsa = try #require(TestKeys.all[.rs256])
        let set = set(TestKeys.jwk(rsa, ["kid": "a"]), ["kty": "oct", "k": "c2VjcmV0", "kid": "a"])
        for secret in [rsa.publicJWK.first { $0.name == "n" }?.value ?? "", "secret"] {
            var signer = try #require(JSONWebSigner(secret: SecretBytes(secret)))
            signer.keyID = "a"
            let forged = try JSONWebToken(JSONWebToken.signed(["sub": "u"], by: signer))
            #expect(!set.mayVerify(forged))
            #expect(!set.verifies(forged))
        }
    }
}

@Suite struct `A client assertion` {
    private let now = WallTime(seconds: 1_700_000_000)

    private func assertion(lifetime: Int64 = 60) -> ClientAssertion {
        ClientAssertion(
            clientID: "cli", audience: "https://id.example.com",
            signer: TestKeys.signer(.es256, keyID: "k"), lifetimeSeconds: lifetime)
    }

    @Test func `F34 names the client twice and the issuer once`() throws {
        let token = try JSONWebToken(assertion().token(now: now))
        #expect(token.claims["iss"] == "cli")
        #expect(token.claims["sub"] == "cli")
        #expect(token.claims["aud"] == "https://id.example.com")
        #expect(token.claims["iat"] == 1_700_000_000)
        #expect(token.claims["exp"] == 1_700_000_060)
        #expect(token.header == ["alg": "ES256", "typ": "JWT", "kid": "k"])
        #expect(token.isSigned(by: key.verificationKey, as: .es256))
        #expect(token.claims.members.count == 6)
    }

    @Test func `F34 is another one each time`() throws {
        let names = try (0..<50).map { _ in
            try #require(JSONWebToken(assertion().token(now: now)).claims["jti"]?.asString)
        }
        #expect(Set(names).count == 50)
        #expect(names.allSatisfy { Base64.decode($0, .url)?.count == 16 })
    }

    @Test(
        arguments: [(-1, 1), (0, 1), (60, 60), (300, 300), (301, 300), (.max, 300)]
            as [(Int64, Int64)])
    func `F34 holds for five minutes at the most`(lifetime: Int64, expected: Int64) throws {
        let token = try JSONWebToken(assertion(lifetime: lifetime).token(now: now))
        #expect(token.claims["exp"] == .number(JSONNumber(now.seconds + expected)))
    }
}
