import Bytes
import Crypto
import Testing
import Vocabulary

@testable import OAuth

private func jwt(_ claims: JSONValue, header: JSONValue = ["alg": "RS256"]) -> SecretBytes {
    func part(_ value: JSONValue) -> String { text(Base64.encode(JSONWriter.write(value), .url)) }
    return SecretBytes("\(part(header)).\(part(claims)).c2ln")
}

private let issuer = "https://id.example.com"

private func claims(_ changes: JSONObject = JSONObject()) -> JSONValue {
    var claims = JSONObject([
        .init(name: "iss", value: .string(issuer)), .init(name: "sub", value: "u1"),
        .init(name: "aud", value: "cli"), .init(name: "exp", value: 1_700_000_300),
        .init(name: "iat", value: 1_700_000_000), .init(name: "nonce", value: "N1"),
    ])
    for change in changes.members {
        claims[change.name] = change.value.isNull ? nil : change.value
    }
    return .object(claims)
}

private func check(
    _ changes: JSONObject, at seconds: Int64 = 1_700_000_000,
    _ expectation: IDToken.Expectation = .init(issuer: issuer, clientID: "cli", nonce: "N1")
) -> Result<String, IDTokenError> {
    Result { () throws(IDTokenError) in
        let token = try IDToken(jwt(claims(changes)))
        try token.check(expectation, now: WallTime(seconds: seconds))
        return token.subject
    }
}

private func member(_ name: String, _ value: JSONValue) -> JSONObject {
    JSONObject([.init(name: name, value: value)])
}

@Suite struct `ID token` {
    @Test(arguments: [
        JSONObject(), member("aud", ["cli"]), member("azp", "cli"), member("extra", [1]),
        member("nbf", 1_700_000_001), member("iat", 1_700_000_001), member("exp", 1_699_999_760),
    ])
    func `is accepted`(changes: JSONObject) {
        #expect(check(changes) == .success("u1"))
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
            ("aud", ["other"], .otherAudience),
            ("aud", ["cli", "other"], .otherAudience), ("aud", "Cli", .otherAudience),
            ("azp", "other", .otherAuthorizedParty), ("azp", 7, .otherAuthorizedParty),
            ("exp", 1_699_999_700, .expired(secondsAgo: 300)),
            ("exp", -9_223_372_036_854_775_808, .expired(secondsAgo: .max)),
            ("nbf", 1_700_000_301, .notYetValid(secondsAhead: 301)),
            ("iat", 1_700_000_301, .issuedAtOutsideWindow(secondsAgo: -301)),
            ("iat", 1_699_999_399, .issuedAtOutsideWindow(secondsAgo: 601)),
            ("nonce", .null, .nonceMismatch), ("nonce", "N2", .nonceMismatch),
            ("nonce", 1, .nonceMismatch),
        ] as [(String, JSONValue, IDTokenError)])
    func `is refused for one wrong claim`(name: String, value: JSONValue, error: IDTokenError) {
        #expect(check(member(name, value)) == .failure(error))
    }

    @Test(arguments: [-240, -1, 0, 240] as [Int64])
    func `takes a clock that is minutes off`(skew: Int64) {
        let changes = JSONObject([
            .init(name: "iat", value: 1_700_000_001), .init(name: "nbf", value: 1_700_000_001),
            .init(name: "exp", value: 1_700_000_301),
        ])
        #expect(check(changes, at: 1_700_000_000 + skew) == .success("u1"))
    }

    @Test func `on a refresh may be old and without a nonce, but not another's`() throws {
        var expectation = IDToken.Expectation(issuer: issuer, clientID: "cli", nonce: nil)
        expectation.ageSecondsMax = nil
        let changes = JSONObject([
            .init(name: "iat", value: 1_600_000_000), .init(name: "nonce", value: .null),
        ])
        #expect(check(changes, expectation) == .success("u1"))

        let first = try IDToken(jwt(claims()))
        try first.checkContinues(first)
        for other in [member("sub", "u2"), member("iss", "https://id.example.com/")] {
            let token = try IDToken(jwt(claims(other)))
            #expect(throws: IDTokenError.otherSubject) { try token.checkContinues(first) }
        }
    }

    @Test func `may name further audiences that are trusted`() {
        var expectation = IDToken.Expectation(issuer: issuer, clientID: "cli", nonce: "N1")
        expectation.trustedAudiences = ["api"]
        #expect(check(member("aud", ["api", "cli"]), expectation) == .success("u1"))
        #expect(check(member("aud", "api"), expectation) == .failure(.otherAudience))
    }

    private func check(
        _ changes: JSONObject, _ expectation: IDToken.Expectation
    ) -> Result<String, IDTokenError> {
        OAuthTests.check(changes, at: 1_700_000_000, expectation)
    }

    private func check(_ changes: JSONObject) -> Result<String, IDTokenError> {
        OAuthTests.check(changes)
    }

    private func check(_ changes: JSONObject, at seconds: Int64) -> Result<String, IDTokenError> {
        OAuthTests.check(changes, at: seconds)
    }
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
            ("e30.e30.c2ln.x", .notCompact), ("e30.e30.c2ln.x.y", .notCompact), ("..", .notJSON),
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
