import Bytes
import Testing

@testable import OAuth

private let issuer = "https://id.example.com/t1"
private let redirect = "http://127.0.0.1:49152/callback"

private func request(
    issuer: String? = issuer, promised: Bool = false
) throws -> AuthorizationRequest {
    try AuthorizationRequest(
        .init(
            endpoint: "https://id.example.com/authorize", clientID: "cli", redirectURI: redirect,
            issuer: issuer, issuerIsPromised: promised), state: "S1", nonce: "N1",
        pkce: .fresh())
}

private func read(_ query: String, _ request: AuthorizationRequest) -> Result<String, CallbackError>
{
    Result { () throws(CallbackError) in
        let response = try SecretBytes(query).withBytes { bytes throws(CallbackError) in
            try AuthorizationResponse.read(query: bytes, for: request)
        }
        return text(response.code)
    }
}

@Suite struct `Callback` {
    @Test(arguments: [
        ("code=C%2B1&state=S1", "C+1"), ("state=S1&code=C1&session_state=x&scope=a+b", "C1"),
        ("code=C1&state=S1&iss=https%3A%2F%2Fid.example.com%2Ft1", "C1"),
        ("code=C1&state=S1&error=", "C1"), ("code=C1&display=Andr%E9&state=S1", "C1"),
        ("code=C1&scope=a&scope=b&state=S1", "C1"), ("%E9=x&code=C1&state=S1&x=100%", "C1"),
    ])
    func `gives the code`(query: String, code: String) throws {
        #expect(read(query, try request()) == .success(code))
    }

    @Test(
        arguments: [
            ("", .noParameters), ("code=C1", .stateMissing), ("code=C1&state=", .stateMismatch),
            ("code=C1&state=s1", .stateMismatch), ("code=C1&state=S1%00", .stateMismatch),
            ("code=C1&state=S", .stateMismatch), ("code=C1&state=S1&state=S1", .unreadable),
            ("code=C1&state=S1&code=C2", .unreadable), ("code=%E9&state=S1", .unreadable),
            ("error=a&error=b&state=S1", .unreadable), ("iss=%&code=C&state=S1", .unreadable),
            ("code=C1&state=%ff", .unreadable),
            ("error=access_denied", .stateMissing), ("error=access_denied&state=x", .stateMismatch),
            ("x", .stateMissing),
        ] as [(String, CallbackError)])
    func `of anybody else leaves the login waiting`(query: String, error: CallbackError) throws {
        #expect(read(query, try request()) == .failure(error))
        #expect(!error.endsLogin)
        #expect(error.verdict == nil)
    }

    @Test(
        arguments: [
            ("state=S1", .codeMissing), ("state=S1&code=", .codeMissing),
            ("state=S1&error=access_denied", .refused(code: "access_denied", description: nil)),
            (
                "error=access_denied&error_description=Acc%E8s+refus%E9&state=S1",
                .refused(code: "access_denied", description: nil)
            ),
            (
                "error=access_denied&error_description=100%&error_uri=%FF&state=S1",
                .refused(code: "access_denied", description: nil)
            ),
            (
                "state=S1&code=C1&error=server_error&error_description=a%0D%0A%1B%5B31mb+%3Cscript%3E",
                .refused(code: "server_error", description: "a[31mb <script>")
            ),
        ] as [(String, CallbackError)])
    func `of ours without a code ends the login`(query: String, error: CallbackError) throws {
        #expect(read(query, try request()) == .failure(error))
        #expect(error.endsLogin)
    }

    @Test func `a refusal is classed as token answers are`() {
        func verdict(_ code: String) -> TokenFailure.Verdict? {
            CallbackError.refused(code: code, description: nil).verdict
        }
        #expect(verdict("access_denied") == .denied)
        #expect(verdict("temporarily_unavailable") == .transient(retryAfterSeconds: nil))
        #expect(verdict("unauthorized_client") == .misconfigured)
        #expect(verdict("something_else") == .unfamiliar)
    }

    /// The four rows of RFC 9207 section 2.4, and the one of endpoints by hand.
    @Test func `the issuer is compared byte by byte`() throws {
        let good = "code=C1&state=S1&iss=https%3A%2F%2Fid.example.com%2Ft1"
        let other = "https://id.example.com/t1/"
        let bad = good + "%2F&error=access_denied&error_description=lie"
        let mismatch = CallbackError.issuerMismatch(expected: issuer, received: other)
        for promised in [false, true] {
            let request = try request(promised: promised)
            #expect(read(good, request) == .success("C1"))
            #expect(read(bad, request) == .failure(mismatch))
        }
        #expect(read("code=C1&state=S1", try request(promised: false)) == .success("C1"))
        #expect(
            read("code=C1&state=S1", try request(promised: true))
                == .failure(.issuerMissing(expected: issuer)))
        // A refusal without it grants nothing: its code counts, if it is one, and no other word of it.
        #expect(
            read("error=access_denied&error_description=lie&state=S1", try request(promised: true))
                == .failure(.refused(code: "access_denied", description: nil)))
        #expect(
            read("error=pay_me&state=S1", try request(promised: true))
                == .failure(.issuerMissing(expected: issuer)))
        #expect(
            read(bad.replacing("&error=access_denied", with: ""), try request(issuer: nil))
                == .success("C1"))
        #expect(mismatch.endsLogin)
    }

    @Test(arguments: [
        "\(redirect)?code=C1&state=S1", "  \(redirect)?state=S1&code=C1\r\n",
        "\(redirect)?code=C1&state=S1#_=_",
    ])
    func `may be pasted`(pasted: String) throws {
        let response = try AuthorizationResponse.read(pasted: pasted, for: try request())
        #expect(text(response.code) == "C1")
    }

    @Test(
        arguments: [
            ("http://127.0.0.1:49153/callback?code=C1&state=S1", .otherRedirect),
            ("http://127.0.0.1:49152/callback/?code=C1&state=S1", .otherRedirect),
            ("code=C1&state=S1", .otherRedirect), ("", .otherRedirect), (redirect, .noParameters),
            ("\(redirect)#code=C1&state=S1", .noParameters),
            ("\(redirect)?code=C1&state=S2", .stateMismatch),
            ("\(redirect)?code=C1&state=S1 x", .stateMismatch),
        ] as [(String, CallbackError)])
    func `pasted, is checked alike`(pasted: String, error: CallbackError) throws {
        let request = try request()
        #expect(throws: error) {
            try AuthorizationResponse.read(pasted: pasted, for: request)
        }
    }
}
