import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private func jwt(_ claims: JSONValue, header: JSONValue = ["alg": "RS256"]) -> SecretBytes {
    compact(header, claims, signature: "c2ln")
}

@Suite struct `JSON web token` {
    private func read(_ token: String) -> Result<JSONObject, JSONWebTokenError> {
        Result { () throws(JSONWebTokenError) in try JSONWebToken(SecretBytes(token)).claims }
    }

    @Test func `is taken apart`() throws {
        let token = try JSONWebToken(jwt(["exp": 7], header: ["alg": "ES256", "kid": "k"]))
        #expect(token.header["kid"] == "k")
        #expect(token.claims["exp"] == 7)
        #expect(token.signature == Array("sig".utf8))
        #expect(
            text(token.signed)
                == text(jwt(["exp": 7], header: ["alg": "ES256", "kid": "k"])).dropLast(5))
    }

    @Test(
        arguments: [
            ("", .notCompact), ("opaque", .notCompact), ("e30.e30", .notCompact),
            ("e30.e30.c2ln.x", .notCompact), ("e30.e30.c2ln.x.y", .encrypted), ("..", .notJSON),
            ("e30.e30.c2ln.x.y.z", .notCompact),
            ("e30.!.c2ln", .notBase64URL), ("e30.e30=.c2ln", .notBase64URL),
            ("e30.e31.c2ln", .notBase64URL),
            ("e30.W10.c2ln", .notJSON), ("e30.eyI.c2ln", .notJSON), ("e30.e30.c", .notBase64URL),
        ] as [(String, JSONWebTokenError)])
    func `is refused`(token: String, error: JSONWebTokenError) {
        #expect(read(token) == .failure(error))
    }

    @Test func `is bounded`() {
        let long = String(repeating: "a", count: 70_000)
        #expect(read(long) == .failure(.tooLarge(limit: 65_536)))
    }

    @Test func `tells an expiry only when it is a number`() {
        #expect(JSONWebToken.expiry(of: jwt(["exp": 1_700_000_300]))?.seconds == 1_700_000_300)
        for value in ["1700000300", -1, 0, true, []] as [JSONValue] {
            #expect(JSONWebToken.expiry(of: jwt(["exp": value])) == nil)
        }
        #expect(JSONWebToken.expiry(of: SecretBytes("opaque")) == nil)
    }
}

@Suite struct `A JWT of ours` {
    @Test(arguments: JWSAlgorithm.allCases.filter(\.isAsymmetric))
    func `is read and verified by the public key`(algorithm: JWSAlgorithm) throws {
        let bytes = JSONWebToken.signed(
            ["sub": "é\"\\"], by: TestKeys.signer(algorithm, keyID: "k"))
        let token = try JSONWebToken(bytes)
        #expect(token.header == ["alg": .string(algorithm.rawValue), "typ": "JWT", "kid": "k"])
        #expect(token.claims == ["sub": "é\"\\"])
        let key = try #require(TestKeys.all[algorithm])
        #expect(token.isSigned(by: key.verificationKey, as: algorithm))
    }

    @Test func `keeps what is the signer's out of further members`() throws {
        let signer = TestKeys.signer(.es256, keyID: "k")
        let bytes = JSONWebToken.signed(
            [:], by: signer, type: nil,
            header: ["alg": "none", "kid": "x", "x5t#S256": "x"])
        #expect(
            try JSONWebToken(bytes).header
                == ["alg": "ES256", "kid": "k", "x5t#S256": "x"])
    }

    @Test func `with a shared secret agrees with HMAC`() throws {
        let secret = SecretBytes("a secret of the client's")
        for algorithm in [JWSAlgorithm.hs256, .hs384, .hs512] {
            let signer = try #require(JSONWebSigner(secret: secret, as: algorithm))
            let bytes = text(JSONWebToken.signed([:], by: signer))
            let dot = try #require(bytes.lastIndex(of: "."))
            let code = Array(bytes[..<dot].utf8).withUnsafeBytes {
                Digest.authenticate($0, algorithm.digest, key: secret)
            }
            #expect(bytes[dot...].dropFirst() == Base64.encode(code, .url))
        }
    }

    @Test func `is made by fitting pairs only`() throws {
        let key = try #require(TestKeys.all[.es256])
        for algorithm in JWSAlgorithm.allCases where algorithm != .es256 {
            #expect(JSONWebSigner(key, as: algorithm) == nil)
        }
        #expect(JSONWebSigner(secret: SecretBytes("s"), as: .es256) == nil)
    }
}
