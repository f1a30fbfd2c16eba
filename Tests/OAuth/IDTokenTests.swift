// Each check of an ID token twice: that it finds what it is for, and that nothing else does.

import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private let issuer = "https://id.example.com"
private let now = WallTime(seconds: 1_700_000_000)
private let accessToken = SecretBytes("jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y")
private let code = SecretBytes("Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk")

private let claims = members([
    "iss": .string(issuer), "sub": "u1", "aud": "cli", "exp": 1_700_000_300, "iat": 1_700_000_000,
    "nonce": "N1",
])

private func make(
    _ changes: [String: JSONValue] = [:], header: [String: JSONValue] = [:],
    by algorithm: JWSAlgorithm = .es256, keyID: String? = nil
) -> SecretBytes {
    let type = header["typ"].map(\.asString) ?? "JWT"
    return JSONWebToken.signed(
        claims.changed(changes), by: TestKeys.signer(algorithm, keyID: keyID), type: type,
        header: members(header))
}

private func policy(_ change: (inout IDTokenPolicy) -> Void = { _ in }) -> IDTokenPolicy {
    var policy = IDTokenPolicy(issuer: issuer, clientID: "cli", keys: .set(TestKeys.set))
    policy.nonce = "N1"
    change(&policy)
    return policy
}

private func validate(
    _ token: SecretBytes, _ policy: IDTokenPolicy = policy(), at time: WallTime = now
) -> IDTokenError? {
    do throws(IDTokenError) {
        try IDToken(token).validate(policy, now: time)
        return nil
    } catch {
        return error
    }
}

@Suite struct `ID token` {
    @Test(arguments: JWSAlgorithm.allCases.filter(\.isAsymmetric))
    func `is accepted with each algorithm`(algorithm: JWSAlgorithm) {
        #expect(validate(make(by: algorithm)) == nil)
    }

    @Test(
        arguments: [
            [:], ["aud": ["cli"]], ["azp": "cli"], ["extra": [1]], ["nbf": 1_700_000_600],
            ["iat": 1_700_000_600], ["iat": 1_699_999_400], ["exp": 1_699_999_941],
            ["iat": .null, "auth_time": 0].merging(["iat": 1_699_999_999]) { $1 },
            ["acr": "anything", "vot": "anything", "auth_time": 1],
            ["at_hash": "never compared without an access token"],
            ["exp": 9_223_372_036_854_775_807],
        ] as [[String: JSONValue]])
    func `is accepted`(changes: [String: JSONValue]) {
        #expect(validate(make(changes)) == nil)
    }

