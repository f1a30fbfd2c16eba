// Reads what a token endpoint answers (RFC 6749 sections 5.1 and 5.2), lenient in form and strict in
// what becomes a credential. Every string of the body is a secret until it is known not to be one.

package import Bytes
package import Vocabulary

/// A good answer of a token endpoint.
package struct TokenResponse: Sendable {
    /// What was odd about an answer that is used all the same; for the log.
    package enum Oddity: String, Sendable {
        case tokenTypeMissing = "token_type is missing, taken for Bearer"
        case expiresInUnreadable = "expires_in is not a number, taken for unknown"
        case expiresInPast = "expires_in is not positive, taken for unknown"
        case expiresInTooLong = "expires_in is absurdly long, shortened"
        case refreshTokenUnreadable = "refresh_token is not a string, ignored"
        case tokenIsNotB64 = "access_token has characters outside of RFC 6750 section 2.1"
    }

    /// Longer lifetimes are taken for this one, ten years.
    package static let lifetimeSecondsMax: Int64 = 315_360_000

    /// Only bytes of 0x21...0x7E, at least one: it fits a field's value whole. That is more than
    /// RFC 6750's b64token, since servers issue tokens with "|" in them.
    /// Nil only where the request does not demand one.
    package let accessToken: SecretBytes?
    /// "Bearer" or "DPoP".
    package let tokenType: String
    /// From the answer's arrival on; nil is unknown, 0 is already over.
    package let expiresInSeconds: Int64?
    /// Nil means that the old one, if any, stays good (RFC 6749 section 6).
    package let refreshToken: SecretBytes?
    /// How long that is good for, from the answer's arrival on; nil is unknown, or never.
    package let refreshExpiresInSeconds: Int64?
    /// The same as a time by the server's clock, where it says nothing else.
    package let refreshExpiresAt: WallTime?
    /// Nil means that the old one is kept.
    package private(set) var idToken: SecretBytes?
    /// The granted scopes; nil means those asked for (RFC 6749 section 5.1).
    package let scopes: [String]?
    /// All other members, strings as secrets.
    package let extras: JSONObject
    package let oddities: [Oddity]

    /// - Parameter now: the local time, for a Retry-After that names a date.
    package static func read(
        _ response: InboundResponse, to request: TokenRequest, now: WallTime
    ) throws(TokenFailure) -> TokenResponse {
        let reader = AnswerReader(
            response: response, secrets: request.secrets, now: now, quirks: request.quirks)
        let answer = try TokenResponse(
            reader.members(), demand: request.demand, status: response.status,
            isBound: request.isBound)
        // Not with a refresh: its answer may be the only copy of a rotated token, and to drop it ends
        // a login that the server still honours.
        if request.isBound, request.quirks.contains(.atproto), !request.grant.isRefresh {
            try ProofNonce.require(in: response)
        }
        return answer
    }

    /// When the access token stops being good, by the local clock; nil is unknown. `exp` of a JWT,
    /// which the local clock may disagree with, is asked only where `expires_in` is silent.
    package func expiry(receivedAt: WallTime, fallbackLifetimeSeconds: Int64?) -> WallTime? {
        if let expiresInSeconds { return receivedAt.advanced(by: expiresInSeconds) }
        if let expiry = accessToken.flatMap({ JSONWebToken.expiry(of: $0) }) { return expiry }
        return fallbackLifetimeSeconds.map(receivedAt.advanced)
    }

    /// The rest of an answer whose ID token is not believed.
    package var withoutIDToken: TokenResponse {
        var rest = self
        rest.idToken = nil
        return rest
    }

    private init(
        _ members: JSONObject, demand: TokenRequest.Demand, status: Int, isBound: Bool
    ) throws(TokenFailure) {
        var rest = members
        var oddities: [Oddity] = []
        func take(_ name: String) -> JSONValue? {
            defer { rest[name] = nil }
            return rest[name].flatMap { $0.isNull ? nil : $0 }
        }
        func takeText(_ name: String) -> SecretBytes? {
            take(name)?.asSecret.flatMap { $0.isEmpty ? nil : $0 }
        }

        let refresh = take("refresh_token")
        if let refresh, refresh.asSecret == nil { oddities.append(.refreshTokenUnreadable) }
        let refreshToken = refresh?.asSecret.flatMap { $0.isEmpty ? nil : $0 }
        self.refreshToken = refreshToken
        func failure(_ verdict: TokenFailure.Verdict, _ reason: TokenFailure.Reason) -> TokenFailure
        {
            TokenFailure(verdict, reason, status: status, refreshToken: refreshToken)
        }
        let token = takeText("access_token")
        idToken = takeText("id_token")
        switch demand {
        case .accessToken where token == nil, .either where token == nil && idToken == nil:
            throw failure(.malformed, .missingAccessToken)
        case .idToken where idToken == nil:
            throw failure(.malformed, .missingIDToken)
        case .accessToken, .idToken, .either: break
        }
        if let token {
            guard TokenResponse.isUsable(token) else {
                throw failure(.malformed, .unusableAccessToken)
            }
            if !TokenResponse.isB64Token(token) { oddities.append(.tokenIsNotB64) }
        }
        accessToken = token

        if let type = takeText("token_type") {
            let name = TokenResponse.trimmed(DisplayText.clean(type, lettersMax: 32))
            guard name.lowercased() == (isBound ? "dpop" : "bearer") else {
                // What is bound to no key is not what was asked for (RFC 9449 section 5).
                throw isBound && name.lowercased() == "bearer"
                    ? failure(.misconfigured, .unboundToken)
                    : failure(.malformed, .unsupportedTokenType(name))
            }
        } else if isBound, token != nil {
            throw failure(.misconfigured, .unboundToken)
        } else if token != nil {
            oddities.append(.tokenTypeMissing)
        }
        tokenType = isBound ? "DPoP" : "Bearer"
        expiresInSeconds = TokenResponse.lifetime(take("expires_in"), &oddities)
        // No RFC has a name for it; these are what providers call it. 0 is Keycloak's "never".
        let refreshLifetimes = TokenResponse.refreshLifetimes.map(take)
        let refreshExpiry = take("refresh_token_expires_at")
        var ignored: [Oddity] = []
        refreshExpiresInSeconds = TokenResponse.lifetime(
            refreshLifetimes.lazy.compactMap { $0 }.first, &ignored
        ).flatMap { $0 > 0 ? $0 : nil }
        refreshExpiresAt = TokenResponse.time(refreshExpiry)

        scopes = takeText("scope").map(TokenResponse.scopes)
        extras = rest
        self.oddities = oddities
    }

    // MARK: Members

    /// Without the spaces around it.
    private static func trimmed(_ text: String) -> String {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        return words.joined(separator: " ")
    }

    private static let refreshLifetimes = [
        "refresh_token_expires_in", "refresh_expires_in", "x_refresh_token_expires_in",
    ]

    /// Seconds since 1970, as a number or in a string; nil for anything that is no such time.
    private static func time(_ value: JSONValue?) -> WallTime? {
        let seconds = value?.asNumber?.truncated ?? value?.asRevealedString.flatMap(numeric)
        return seconds.flatMap { $0 > 0 && $0 < 1 << 40 ? WallTime(seconds: $0) : nil }
    }

    /// Separated by spaces (RFC 6749 section 3.3) or, as one large provider does, by commas alone.
    private static func scopes(_ text: SecretBytes) -> [String] {
        let text = DisplayText.clean(text, lettersMax: 8192)
        let separator: Character = text.contains(" ") ? " " : ","
        return text.split(separator: separator).map(String.init)
    }

    /// A number or a numeric string of seconds.
    private static func lifetime(_ value: JSONValue?, _ oddities: inout [Oddity]) -> Int64? {
        guard let value else { return nil }
        guard let seconds = seconds(value) else {
            oddities.append(.expiresInUnreadable)
            return nil
        }
        if seconds <= 0 { oddities.append(.expiresInPast) }
        if seconds > lifetimeSecondsMax { oddities.append(.expiresInTooLong) }
        return min(max(seconds, 0), lifetimeSecondsMax)
    }

    /// A number or a numeric string.
    package static func seconds(_ value: JSONValue) -> Int64? {
        value.asNumber?.truncated ?? value.asRevealedString.flatMap(numeric)
    }

    private static func numeric(_ text: String) -> Int64? {
        guard text.utf8.count <= 64, let value = try? JSONReader.read(text: text) else {
            return nil
        }
        return value.asNumber?.truncated
    }

    private static func isUsable(_ token: SecretBytes) -> Bool {
        token.withBytes { $0.allSatisfy { (0x21...0x7E).contains($0) } }
    }

    /// `1*( ALPHA / DIGIT / "-" / "." / "_" / "~" / "+" / "/" ) *"="`
    private static func isB64Token(_ token: SecretBytes) -> Bool {
        token.withBytes { bytes in
            let end = bytes.lastIndex { $0 != ASCII.equals } ?? -1
            return end >= 0
                && bytes[...end].allSatisfy { byte in
                    (byte | 0x20) &- 0x61 < 26 || ASCII.isDigit(byte)
                        || "-._~+/".utf8.contains(byte)
                }
        }
    }
}

