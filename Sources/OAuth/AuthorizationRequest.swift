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
        /// `resource`, the one parameter that may be there more than once (RFC 8707 section 2).
        package var resources: [String] = []
        /// Whom the request goes to; nil when the endpoints were given by hand without an issuer.
        package var issuer: String?
        /// Whether that server promises `iss` in every answer (RFC 9207 section 3).
        package var issuerIsPromised: Bool
        /// Of the key that the code is to be bound to (RFC 9449 section 10); nil for none.
        package var proofThumbprint: String?

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
        "code_challenge_method", "request", "request_uri", "client_secret", "dpop_jkt",
    ]

    package let issuer: String?
    package let issuerIsPromised: Bool
    package let redirectURI: String
    package let scopes: [String]
    package let state: String
    /// Present when an ID token is asked for, with the scope `openid`.
    package let nonce: String?
    package let pkce: PKCE
    /// All parameters that are not in the endpoint's query, for a request that is pushed.
    package let parameters: [FormParameter]
    /// The whole URL; it carries no secret, but whoever reads it knows the state.
    package private(set) var url: String
    private let endpoint: String
    private let clientID: String

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
        if let thumbprint = wish.proofThumbprint { parameters.append(("dpop_jkt", thumbprint)) }
        parameters += wish.extras
        try AuthorizationRequest.check(wish, parameters.map(\.name))
        parameters += wish.resources.map { ("resource", $0) }
        self.parameters = parameters.map { FormParameter($0.name, $0.value) }
        url = AuthorizationRequest.url(wish.endpoint, parameters)
        endpoint = wish.endpoint
        clientID = wish.clientID
    }

    /// The same request by reference, as a server gave it for a pushed one: the browser carries
    /// nothing else (RFC 9126 section 4).
    package func pushed(as requestURI: String) -> AuthorizationRequest {
        var request = self
        request.url = AuthorizationRequest.url(
            endpoint, [("client_id", clientID), ("request_uri", requestURI)])
        return request
    }

    /// Every name once, the endpoint's own query included, and none that the flow sets by itself.
    private static func check(
        _ wish: Wish, _ names: [String]
    ) throws(AuthorizationRequestError) {
        guard let parts = try? WebURL(wish.endpoint), parts.fragment == nil else {
            throw .invalidEndpoint(wish.endpoint)
        }
        guard parts.isSecure else { throw .insecureEndpoint(wish.endpoint) }
        var seen = try parts.parameterNames
        let chosen = seen.union(wish.extras.map(\.name)).sorted()
        for name in chosen where reservedParameters.contains(name) {
            throw .reservedParameter(name: name)
        }
        for name in names + (wish.resources.isEmpty ? [] : ["resource"]) {
            guard seen.insert(name).inserted else { throw .repeatedParameter(name: name) }
        }
    }

    private static func url(
        _ endpoint: String, _ parameters: [(name: String, value: String)]
    ) -> String {
        var url = endpoint
        for (name, value) in parameters {
            url += FormEncoding.separator(behind: url) + FormEncoding.encodeForURL(name) + "="
            url += FormEncoding.encodeForURL(value)
        }
        return url
    }
}

extension WebURL {
    /// The names of the parameters that an endpoint has in its query already (RFC 6749 section 3.1).
    var parameterNames: Set<String> {
        get throws(AuthorizationRequestError) {
            var query = query ?? ""
            do {
                let parameters = try query.withUTF8 { bytes in
                    try FormEncoding.read(UnsafeRawBufferPointer(bytes))
                }
                return Set(parameters.map(\.name))
            } catch {
                throw .invalidEndpoint(text)
            }
        }
    }
}