    @Test(arguments: ["JWT", "jwt", "application/jwt", "id_token+jwt", "at+jwt", "dpop+jwt", ""])
    func `may say what it is, but nothing else`(type: String) {
        let isOther = type == "at+jwt" || type == "dpop+jwt"
        #expect(
            validate(make(header: ["typ": .string(type)]))
                == (isOther ? .otherType(type) : nil))
    }

    @Test(
        arguments: [
            ("iss", .null, .missing(claim: "iss")), ("iss", 7, .missing(claim: "iss")),
            ("sub", .null, .missing(claim: "sub")), ("sub", "", .missing(claim: "sub")),
            ("aud", .null, .missing(claim: "aud")), ("aud", 7, .missing(claim: "aud")),
            ("exp", .null, .missing(claim: "exp")), ("exp", "1700000300", .missing(claim: "exp")),
            ("iat", .null, .missing(claim: "iat")),
            (
                "iss", "https://id.example.com/",
                .otherIssuer(expected: issuer, received: "https://id.example.com/")
            ),
            ("aud", "other", .otherAudience), ("aud", [], .otherAudience),
            ("aud", ["other"], .otherAudience), ("aud", "Cli", .otherAudience),
            ("aud", ["cli", "other"], .untrustedAudience("other")),
            ("aud", ["cli", 7], .untrustedAudience("")),
            ("azp", "other", .otherAuthorizedParty), ("azp", 7, .otherAuthorizedParty),
            ("exp", 1_699_999_940, .expired(secondsAgo: 60)),
            ("exp", -9_223_372_036_854_775_808, .expired(secondsAgo: .max)),
            ("nbf", 1_700_000_601, .notYetValid(secondsAhead: 601)),
            (
                "nbf", 9_223_372_036_854_775_807,
                .notYetValid(secondsAhead: 9_223_372_035_154_775_807)
            ),
            ("iat", 1_700_000_601, .issuedAtOutsideWindow(secondsAgo: -601)),
            ("iat", 1_699_999_399, .issuedAtOutsideWindow(secondsAgo: 601)),
            ("nonce", .null, .nonceMismatch), ("nonce", "N2", .nonceMismatch),
            ("nonce", 1, .nonceMismatch), ("nonce", "N1 ", .nonceMismatch),
        ] as [(String, JSONValue, IDTokenError)])
    func `is refused for one wrong claim`(name: String, value: JSONValue, error: IDTokenError) {
        #expect(validate(make([name: value])) == error)
    }

    @Test func `is refused when it is encrypted, and the words say what to do`() {
        let error = validate(SecretBytes("eyJhbGciOiJSU0EtT0FFUCJ9.a2V5.aXY.Y2lwaGVy.dGFn"))
        #expect(error == .encrypted)
        #expect(error?.text.contains("id_token_encrypted_response_alg") == true)
    }

    @Test(arguments: ["", "opaque", "e30.e30.", "W10.e30.c2ln"])
    func `is refused when it is none`(text: String) {
        #expect(validate(SecretBytes(text)) != nil)
    }

    /// CVE-2015-9235 and its kind: a signature by what everybody knows.
    @Test func `is not signed with a public key as a secret`() throws {
        let key = try #require(TestKeys.all[.rs256])
        let known = key.publicJWK.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
        for algorithm in [JWSAlgorithm.hs256, .hs384, .hs512] {
            var signer = try #require(
                JSONWebSigner(secret: SecretBytes("{\(known)}"), as: algorithm))
            signer.keyID = "RS256"
            let bytes = JSONWebToken.signed(claims, by: signer)
            #expect(validate(bytes) == .algorithmNotAllowed(algorithm.rawValue))
            // Not even where somebody allows it.
            #expect(validate(bytes, policy { $0.algorithms.insert(algorithm) }) == .unknownKey)
            var careless = policy { $0.algorithms.insert(algorithm) }
            careless.checks.remove(.key)
            #expect(validate(bytes, careless) == .badSignature)
        }
    }

    @Test(arguments: ["none", "None", "NONE", "nOnE", "", "RS1", "HS256", "ES256K", "RSA-OAEP"])
    func `names an algorithm that is known`(name: String) {
        let bytes = compact(["alg": .string(name)], .object(claims), signature: "")
        #expect(
            validate(bytes) == (name == "none" ? .unsigned : .algorithmNotAllowed(name)))
    }

    @Test func `brings no key of its own`() throws {
        // `jwk`, `jku` and `x5u` are an attacker's (RFC 8725 section 3.10).
        let stranger = SigningKey.generate(.es256)
        let signer = try #require(JSONWebSigner(stranger, keyID: "ES256"))
        let bytes = JSONWebToken.signed(
            claims, by: signer,
            header: ["jwk": TestKeys.jwk(stranger), "jku": "https://evil.example/keys"])
        #expect(validate(bytes) == .badSignature)
    }

    @Test func `is of one key and no other`() {
        #expect(validate(make()) == nil)
        #expect(
            validate(make(by: .es256, keyID: "nobody's")) == .unknownKey)
        // An ES256 token with the name of an RSA key.
        #expect(validate(make(by: .es256, keyID: "RS256")) == .unknownKey)
    }

    @Test(arguments: [-600, -60, 0, 59] as [Int64])
    func `takes a clock that is off`(offset: Int64) {
        let brief = make(["exp": 1_700_000_000])
        #expect(validate(brief, at: WallTime(seconds: now.seconds + offset)) == nil)
    }

    @Test func `bears skew and window as configured`() {
        let late = WallTime(seconds: 1_700_000_419)
        #expect(validate(make(), at: late) == .expired(secondsAgo: 119))
        #expect(validate(make(), policy { $0.skewSeconds = 120 }, at: late) == nil)
        let old = make(["iat": 1_600_000_000])
        #expect(validate(old, policy { $0.issuedAtWindowSeconds = nil }) == nil)
        #expect(validate(old, policy { $0.issuedAtWindowSeconds = 200_000_000 }) == nil)
    }

    @Test func `without known keys is judged by its claims`() {
        var policy = policy()
        policy.keys = .unavailable
        #expect(validate(make(by: .es256, keyID: "nobody's"), policy) == nil)
        #expect(validate(make(["aud": "other"]), policy) == .otherAudience)
        let unsigned = compact(["alg": "none"], .object(claims), signature: "")
        #expect(validate(unsigned, policy) == .unsigned)
    }

    @Test func `may name further audiences that are trusted`() {
        let trusting = policy { $0.trustedAudiences = ["api"] }
        #expect(validate(make(["aud": ["api", "cli"]]), trusting) == nil)
        #expect(validate(make(["aud": "api"]), trusting) == .otherAudience)
    }

    @Test(
        arguments: [
            (["Cl.Cm"], "Cl.Cm", true), (["Cl.Cm"], "Cm.Cl", true), (["Cl.Cm"], "P2.Cl.Cm", true),
            (["P2.Cl.Cm", "Cl"], "Cl", true), (["Cl.Cm"], "Cl", false), (["Cl.Cm"], "", false),
            (["Cl.Cm"], nil, false), (["P2"], "P1", false), (["Cl.Cm"], "cl.cm", false),
        ] as [([String], String?, Bool)])
    func `answers a vector of trust that was asked for`(
        asked: [String], given: String?, isGood: Bool
    ) {
        let bytes = make(["vot": given.map { .string($0) } ?? .null])
        let error = validate(bytes, policy { $0.vectorsOfTrust = asked })
        #expect(error == (isGood ? nil : .otherVectorOfTrust(given)))
    }

    @Test func `is as fresh as max_age demands`() {
        let demanding = policy { $0.maxAgeSeconds = 100 }
        for (time, error) in [
            (1_699_999_840, nil), (1_699_999_839, .authenticationTooOld(secondsAgo: 161)),
        ] as [(Int64, IDTokenError?)] {
            let bytes = make(["auth_time": .number(JSONNumber(time))])
            #expect(validate(bytes, demanding) == error)
        }
        #expect(validate(make(), demanding) == .missing(claim: "auth_time"))
        #expect(
            validate(make(["auth_time": 1]), policy { $0.maxAgeSeconds = .max }) == nil)
    }

    /// OpenID Connect Core appendix A.3 and A.4 have the hashes of this token and this code.
    @Test func `hashes as the specification's examples do`() {
        let examined = policy {
            $0.accessToken = accessToken
            $0.code = code
        }
        let hashes: [String: JSONValue] = [
            "at_hash": "77QmUPtjPfzWtF2AnpK9RQ", "c_hash": "LDktKdoQak3Pk0cnXxCltA",
        ]
        #expect(validate(make(hashes, by: .rs256), examined) == nil)
        // With another digest the same hash is wrong.
        #expect(
            validate(make(hashes, by: .rs384), examined)
                == .hashMismatch(claim: "at_hash"))
        #expect(validate(make(), examined) == nil)
    }

    @Test func `speaks of one person, in the same bytes`() throws {
        let first = try IDToken(make())
        #expect(first.isOfSamePerson(as: first))
        for changes in [
            ["sub": "u2"], ["sub": "U1"], ["iss": "https://id.example.com/"],
        ] as [[String: JSONValue]] {
            #expect(try !IDToken(make(changes)).isOfSamePerson(as: first))
        }
        // Two spellings of one letter are two persons.
        let composed = try IDToken(make(["sub": "\u{E9}"]))
        let decomposed = try IDToken(make(["sub": "e\u{301}"]))
        #expect(!composed.isOfSamePerson(as: decomposed))
    }

    @Test func `shows no more of itself in an error than a line`() {
        let long = String(repeating: "x", count: 5000)
        let bytes = compact(
            ["alg": .string("\u{1B}[2J" + long)], .object(claims), signature: "c2ln")
        #expect(validate(bytes)?.text.utf8.allSatisfy { $0 >= 0x20 } == true)
        #expect((validate(bytes)?.text.utf8.count ?? 0) < 200)
    }
}