/// From a response to the members of a success, or to a failure.
struct AnswerReader {
    let response: InboundResponse
    let secrets: [SecretBytes]
    let now: WallTime
    var quirks: ProviderQuirks = []

    func members() throws(TokenFailure) -> JSONObject {
        let status = response.status
        let body = document()
        if TokenFailure.isTransient(status) {
            throw failure(.transient(retryAfterSeconds: retryAfter), body)
        }
        guard let body else {
            let verdict = TokenFailure.verdictWithoutBody(
                status: status, isEmpty: response.body.isEmpty, retryAfterSeconds: retryAfter)
            throw TokenFailure(verdict, .unreadableBody, status: status)
        }
        // `error` counts before `access_token`, whatever the status.
        let code = errorCode(in: body)
        let isSuccess = (200..<300).contains(status)
        guard isSuccess, code == nil, !hasErrorObject(body) else {
            let verdict = TokenFailure.verdict(
                status: status, code: code?.asRevealedString, retryAfterSeconds: retryAfter,
                quirks: quirks)
            throw failure(verdict, body)
        }
        return body
    }

    private func failure(_ verdict: TokenFailure.Verdict, _ body: JSONObject?) -> TokenFailure {
        let code = body.flatMap(errorCode)?.asSecret
        let words = body?["error_description"]?.asSecret ?? body?["message"]?.asSecret
        return TokenFailure(
            verdict, code.map { .code(DisplayText.clean($0, hiding: secrets)) } ?? .status,
            status: response.status,
            explanation: words.map { DisplayText.clean($0, hiding: secrets) })
    }

