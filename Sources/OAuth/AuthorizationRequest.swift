// The URL that a person's browser is sent to, and what must be remembered to judge the answer
// (RFC 6749 section 4.1.1; RFC 7636; OpenID Connect Core section 3.1.2.1). Only the code flow with
// PKCE S256 and the default response mode is asked for.

import Bytes
import Vocabulary

/// Why no authorization request can be made from a configuration.
package enum AuthorizationRequestError: Error, Hashable, Sendable {
    case invalidEndpoint(String)
    case insecureEndpoint(String)
    /// The endpoint's query or an extra parameter names what the flow itself sets.
    case reservedParameter(name: String)
    case repeatedParameter(name: String)
}

/// One login attempt's request; state, nonce and PKCE are its own.
package struct AuthorizationRequest: Sendable {
    /// What a request says besides the values that are fresh in each.
    package struct Wish: Sendable {
        /// The authorization endpoint; its own query is kept.
        package var endpoint: String
        package var clientID: String
        /// Absolute, without a fragment; sent and later repeated byte for byte.
        package var redirectURI: String
        package var scopes: [String]
        /// Sent once each, in this order, after the parameters of the flow.
        package var extras: [(name: String, value: String)]
        /// Whom the request goes to; nil when the endpoints were given by hand without an issuer.
        package var issuer: String?
        /// Whether that server promises `iss` in every answer (RFC 9207 section 3).
        package var issuerIsPromised: Bool

        package init(
            endpoint: String, clientID: String, redirectURI: String, scopes: [String] = [],
            extras: [(name: String, value: String)] = [], issuer: String? = nil,
            issuerIsPromised: Bool = false
        ) {
            self.endpoint = endpoint
            self.clientID = clientID
            self.redirectURI = redirectURI
            self.scopes = scopes
            self.extras = extras
            self.issuer = issuer
            self.issuerIsPromised = issuerIsPromised
        }
    }

    /// What an extra parameter may not be called.
    package static let reservedParameters: Set<String> = [
        "response_type", "client_id", "redirect_uri", "scope", "state", "nonce", "code_challenge",
        "code_challenge_method", "request", "request_uri", "response_mode", "client_secret",
        "dpop_jkt",
    ]

    package let issuer: String?
    package let issuerIsPromised: Bool
    package let redirectURI: String
    package let scopes: [String]
    package let state: String
    /// Present when an ID token is asked for, with the scope `openid`.
    package let nonce: String?
    package let pkce: PKCE
    /// The whole URL; it carries no secret, but whoever reads it knows the state.
    package let url: String

    /// Fresh state, nonce and verifier on each call.
    package static func fresh(_ wish: Wish) throws(AuthorizationRequestError) -> Self {
        try AuthorizationRequest(
            wish, state: Nonce.fresh(), nonce: Nonce.fresh(), pkce: PKCE.fresh())
    }

    init(
        _ wish: Wish, state: String, nonce: String, pkce: PKCE
    ) throws(AuthorizationRequestError) {
        issuer = wish.issuer
        issuerIsPromised = wish.issuerIsPromised
        redirectURI = wish.redirectURI
        scopes = wish.scopes
        self.state = state
        self.nonce = wish.scopes.contains("openid") ? nonce : nil
        self.pkce = pkce

        var parameters: [(name: String, value: String)] = [
            ("response_type", "code"), ("client_id", wish.clientID),
            ("redirect_uri", wish.redirectURI),
        ]
        if !wish.scopes.isEmpty {
            parameters.append(("scope", wish.scopes.joined(separator: " ")))
        }
        parameters.append(("state", state))
        if let nonce = self.nonce { parameters.append(("nonce", nonce)) }
        parameters.append(("code_challenge", pkce.challenge))
        parameters.append(("code_challenge_method", PKCE.method))
        url = try AuthorizationRequest.url(wish.endpoint, parameters + wish.extras, wish.extras)
    }

    private static func url(
        _ endpoint: String, _ parameters: [(name: String, value: String)],
        _ extras: [(name: String, value: String)]
    ) throws(AuthorizationRequestError) -> String {
        guard let parts = try? WebURL(endpoint), parts.fragment == nil else {
            throw .invalidEndpoint(endpoint)
        }
        guard parts.isSecure else { throw .insecureEndpoint(endpoint) }
        var seen = try namesInQuery(of: parts)
        for name in seen.union(extras.map(\.name)).sorted() where reservedParameters.contains(name)
        {
            throw .reservedParameter(name: name)
        }
        var url = endpoint
        for (name, value) in parameters {
            guard seen.insert(name).inserted else { throw .repeatedParameter(name: name) }
            let separator = !url.contains("?") ? "?" : url.hasSuffix("?") ? "" : "&"
            url += separator + FormEncoding.encodeForURL(name) + "="
            url += FormEncoding.encodeForURL(value)
        }
        return url
    }

    private static func namesInQuery(
        of endpoint: WebURL
    ) throws(AuthorizationRequestError) -> Set<String> {
        var query = endpoint.query ?? ""
        do {
            let parameters = try query.withUTF8 { bytes in
                try FormEncoding.read(UnsafeRawBufferPointer(bytes))
            }
            return Set(parameters.map(\.name))
        } catch {
            throw .invalidEndpoint(endpoint.text)
        }
    }
}
