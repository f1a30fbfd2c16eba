// The ways in which a token endpoint fails, as the field has seen them.

/// What happens to one token request. The ones that only replace the answer leave the grant untouched,
/// unless they say otherwise.
package enum TokenFault: Sendable {
    // Nothing is granted.
    /// The connection is reset once the request was read.
    case reset
    /// No answer, until the client goes.
    case silence
    /// Another answer.
    case answer(FakeResponse)
    /// The head promises more than comes.
    case cutShort

    // The grant is made: a refresh token that rotates is spent.
    /// The connection is reset instead of answering.
    case lostAnswer
    /// The answer comes one byte at a time.
    case drip(Duration)
    /// As application/x-www-form-urlencoded.
    case formEncoded
    /// With one member of the document replaced by JSON text, or removed when that is nil.
    case member(String, String?)

    // MARK: Answers by name

    package static let requestTimeout = answer(FakeResponse(408, body: "slow"))

    package static func tooManyRequests(retryAfter: Int) -> TokenFault {
        answer(FakeResponse(429, fields: [("Retry-After", "\(retryAfter)")], body: "later"))
    }

    package static let unavailable = answer(
        FakeResponse(
            503, fields: [("Content-Type", "text/plain")], body: "upstream connect error"))

    /// A 5xx whose body claims that the grant is dead. The status decides.
    package static let serverErrorSayingInvalidGrant = error(500, "invalid_grant")
    package static let webApplicationFirewall = answer(
        FakeResponse(
            403, fields: [("Content-Type", "text/html")], body: "<h1>Access denied by WAF</h1>"))
    package static let htmlOK = answer(
        FakeResponse(fields: [("Content-Type", "text/html")], body: "<html>maintenance</html>"))
    package static let notFoundPage = answer(
        FakeResponse(404, fields: [("Content-Type", "text/html")], body: "<h1>Not Found</h1>"))
    package static let emptyOK = answer(
        FakeResponse(fields: [("Content-Type", "application/json")]))
    package static let truncatedJSON = answer(.json("{\"access_token\":\"canary-cut-tok"))
    package static let nullToken = answer(.json("{\"access_token\":null}"))
    package static let noToken = answer(.json("{}"))
    package static let emptyToken = answer(.json("{\"access_token\":\"\"}"))
    package static let splittingToken = answer(
        .json("{\"access_token\":\"a\\r\\nX-Evil: 1\",\"token_type\":\"Bearer\"}"))
    /// 4 MiB of JSON that never becomes a token.
    package static let oversized = answer(
        .json("{\"filler\":\"" + String(repeating: "x", count: 4 << 20) + "\"}"))

    package static func redirect(to url: String) -> TokenFault {
        answer(FakeResponse(307, fields: [("Location", url)]))
    }

    /// GitHub's way: status 200 with an error in it.
    package static let okWithError = answer(
        .json(
            "{\"error\":\"bad_verification_code\","
                + "\"error_description\":\"The code passed is incorrect or expired.\"}"))

    /// An OAuth error (RFC 6749 section 5.2).
    package static func error(_ status: Int, _ code: String) -> TokenFault {
        answer(
            .json(
                "{\"error\":\(jsonText(code)),"
                    + "\"error_description\":\"canary-description of what went wrong\"}",
                status: status))
    }

    /// Whether the grant is made before the fault shows.
    var grants: Bool {
        switch self {
        case .reset, .silence, .answer, .cutShort: false
        case .lostAnswer, .drip, .formEncoded, .member: true
        }
    }
}