    private func errorCode(in body: JSONObject) -> JSONValue? {
        body["error"].flatMap { $0.asSecret?.isEmpty == false ? $0 : nil }
    }

    /// Some APIs put an object or a number there; it is a failure without a code that we know.
    private func hasErrorObject(_ body: JSONObject) -> Bool {
        switch body["error"] {
        case .object, .array, .number, .bool(true): true
        case .none, .null, .bool(false), .string, .secret: false
        }
    }

    private var retryAfter: Int64? {
        response.field("retry-after").flatMap { RetryAfter.seconds($0, now: now) }
    }

    /// By media type; what is neither JSON nor a form by name is guessed from its first byte.
    private func document() -> JSONObject? {
        let type = response.field("content-type") ?? ""
        let name = type.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
        if name == "application/x-www-form-urlencoded" { return json() ?? form() }
        if name == "application/json" || name.hasSuffix("+json") { return json() }
        return json() ?? form()
    }

    private func json() -> JSONObject? {
        (try? JSONReader.read(response.body, strings: .secret))?.asObject
    }

    /// A form counts only when it holds one of the members that we look for: nearly every text
    /// is a form.
    private func form() -> JSONObject? {
        guard let parameters = try? response.body.withBytes({ try FormEncoding.read($0) }),
            parameters.contains(where: { $0.name == "access_token" || $0.name == "error" })
        else { return nil }
        return JSONObject(parameters.map { .init(name: $0.name, value: .secret($0.value)) })
    }
}
