// What a failed token request means for the login behind it. The table is data: a status, a body and
// a code lead to one verdict, and nothing but these verdicts may end a login.

package import Bytes
package import Vocabulary

/// A token request that gave no token.
package struct TokenFailure: Error, Sendable {
    /// What may be done about it.
    package enum Verdict: Hashable, Sendable {
        /// The login is as good as before: try again later, no sooner than the server asks.
        case transient(retryAfterSeconds: Int64?)
        /// The grant is refused for good. The store may hold a newer one; else a person must log in.
        case needsLogin
        /// The configuration is wrong; the grant is kept and trying again soon is no use.
        case misconfigured
        /// One attempt without `scope`; if that fails alike, `misconfigured`.
        case dropScope
        /// A person or the provider said no.
        case denied
        /// One attempt that answers the challenge in the response's fields, if that is possible.
        case answerChallenge
        /// A refusal that no table knows. The grant is kept; a login is needed only once the
        /// access token has expired and the refusal has come `unfamiliarMax` times in a row.
        case unfamiliar
        /// A success that holds no usable token. Kept like a transient failure; during a login it
        /// ends the attempt.
        case malformed
    }

    /// What was seen.
    package enum Reason: Hashable, Sendable {
        /// The server's code, cleaned for showing.
        case code(String)
        case status
        case unreadableBody
        case missingAccessToken
        case missingIDToken
        case missingMember(String)
        /// A member whose value is not used; the value, cleaned.
        case unusableMember(String, String)
        case unusableAccessToken
        case unsupportedTokenType(String)
        /// No whole answer came.
        /// Bound to no key although DPoP is demanded.
        case unboundToken
        case fetch(FetchError)
    }

    /// Refusals of an unknown kind in a row that make a login necessary.
    package static let unfamiliarMax = 5

    package let verdict: Verdict
    package let reason: Reason
    /// 0 when no answer came.
    package let status: Int
    /// The server's words, cleaned, with every secret of the request hidden.
    package let explanation: String?
    /// What came with a token that is not used: the only copy, where the server rotates.
    package private(set) var refreshToken: SecretBytes?
    /// Who answered, in words.
    package var subject = "the token endpoint"

    init(
        _ verdict: Verdict, _ reason: Reason, status: Int, explanation: String? = nil,
        refreshToken: SecretBytes? = nil
    ) {
        self.refreshToken = refreshToken
        self.verdict = verdict
        self.reason = reason
        self.status = status
        self.explanation = explanation
    }

    /// The same, said of another endpoint.
    func said(by subject: String) -> TokenFailure {
        var failure = self
        failure.subject = subject
        return failure
    }

    /// No answer says nothing about the login; only a URL that cannot be one is a mistake of ours.
    package init(_ error: FetchError) {
        let verdict: Verdict =
            error == .invalidURL ? .misconfigured : .transient(retryAfterSeconds: nil)
        self.init(verdict, .fetch(error), status: 0)
    }

    /// What a code means, and where it means that.
    package struct Row: Sendable {
        package let code: String
        package let verdict: Verdict
        /// Empty for the codes of specifications; else the provider that has made it up.
        package let quirk: ProviderQuirks

        fileprivate init(_ code: String, _ verdict: Verdict, _ quirk: ProviderQuirks = []) {
            self.code = code
            self.verdict = verdict
            self.quirk = quirk
        }
    }

    /// RFC 6749 sections 4.1.2.1 and 5.2; RFC 8628 section 3.5; RFC 8707 section 2; RFC 9126 section
    /// 2.3; RFC 9449 sections 5 and 8; OpenID Connect Core sections 3.1.2.6 and 6; attestation-based
    /// client authentication; then the providers' own.
    package static let codes: [Row] = [
        Row("invalid_grant", .needsLogin),
        Row("expired_token", .needsLogin),
        Row("login_required", .needsLogin),
        Row("interaction_required", .needsLogin),
        Row("consent_required", .needsLogin),
        Row("account_selection_required", .needsLogin),
        Row("invalid_client", .misconfigured),
        Row("unauthorized_client", .misconfigured),
        Row("unsupported_grant_type", .misconfigured),
        Row("unsupported_response_type", .misconfigured),
        Row("invalid_request", .misconfigured),
        Row("invalid_request_uri", .misconfigured),
        Row("invalid_request_object", .misconfigured),
        Row("request_not_supported", .misconfigured),
        Row("request_uri_not_supported", .misconfigured),
        Row("registration_not_supported", .misconfigured),
        Row("invalid_target", .misconfigured),
        Row("invalid_client_attestation", .misconfigured),
        Row("redirect_uri_mismatch", .misconfigured),
        Row("invalid_scope", .dropScope),
        Row("access_denied", .denied),
        Row("unmet_authentication_requirements", .denied),
        Row("use_dpop_nonce", .answerChallenge),
        Row("use_attestation_challenge", .answerChallenge),
        Row("use_fresh_attestation", .answerChallenge),
        // Our mistake or a clock's; nothing is wrong with the grant.
        Row("invalid_dpop_proof", .malformed),
        Row("temporarily_unavailable", .transient(retryAfterSeconds: nil)),
        Row("server_error", .transient(retryAfterSeconds: nil)),
        Row("authorization_pending", .transient(retryAfterSeconds: nil)),
        Row("slow_down", .transient(retryAfterSeconds: nil)),
        Row("bad_refresh_token", .needsLogin, .githubErrors),
        Row("bad_verification_code", .needsLogin, .githubErrors),
        Row("incorrect_device_code", .needsLogin, .githubErrors),
        Row("incorrect_client_credentials", .misconfigured, .githubErrors),
        Row("device_flow_disabled", .misconfigured, .githubErrors),
        Row("unverified_user_email", .denied, .githubErrors),
    ]

    /// The verdict on an answer with a code, or, in a readable body, without one.
    static func verdict(
        status: Int, code: String?, retryAfterSeconds: Int64?, quirks: ProviderQuirks = []
    ) -> Verdict {
        if isTransient(status) { return .transient(retryAfterSeconds: retryAfterSeconds) }
        guard let code,
            let row = codes.first(where: { row in
                row.code.isIdentical(to: code) && quirks.isSuperset(of: row.quirk)
            })
        else { return .unfamiliar }
        switch row.verdict {
        case .transient: return .transient(retryAfterSeconds: retryAfterSeconds)
        case .needsLogin:
            // A gateway may quote what it does not mean; only the statuses that RFC 6749 gives to
            // these codes, GitHub's 200 and Auth0's 403 end a grant.
            let isKnown =
                [200, 400, 401].contains(status)
                || status == 403 && quirks.contains(.forbiddenGrant)
            return isKnown ? .needsLogin : .unfamiliar
        case .misconfigured, .dropScope, .denied, .answerChallenge, .unfamiliar, .malformed:
            return row.verdict
        }
    }

    /// The verdict on an answer whose body is neither JSON nor a form. An empty body with one of
    /// the statuses of RFC 6749 section 5.2 is a refusal without a code, as some servers send it;
    /// a page is somebody else's answer.
    static func verdictWithoutBody(
        status: Int, isEmpty: Bool, retryAfterSeconds: Int64?
    ) -> Verdict {
        isEmpty && [400, 401, 403].contains(status)
            ? .unfamiliar : .transient(retryAfterSeconds: retryAfterSeconds)
    }

    /// Statuses that speak of the server's state, whatever the body says: 408, 429, all 5xx, and
    /// redirects, which are never followed.
    static func isTransient(_ status: Int) -> Bool {
        status == 408 || status == 429 || status >= 500 || (300..<400).contains(status)
    }
}

extension TokenFailure: CustomStringConvertible {
    /// One line without a secret.
    package var description: String {
        let what =
            switch reason {
            case .code(let code): "\(subject) answered \"\(code)\""
            case .status: "\(subject) answered with status \(status)"
            case .unreadableBody:
                "\(subject) answered with status \(status) and no readable body"
            case .missingAccessToken: "\(subject)'s answer holds no access token"
            case .missingIDToken:
                "\(subject)'s answer holds no ID token (is \"openid\" among the scopes?)"
            case .missingMember(let name): "\(subject)'s answer holds no \(name)"
            case .unusableMember(let name, let value):
                "\(subject) gave a \(name) that is not used: \"\(value)\""
            case .unusableAccessToken:
                "\(subject)'s access token holds characters that no header may carry"
            case .unsupportedTokenType(let type):
                "\(subject) gave a token of the unsupported type \"\(type)\""
            case .unboundToken:
                "the token endpoint gave a token that is bound to no key, and \"dpop\" demands one"
            case .fetch(let error): "\(subject) gave no answer: \(error.words)"
            }
        return explanation.map { "\(what): \($0)" } ?? what
    }
}
