// Signatures against the examples of their documents, and against the `openssl` program, which shares
// no code of ours.

import Bytes
import Crypto
import Support
import Testing

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func decoded(_ text: String) throws -> [UInt8] { try #require(Base64.decode(text, .url)) }

func text(_ secret: SecretBytes) -> String {
    secret.withBytes { String(decoding: $0, as: UTF8.self) }
}

extension VerificationKey {
    init(_ members: [String: String]) throws(KeyError) {
        try self.init(jwk: { members[$0] })
    }

    func verifies(_ signature: [UInt8], _ text: [UInt8], _ algorithm: JWSAlgorithm) -> Bool {
        text.withUnsafeBytes { verify(signature, over: $0, as: algorithm) }
    }
}

extension SigningKey {
    func sign(_ text: [UInt8], _ algorithm: JWSAlgorithm) -> [UInt8] {
        text.withUnsafeBytes { sign($0, as: algorithm) }
    }
}

/// One published signature.
struct Example: Sendable, CustomTestStringConvertible {
    let source: String
    let algorithm: JWSAlgorithm
    let jwk: [String: String]
    let signed: String
    let signature: String

    var testDescription: String { source }

    static let claims =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0"
        + "cnVlfQ"

    static let all = [
        Example(
            source: "RFC 7515 A.2", algorithm: .rs256,
            jwk: [
                "kty": "RSA", "e": "AQAB",
                "n":
                    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPM"
                    + "EzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-"
                    + "bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3"
                    + "qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9g"
                    + "b54h4FRWyuXpoQ",
            ],
            signed: "eyJhbGciOiJSUzI1NiJ9." + claims,
            signature:
                "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W"
                + "2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkS"
                + "jtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnv"
                + "Wh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"),
        Example(
            source: "RFC 7515 A.3", algorithm: .es256,
            jwk: [
                "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
                "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
            ],
            signed: "eyJhbGciOiJFUzI1NiJ9." + claims,
            signature:
                "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
        ),
        Example(
            source: "RFC 7515 A.4", algorithm: .es512,
            jwk: [
                "kty": "EC", "crv": "P-521",
                "x":
                    "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
                "y":
                    "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
            ],
            signed: "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA",
            signature:
                "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7Xdt"
                + "AG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn"
        ),
        Example(
            source: "RFC 8037 A.4", algorithm: .edDSA,
            jwk: [
                "kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
            ],
            signed: "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
            signature:
                "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"
        ),
        Example(
            source: "RFC 9449 figure 2", algorithm: .es256,
            jwk: [
                "kty": "EC", "crv": "P-256", "x": "l8tFrhx-34tV3hRICRDY9zCkDlpBhF42UQUfWVAWBFs",
                "y": "9VE4jf_Ok_o64zbTTlcuNJajHmt6v9TDVrU0CdvGRDA",
            ],
            signed:
                "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0"
                + "VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCRnMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10"
                + "NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19."
                + "eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIjoiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1w"
                + "bGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ",
            signature:
                "2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
        ),
    ]
}

@Suite struct `A signature` {
    @Test(arguments: Example.all)
    func `of a specification is good, and nothing near it`(example: Example) throws {
        let key = try VerificationKey(example.jwk)
        let signature = try decoded(example.signature)
        let signed = bytes(example.signed)
        #expect(key.verifies(signature, signed, example.algorithm))

        for algorithm in JWSAlgorithm.allCases where algorithm != example.algorithm {
            #expect(!key.verifies(signature, signed, algorithm))
        }
        for place in signature.indices {
            var other = signature
            other[place] ^= 1
            #expect(!key.verifies(other, signed, example.algorithm))
            #expect(!key.verifies(Array(signature[..<place]), signed, example.algorithm))
        }
        #expect(!key.verifies(signature + [0], signed, example.algorithm))
        #expect(!key.verifies([], signed, example.algorithm))
        #expect(!key.verifies(signature, signed + [0], example.algorithm))
        #expect(!key.verifies(signature, [], example.algorithm))
    }

    /// RFC 7518 section 3.4: both numbers have the curve's whole length, zeros in front included.
    @Test func `of a curve has one length, whatever the numbers`() {
        for algorithm in [JWSAlgorithm.es256, .es384, .es512] {
            let key = SigningKey.generate(algorithm)
            var lengths: Set<Int> = []
            // One in 128 has a number that starts with a zero byte.
            for count in 0..<600 {
                let signed = Array(repeating: UInt8(count & 255), count: count)
                let signature = key.sign(signed, algorithm)
                lengths.insert(signature.count)
                #expect(key.verificationKey.verifies(signature, signed, algorithm))
            }
            let expected = algorithm == .es256 ? 64 : algorithm == .es384 ? 96 : 132
            #expect(lengths == [expected])
        }
    }

    /// CVE-2022-21449: what nobody signed must not be good for everything.
    @Test(arguments: [JWSAlgorithm.es256, .es384, .es512])
    func `of zeros is good for nothing`(algorithm: JWSAlgorithm) {
        let key = SigningKey.generate(algorithm).verificationKey
        for size in [64, 96, 132] {
            #expect(!key.verifies(Array(repeating: 0, count: size), [1], algorithm))
            #expect(!key.verifies(Array(repeating: 0xFF, count: size), [1], algorithm))
        }
    }

    @Test(arguments: JWSAlgorithm.allCases.filter(\.isAsymmetric))
    func `by any key is good for that key alone`(algorithm: JWSAlgorithm) throws {
        let key = SigningKey.generate(algorithm)
        let signature = key.sign([1, 2, 3], algorithm)
        #expect(key.verificationKey.verifies(signature, [1, 2, 3], algorithm))
        #expect(
            !SigningKey.generate(algorithm).verificationKey
                .verifies(signature, [1, 2, 3], algorithm))

        // The public JWK is all that a stranger needs.
        let members = Dictionary(uniqueKeysWithValues: key.publicJWK.map { ($0.name, $0.value) })
        let stranger = try VerificationKey(members)
        #expect(stranger.verifies(signature, [1, 2, 3], algorithm))
        #expect(stranger.thumbprint == key.thumbprint)
        #expect(key.algorithms.contains(algorithm))
        #expect(key.publicJWK.map(\.name) == key.publicJWK.map(\.name).sorted())
    }

    @Test func `under a shared secret agrees with RFC 7515 A.1`() throws {
        let key = SecretBytes(
            try decoded(
                "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow"
            ))
        let signed = bytes("eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9." + Example.claims)
        let code = signed.withUnsafeBytes { Digest.authenticate($0, .sha256, key: key) }
        #expect(Base64.encode(code, .url) == "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk")
        // RFC 4231 section 4.3.
        let other = bytes("what do ya want for nothing?").withUnsafeBytes {
            Digest.authenticate($0, .sha512, key: SecretBytes("Jefe"))
        }
        #expect(other.prefix(4) == [0x16, 0x4B, 0x7A, 0x7B])
        #expect(other.count == 64)
        #expect(
            [UInt8]().withUnsafeBytes {
                Digest.authenticate($0, .sha256, key: SecretBytes(""))
            }.prefix(4) == [0xB6, 0x13, 0x67, 0x9A])
    }

    @Test func `with a key of another kind is not made`() async {
        await #expect(processExitsWith: .failure) {
            _ = SigningKey.generate(.es256).sign([1], .rs256)
        }
    }
}

