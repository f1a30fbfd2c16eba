import Bytes
import Crossing
import HTTPWire
import Routing
import Support
import Testing
import Vocabulary

@testable import DataPlane

/// A response with these WWW-Authenticate fields, and how it is understood.
private struct Answer: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let fields: [String]
    let finding: Finding
    var isBound = false
    var bringsNonce = false

    init(
        _ finding: Finding, _ fields: String..., isBound: Bool = false, bringsNonce: Bool = false
    ) {
        testDescription = fields.joined(separator: " | ") + (isBound ? " (DPoP)" : "")
        self.fields = fields
        self.finding = finding
        self.isBound = isBound
        self.bringsNonce = bringsNonce
    }
}

private func challenges(_ fields: [String]) -> [Challenge]? {
    let lines = fields.map { "WWW-Authenticate: \($0)\r\n" }.joined()
    let text = Array("HTTP/1.1 401 No\r\n\(lines)\r\n".utf8)
    return text.withUnsafeBytes { bytes in
        var head = MessageHead()
        var parser = HeadParser()
        guard (try? parser.response(in: bytes, into: &head)) == .complete else { return nil }
        return try? head.challenges(in: bytes)
    }
}

@Suite struct `The table of refusals (oauth.md 2.1)` {
    fileprivate static let answers: [Answer] = [
        Answer(.noChallenge),
        Answer(.unnamed, #"Bearer realm="api""#),
        Answer(.unnamed, "Bearer"),
        Answer(.unnamed, #"DPoP algs="ES256""#),
        Answer(.invalidToken, #"Bearer error="invalid_token""#),
        Answer(.invalidToken, #"Basic realm="x", Bearer error="invalid_token""#),
        Answer(.invalidToken, #"Basic realm="x""#, #"Bearer realm="y", error="invalid_token""#),
        Answer(.invalidToken, "Bearer", #"Bearer error="invalid_token""#),
        Answer(.invalidToken, #"Bearer error="invalid_token", DPoP algs="ES256""#),
        Answer(.foreign, #"Basic realm="x""#),
        Answer(.foreign, "Negotiate", "NTLM"),
        Answer(.invalidRequest, #"Bearer error="invalid_request""#),
        Answer(.insufficientScope, #"Bearer error="insufficient_scope", scope="a b""#),
        Answer(
            .insufficientAuthentication,
            #"Bearer error="insufficient_user_authentication", acr_values="gold""#),
        Answer(.otherError, #"Bearer error="expired_token""#),
        Answer(.unreadable, #"=,="#),
        // What can be read of it says that a token is wanted.
        Answer(.unnamed, "Bearer realm=x y", #"Basic realm="x""#),
        Answer(.unnamed, #"Bearer realm=My API, error="invalid_token""#, "Negotiate"),
        Answer(.foreign, "Basic realm=x y"),
        // What cannot be read hides nothing else.
        Answer(
            .insufficientScope, "Basic realm=foo bar", #"Bearer error="insufficient_scope""#),
        Answer(.insufficientScope, #"Basic realm=foo bar, Bearer error="insufficient_scope""#),
        // A bearer credential cannot answer for a nonce.
        Answer(.invalidRequest, #"DPoP error="use_dpop_nonce""#, bringsNonce: true),
        // With a proof the challenge of its own scheme counts (RFC 9449 section 7.2).
        Answer(.wantsNonce, #"DPoP error="use_dpop_nonce""#, isBound: true, bringsNonce: true),
        Answer(
            .wantsNonce, #"Bearer, DPoP error="use_dpop_nonce""#, isBound: true, bringsNonce: true),
        Answer(.invalidRequest, #"DPoP error="use_dpop_nonce""#, isBound: true),
        Answer(.invalidRequest, #"Bearer, DPoP error="invalid_dpop_proof""#, isBound: true),
        Answer(
            .invalidToken, #"Bearer, DPoP error="invalid_token", algs="ES256""#, isBound: true),
        Answer(.unnamed, #"Bearer, DPoP algs="ES256 PS256""#, isBound: true),
        Answer(.invalidToken, #"Bearer error="invalid_token""#, isBound: true),
    ]

    @Test(arguments: answers)
    fileprivate func `understands challenges (F66)`(answer: Answer) {
        let finding = RefusalTable.finding(
            challenges(answer.fields), scheme: answer.isBound ? "dpop" : "bearer",
            isBound: answer.isBound, bringsNonce: answer.bringsNonce)
        #expect(finding == answer.finding)
    }

    @Test(arguments: [
        ("Authorization: Basic dTp0b2s=\r\n", #"Basic realm="x""#, Finding.unnamed),
        ("Authorization: Basic dTp0b2s=\r\n", "Negotiate", .foreign),
        ("Authorization: Basic dTp0b2s=\r\n", #"Basic realm="x", Negotiate"#, .unnamed),
        ("authorization: Token abc\r\n", "Token", .unnamed),
        ("Authorization: GenieKey abc\r\n", #"geniekey realm="x""#, .unnamed),
        ("Authorization: Bearer abc\r\n", "Token", .unnamed),
        ("Authorization: Bearer abc\r\n", #"OAuth realm="x""#, .unnamed),
        ("Authorization: Bearer abc\r\n", #"JWT realm="x""#, .unnamed),
        ("Authorization: Bearer abc\r\n", #"Basic realm="x""#, .foreign),
        // Nobody says in which scheme a key alone, another field or a parameter is.
        ("Authorization: abc\r\n", #"Basic realm="x""#, .unnamed),
        ("X-Api-Key: abc\r\n", #"ApiKey realm="x""#, .unnamed),
        ("X-Api-Key: abc\r\n", #"Basic realm="x""#, .unnamed),
        ("X-Api-Key: a b\r\n", #"Basic, Bearer error="insufficient_scope""#, .insufficientScope),
        ("key=authorization:%20b", #"Basic realm="x""#, .unnamed),
    ])
    func `understands challenges in the scheme that was sent`(
        line: String, field: String, expected: Finding
    ) {
        let scheme = Array(line.utf8).withUnsafeBytes { RefusalTable.scheme(of: $0) }
        let finding = RefusalTable.finding(
            challenges([field]), scheme: scheme, isBound: false, bringsNonce: false)
        #expect(finding == expected)
    }

    @Test(arguments: ["Invalid_Token", "invalid_token ", "'invalid_token'", "INVALID_TOKEN"])
    func `understands an error however it is written`(error: String) {
        let finding = RefusalTable.finding(
            challenges(["Bearer error=\"\(error)\""]), scheme: "bearer", isBound: false,
            bringsNonce: false)
        #expect(finding == .invalidToken)
    }

    /// Everything that is not here is passed on.
    static let renewed: Set<Finding> = [
        .invalidToken, .unnamed, .noChallenge, .unreadable, .otherError,
    ]

    @Test func `leads to one verdict for each status and finding`() {
        for status in 400...599 {
            for finding in Finding.allCases {
                let verdict = RefusalTable.verdict(status, finding)
                let expected: Exchange.Verdict =
                    status == 401
                    ? finding == .wantsNonce
                        ? .wantsOtherProof : Self.renewed.contains(finding) ? .rejected : .final
                    : .final
                #expect(verdict == expected, "\(status) \(finding)")
            }
        }
    }

    @Test func `says something of every finding of a 401, once`() {
        for finding in Finding.allCases {
            #expect(
                RefusalTable.rows.count { $0.status == 401 && $0.finding == finding } == 1,
                "\(finding)")
        }
    }
}

@Suite struct `A refusal` {
    private func upstream(
        _ status: Int, _ fields: [(String, String)] = [], until accepts: String = "never"
    ) throws -> FakeUpstream {
        try FakeUpstream(answering: { request in
            request.value("Authorization") == accepts
                ? .ok() : FakeResponse(status, fields: fields, body: "no")
        })
    }

    @Test(arguments: [
        #"Basic realm="x""#, #"Bearer error="invalid_request""#, "Negotiate",
        #"Bearer error="insufficient_user_authentication", max_age=5"#,
    ])
    func `that no other token would cure is passed on and nothing is asked (F66)`(
        challenge: String
    ) throws {
        let upstream = try upstream(401, [("WWW-Authenticate", challenge)])
        let plane = try TestPlane(upstream: upstream.url)
        let answer = try plane.client().exchange()
        #expect(answer.status == 401)
        #expect(answer.value("WWW-Authenticate") == challenge)
        #expect(upstream.requests.count == 1)
        #expect(plane.needs.isEmpty)
    }

    @Test func `of a token that was replaced meanwhile is replayed without a question (F53)`()
        throws
    {
        let gate = Gate()
        let upstream = try FakeUpstream(answering: { request in
            guard request.value("Authorization") == "Bearer token-1" else { return .ok("fresh") }
            try gate.pass()
            // Not even a challenge that another token would not cure says anything of the new one.
            return FakeResponse(401, fields: [("WWW-Authenticate", "Basic realm=\"x\"")])
        })
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        try client.send(client.request())
        try upstream.waitForRequests(1)
        plane.give("token-2", 2)
        // Mail is read in order: whatever this client gets, the worker has the new token.
        #expect(try plane.client().exchange().body == "fresh")
        gate.open()
        #expect(try client.stream.readResponse(to: "GET").body == "fresh")
        #expect(plane.needs.isEmpty)
    }

    @Test func `after a renewal is passed on and reported for its upstream (F67, F69)`() throws {
        let upstream = try upstream(
            401, [("WWW-Authenticate", "Bearer error=\"invalid_token\"")])
        let plane = try TestPlane(upstream: upstream.url)
        let client = try plane.client()
        for _ in 0..<3 { #expect(try client.exchange().status == 401) }
        let reports = try waited(for: "a report") { plane.reports.isEmpty ? nil : plane.reports }
        #expect(reports.allSatisfy { $0.isAfterRenewal && $0.error == "invalid_token" })
        #expect(reports.allSatisfy { $0.upstream.description == upstream.url })
    }

    @Test func `for scope is passed on and says which (F70, C101)`() throws {
        let upstream = try upstream(
            403,
            [("WWW-Authenticate", "Bearer error=\"insufficient_scope\", scope=\"events:write x\"")])
        let plane = try TestPlane(upstream: upstream.url)
        for _ in 0..<5 { #expect(try plane.client().exchange().status == 403) }
        #expect(plane.needs.isEmpty)
        #expect(plane.reports.map(\.scope) == ["events:write x"])
    }

    @Test func `tells where the API describes itself and what it wants of the person`() throws {
        let upstream = try upstream(
            401,
            [
                (
                    "WWW-Authenticate",
                    "Bearer error=\"insufficient_user_authentication\", acr_values=\"gold mfa\", "
                        + "max_age=\"300\", resource_metadata=\"https://api.example/.well-known/x\""
                ), ("Date", "Sun, 06 Nov 1994 08:49:37 GMT"),
            ])
        let plane = try TestPlane(upstream: upstream.url)
        #expect(try plane.client().exchange().status == 401)
        let report = try #require(plane.reports.first)
        #expect(report.acrValues == "gold mfa")
        #expect(report.maxAgeSeconds == 300)
        #expect(report.resourceMetadata == "https://api.example/.well-known/x")
        #expect(report.date == "Sun, 06 Nov 1994 08:49:37 GMT")
    }

    @Test func `is not reported with texts that are too long or not printable`() throws {
        let long = String(repeating: "s", count: 1025)
        let upstream = try upstream(
            403,
            [
                (
                    "WWW-Authenticate",
                    "Bearer error=\"insufficient_scope\", scope=\"\(long)\", acr_values=\"\u{e9}\","
                        + " max_age=soon"
                )
            ])
        let plane = try TestPlane(upstream: upstream.url)
        #expect(try plane.client().exchange().status == 403)
        let report = try #require(plane.reports.first)
        #expect(report.scope == nil && report.acrValues == nil && report.maxAgeSeconds == nil)
        #expect(report.error == "insufficient_scope")
    }

    @Test func `means what the route says that it means (F65)`() throws {
        let upstream = try upstream(
            403, [("WWW-Authenticate", "Bearer error=\"token_expired\"")], until: "Bearer token-2")
        let rule = RefusalRule(status: 403, error: "token_expired", action: .refresh)
        let plane = try TestPlane(upstream: upstream.url, refusals: [rule])
        #expect(try plane.client().exchange().status == 200)
        #expect(plane.needs.count == 1)
        let other = try self.upstream(401)
        let passing = try TestPlane(
            upstream: other.url, refusals: [RefusalRule(status: 401, action: .pass)])
        #expect(try passing.client().exchange().status == 401)
        #expect(other.requests.count == 1)
        #expect(passing.needs.isEmpty)
    }

    @Test func `may be said to want another login, which is reported, and passed on (F65)`() throws
    {
        let upstream = try self.upstream(401)
        let plane = try TestPlane(
            upstream: upstream.url, refusals: [RefusalRule(status: 401, action: .login)])
        for _ in 0..<3 { #expect(try plane.client().exchange().status == 401) }
        let reports = try waited(for: "a report") { plane.reports.isEmpty ? nil : plane.reports }
        #expect(reports.count == 1 && reports[0].wantsLogin && !reports[0].isAfterRenewal)
        #expect(plane.needs.isEmpty)
    }

    @Test(arguments: ["GET", "POST", "HEAD"])
    func `may be kept back whole (F65)`(_ method: String) throws {
        let upstream = try FakeUpstream(answering: { _ in
            FakeResponse(500, fields: [("X-Canary", "canary")], body: "canary")
        })
        let plane = try TestPlane(
            upstream: upstream.url, refusals: [RefusalRule(status: 500, action: .fail)])
        let client = try plane.client()
        // The client's connection is as good as before.
        for _ in 0..<2 {
            let answer = try client.exchange(method, "/", body: method == "POST" ? "x" : "")
            #expect(answer.status == 502)
            #expect(!answer.has("X-Canary") && !answer.body.text.contains("canary"))
            #expect(method == "HEAD" || answer.body.text.contains("upstream_refused"))
        }
        #expect(upstream.requests.count == 2)
    }
}

@Suite struct `A budget of reports` {
    private let slot = CredentialSlot(0)
    private let upstream = Origin(scheme: .https, host: "api.example", port: 443)

    private func facts(_ scope: String) -> ChallengeFacts {
        var facts = ChallengeFacts(upstream: upstream, status: 403)
        facts.scope = scope
        return facts
    }

    @Test func `lets the same be said once a minute, whatever the date`() {
        var budget = ReportBudget()
        var first = facts("a")
        first.date = "now"
        let once = budget.take(slot, Generation(1), first, now: 5000)
        first.date = "later"
        let again = budget.take(slot, Generation(1), first, now: 64_999)
        let renewed = budget.take(slot, Generation(2), first, now: 64_999)
        let later = budget.take(slot, Generation(1), first, now: 65_000)
        #expect([once, again, renewed, later] == [true, false, true, true])
    }

    @Test func `lets a flood of news through at one a second`() {
        var budget = ReportBudget()
        var said = 0
        for number in 0..<10_000 {
            let now = 1000 + UInt64(number) * 10
            if budget.take(slot, Generation(1), facts("\(number)"), now: now) { said += 1 }
        }
        #expect((100...111).contains(said), "\(said)")
    }
}

@Suite struct `A rule for refusals` {
    @Test func `fits by status, and by scheme and error of one challenge`() {
        let rule = RefusalRule(status: 401, scheme: "bearer", error: "old", action: .refresh)
        #expect(rule.fits(status: 401, challenges: [("basic", nil), ("bearer", "old")]))
        #expect(!rule.fits(status: 403, challenges: [("bearer", "old")]))
        #expect(!rule.fits(status: 401, challenges: [("basic", "old"), ("bearer", nil)]))
        #expect(!rule.fits(status: 401, challenges: []))
        #expect(RefusalRule(status: 401, action: .pass).fits(status: 401, challenges: []))
    }
}