/// One check, and a token with which nothing else is wrong.
private struct Flaw: Sendable, CustomTestStringConvertible {
    let check: IDTokenCheck
    let token: SecretBytes
    let policy: IDTokenPolicy
    let error: IDTokenError

    init(
        _ check: IDTokenCheck, _ token: SecretBytes, _ error: IDTokenError,
        _ policy: IDTokenPolicy = OAuthTests.policy()
    ) {
        self.check = check
        self.token = token
        self.policy = policy
        self.error = error
    }

    var testDescription: String { "\(check)" }

    /// For refreshes: the token of the login, which nothing else is compared with.
    private static func continuing(_ changes: [String: JSONValue]) -> IDTokenPolicy {
        OAuthTests.policy {
            $0.issuer = nil
            $0.nonce = nil
            $0.earlier = try? IDToken(make(changes))
        }
    }

    private static let forged: SecretBytes = {
        var letters = Array(text(make()).utf8)
        // A letter in the midst of the signature.
        letters[letters.count - 40] = letters[letters.count - 40] == 0x41 ? 0x42 : 0x41
        return SecretBytes(letters)
    }()

    static let all = [
        Flaw(
            .issuer, make(["iss": "https://evil.example"]),
            .otherIssuer(expected: issuer, received: "https://evil.example")),
        Flaw(.signed, compact(["alg": "none"], .object(claims), signature: ""), .unsigned),
        Flaw(
            .algorithm, make(by: .rs512), .algorithmNotAllowed("RS512"),
            OAuthTests.policy { $0.algorithms = [.rs256, .es256] }),
        Flaw(.criticalHeader, make(header: ["crit": ["exp"]]), .criticalHeader),
        Flaw(.type, make(header: ["typ": "at+jwt"]), .otherType("at+jwt")),
        // A key that the provider published for another algorithm.
        Flaw(.key, make(by: .ps256, keyID: "RS256"), .unknownKey),
        Flaw(.signature, forged, .badSignature),
        Flaw(.audience, make(["aud": []]), .otherAudience),
        Flaw(
            .furtherAudiences, make(["aud": ["cli", "other"]]),
            .untrustedAudience("other")),
        Flaw(.authorizedParty, make(["azp": "other"]), .otherAuthorizedParty),
        Flaw(
            .expiry, make(["iat": 1_699_999_900, "exp": 1_699_999_930]),
            .expired(secondsAgo: 70)),
        Flaw(.notBefore, make(["nbf": 1_700_000_700]), .notYetValid(secondsAhead: 700)),
        Flaw(
            .issuedAt, make(["iat": 1_699_999_000]),
            .issuedAtOutsideWindow(secondsAgo: 1000)),
        Flaw(.nonce, make(["nonce": "N2"]), .nonceMismatch),
        Flaw(
            .accessTokenHash, make(["at_hash": "77QmUPtjPfzWtF2AnpK9RA"]),
            .hashMismatch(claim: "at_hash"), OAuthTests.policy { $0.accessToken = accessToken }),
        Flaw(
            .codeHash, make(["c_hash": 7]), .hashMismatch(claim: "c_hash"),
            OAuthTests.policy { $0.code = code }),
        Flaw(
            .authenticationTime, make(["auth_time": 1_699_990_000]),
            .authenticationTooOld(secondsAgo: 10_000), OAuthTests.policy { $0.maxAgeSeconds = 60 }),
        Flaw(
            .contextClass, make(["acr": "0"]), .otherContextClass("0"),
            OAuthTests.policy { $0.contextClasses = ["phr", "phrh"] }),
        Flaw(
            .vectorOfTrust, make(["vot": "Cl"]), .otherVectorOfTrust("Cl"),
            OAuthTests.policy { $0.vectorsOfTrust = ["Cl.Cm"] }),
        Flaw(
            .sameIssuer, make(), .issuerChanged,
            continuing(["iss": "https://id.example.org"])),
        Flaw(.sameSubject, make(), .subjectChanged, continuing(["sub": "u2"])),
        Flaw(.sameNonce, make(), .changed(claim: "nonce"), continuing(["nonce": "N0"])),
        Flaw(
            .sameAuthenticationTime, make(["auth_time": 2]),
            .changed(claim: "auth_time"), continuing(["auth_time": 1])),
    ]
}

/// Swapping one check off must let one token in: then the tests would fail without it.
@Suite struct `Every check of an ID token` {
    @Test func `has a token that it alone refuses`() {
        #expect(Set(Flaw.all.map(\.check)) == Set(IDTokenCheck.allCases))
        #expect(Flaw.all.count == IDTokenCheck.allCases.count)
    }

    @Test(arguments: Flaw.all)
    private func `is needed, and is enough`(flaw: Flaw) {
        #expect(validate(flaw.token, flaw.policy) == flaw.error)

        var without = flaw.policy
        without.checks.remove(flaw.check)
        #expect(validate(flaw.token, without) == nil)

        var alone = flaw.policy
        alone.checks = [flaw.check]
        #expect(validate(flaw.token, alone) == flaw.error)
    }
}