@Suite struct `A thumbprint` {
    @Test func `agrees with RFC 7638 section 3.1`() throws {
        let key = try VerificationKey([
            "kty": "RSA", "e": "AQAB", "alg": "RS256", "kid": "2011-04-29",
            "n":
                "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJE"
                + "CPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2Q"
                + "vzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6"
                + "WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
        ])
        #expect(key.thumbprint == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs")
    }

    @Test func `agrees with RFC 8037 A.3 and RFC 9449 section 6.1`() throws {
        #expect(
            try VerificationKey(Example.all[3].jwk).thumbprint
                == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k")
        #expect(
            try VerificationKey(Example.all[4].jwk).thumbprint
                == "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I")
    }
}

@Suite struct `A public key` {
    private static let point = [
        "kty": "EC", "crv": "P-256", "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    ]
    private static let modulus = SigningKey.generate(.rs256).publicJWK.first { $0.name == "n" }!
        .value

    private static func odd(_ bytes: Int) -> String {
        Base64.encode([0x80] + Array(repeating: 0, count: bytes - 2) + [1], .url)
    }

    @Test(
        arguments: [
            ([:], .missing(member: "kty")), (["kty": "oct"], .unsupportedKind("oct")),
            (["kty": "rsa"], .unsupportedKind("rsa")),
            (["kty": "RSA", "e": "AQAB"], .missing(member: "n")),
            (["kty": "RSA", "n": modulus], .missing(member: "e")),
            (["kty": "RSA", "n": modulus, "e": "AQ"], .invalid(member: "e")),
            (["kty": "RSA", "n": modulus, "e": "AQAC"], .invalid(member: "e")),
            (["kty": "RSA", "n": modulus + "=", "e": "AQAB"], .invalid(member: "n")),
            (["kty": "RSA", "n": "gA", "e": "AQAB"], .invalid(member: "n")),
            (["kty": "RSA", "n": odd(128), "e": "AQAB"], .tooSmall(bits: 1024, bitsMin: 2048)),
            (["kty": "RSA", "n": odd(1040), "e": "AQAB"], .tooLarge(bits: 8320, bitsMax: 8192)),
            (["kty": "RSA", "n": odd(4096), "e": "AQAB"], .invalid(member: "n")),
            (["kty": "EC"], .missing(member: "crv")),
            (["kty": "EC", "crv": "secp256k1"], .unsupportedKind("secp256k1")),
            (["kty": "EC", "crv": "P-256", "x": "AA"], .missing(member: "y")),
            (point.merging(["crv": "P-384"]) { $1 }, .invalid(member: "x")),
            (point.merging(["y": point["x"]!]) { $1 }, .invalid(member: "y")),
            (point.merging(["x": ""]) { $1 }, .invalid(member: "x")),
            (
                point.merging(["y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a"]) { $1 },
                .invalid(member: "y")
            ),
            (["kty": "OKP"], .missing(member: "crv")),
            (["kty": "OKP", "crv": "X25519", "x": "AA"], .unsupportedKind("X25519")),
            (["kty": "OKP", "crv": "Ed25519", "x": "AA"], .invalid(member: "x")),
        ] as [([String: String], KeyError)])
    func `is refused for what is wrong with it`(members: [String: String], error: KeyError) {
        #expect(throws: error) { try VerificationKey(members) }
    }
}
