// A client that registers itself (RFC 7591): the request, and what the server made of it. The server
// may change whatever was asked for, so its answer is what counts; what we could not live with in it
// is an error before anybody is sent to log in.

package import Bytes
package import Vocabulary

/// What a client asks to be registered as: native, public where the server allows it, with the code
/// flow and refresh tokens.
package struct RegistrationRequest: Sendable {
    package var endpoint: String
    package var form: RegistrationSettings.Form
    package var clientName: String
    /// Loopback addresses (RFC 8252 section 7.3); the first is the one that is wanted most.
    package var redirectURIs: [String]
    package var scopes: [String]
    package var method: OAuthSettings.ClientAuthentication
    package var initialAccessToken: SecretBytes?
    package var reach: OutboundRequest.Reach

    package init(
        endpoint: String, form: RegistrationSettings.Form = .dynamic, clientName: String,
        redirectURIs: [String], scopes: [String] = [],
        method: OAuthSettings.ClientAuthentication = .none,
        initialAccessToken: SecretBytes? = nil, reach: OutboundRequest.Reach = .anywhere
    ) {
        self.endpoint = endpoint
        self.form = form
        self.clientName = clientName
        self.redirectURIs = redirectURIs
        self.scopes = scopes
        self.method = method
        self.initialAccessToken = initialAccessToken
        self.reach = reach
    }

    /// The method to ask for, from `token_endpoint_auth_methods_supported`: a native client can keep
    /// no secret, so `none` wherever it is allowed or the server is silent. Nil where the server
    /// wants what this client cannot do.
    package static func method(
        supported: [String]?
    ) -> OAuthSettings.ClientAuthentication? {
        guard let supported else { return OAuthSettings.ClientAuthentication.none }
        let known: [OAuthSettings.ClientAuthentication] = [.none, .basic, .post]
        return known.first { supported.contains($0.rawValue) }
    }

    /// The message to send. A registration is not repeated blindly, so it may take its time.
    package var outbound: OutboundRequest {
        var fields = [OutboundRequest.Field("Accept", "application/json")]
        if let initialAccessToken {
            let value = initialAccessToken.withBytes { bytes in
                let scheme = Array("Bearer ".utf8)
                return SecretBytes(count: scheme.count + bytes.count) { target in
                    target.copyBytes(from: scheme)
                    UnsafeMutableRawBufferPointer(rebasing: target[scheme.count...])
                        .copyMemory(from: bytes)
                }
            }
            fields.append(.init("Authorization", value))
        }
        let body: SecretBytes
        switch form {
        case .dynamic:
            fields.append(.init("Content-Type", "application/json"))
            body = JSONWriter.write(document)
        case .mastodon:
            fields.append(.init("Content-Type", "application/x-www-form-urlencoded"))
            // Several addresses stand on lines of their own in one value.
            body = FormEncoding.encode(
                [
                    FormParameter("client_name", clientName),
                    FormParameter("redirect_uris", redirectURIs.joined(separator: "\n")),
                ] + (scopes.isEmpty ? [] : [FormParameter("scopes", scopeText)]))
        }
        var request = OutboundRequest(
            .post, endpoint, fields: fields, body: body, responseBytesMax: 256 << 10)
        request.reach = reach
        return request
    }

    private var scopeText: String { scopes.joined(separator: " ") }

    private var document: JSONValue {
        var document = JSONObject([
            .init(name: "client_name", value: .string(clientName)),
            .init(name: "redirect_uris", value: .array(redirectURIs.map { .string($0) })),
            .init(name: "application_type", value: "native"),
            .init(name: "grant_types", value: ["authorization_code", "refresh_token"]),
            .init(name: "response_types", value: ["code"]),
            .init(name: "token_endpoint_auth_method", value: .string(method.rawValue)),
        ])
        if !scopes.isEmpty { document["scope"] = .string(scopeText) }
        return .object(document)
    }
}

/// Why there is no registration. Texts of the server's are cleaned for showing.
package enum RegistrationError: Error, Hashable, Sendable {
    /// Whose fault a refusal is.
    package enum Kind: Hashable, Sendable {
        /// Somebody must allow it: an initial access token, an approval (401, 403).
        case notAllowed
        /// Something that was asked for (RFC 7591 section 3.2.2).
        case rejected
        /// The server registers nobody there.
        case absent
    }

    case refused(Kind, code: String?, explanation: String?, status: Int)
    /// The server is in trouble; later it may answer.
    case unavailable(status: Int, retryAfterSeconds: Int64?)
    case unreadable(status: Int)
    /// The answer lacks something, or holds what cannot be used.
    case missing(String)
    /// The server insists on a method that this client does not have.
    case unsupportedMethod(String)
    /// None of the addresses that were asked for came back.
    case redirectChanged([String])
    /// A secret that was over before it began.
    case expired
}

/// A client as a server registered it.
package struct RegisteredClient: Sendable {
    package let clientID: String
    package let secret: SecretBytes?
    /// Nil for never (`client_secret_expires_at` 0).
    package let secretExpiresAt: WallTime?
    package let method: OAuthSettings.ClientAuthentication
    /// Those of ours that the server took, in our order.
    package let redirectURIs: [String]
    /// The whole answer, for keeping; its texts are secrets.
    package let document: JSONObject

    package static func read(
        _ response: InboundResponse, to request: RegistrationRequest, now: WallTime
    ) throws(RegistrationError) -> RegisteredClient {
        let body = (try? JSONReader.read(response.body, strings: .secret))?.asObject
        switch response.status {
        // 201 by the RFC; 200 by many, and by Mastodon.
        case 200, 201: break
        case 408, 425, 429, 500...:
            throw .unavailable(
                status: response.status,
                retryAfterSeconds: response.field("Retry-After").flatMap {
                    RetryAfter.seconds($0, now: now)
                })
        default: throw refusal(response.status, body, request)
        }
        guard let body else { throw .unreadable(status: response.status) }
        // Some say "error" with 200.
        if body["error"] != nil, body["client_id"] == nil {
            throw refusal(response.status, body, request)
        }
        let client = try RegisteredClient(document: body, asked: request.redirectURIs)
        guard client.isUsable(at: now) else { throw .expired }
        return client
    }

    /// - Parameter asked: the addresses that were sent; where the answer names none they are taken
    ///   for registered.
    package init(document: JSONObject, asked: [String]) throws(RegistrationError) {
        guard let clientID = document["client_id"]?.asRevealedString, !clientID.isEmpty,
            clientID.utf8.count <= 4096, clientID.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
        else { throw .missing("client_id") }
        self.clientID = clientID
        secret = document["client_secret"]?.asSecret.flatMap { $0.isEmpty ? nil : $0 }
        secretExpiresAt =
            secret == nil ? nil : RegisteredClient.expiry(document["client_secret_expires_at"])
        method = try RegisteredClient.method(document, hasSecret: secret != nil)
        redirectURIs = try RegisteredClient.redirects(document, asked: asked)
        self.document = document
    }

    /// Whether its secret, where it has one, is good for a while yet: one that ends during a login is
    /// of no use.
    package func isUsable(at now: WallTime) -> Bool {
        secretExpiresAt.map { now.advanced(by: RegisteredClient.marginSeconds) < $0 } ?? true
    }

    private static let marginSeconds: Int64 = 60

    /// Nil for 0, which is never, and for what is no time at all: no reader agrees what that means,
    /// and a refused secret tells soon enough.
    private static func expiry(_ value: JSONValue?) -> WallTime? {
        let seconds = value?.asNumber?.truncated ?? value?.asRevealedString.flatMap { Int64($0) }
        guard let seconds, seconds > 0 else { return nil }
        return WallTime(seconds: seconds)
    }

    /// Where the answer is silent: basic with a secret, which is the default of RFC 7591 section 2.
    private static func method(
        _ document: JSONObject, hasSecret: Bool
    ) throws(RegistrationError) -> OAuthSettings.ClientAuthentication {
        guard let name = document["token_endpoint_auth_method"]?.asRevealedString else {
            return hasSecret ? .basic : .none
        }
        guard let method = OAuthSettings.ClientAuthentication(rawValue: name),
            [.none, .basic, .post].contains(method)
        else { throw .unsupportedMethod(DisplayText.clean(name, lettersMax: 64)) }
        guard method == .none || hasSecret else { throw .missing("client_secret") }
        return method
    }

    private static func redirects(
        _ document: JSONObject, asked: [String]
    ) throws(RegistrationError) -> [String] {
        let received: [String]
        if let list = document["redirect_uris"]?.asArray {
            received = list.compactMap(\.asRevealedString)
        } else if let text = document["redirect_uri"]?.asRevealedString {
            received = text.split(separator: "\n").map(String.init)
        } else {
            return asked
        }
        let kept = asked.filter { uri in received.contains { $0.isIdentical(to: uri) } }
        guard !kept.isEmpty else {
            throw .redirectChanged(
                received.prefix(4).map { DisplayText.clean($0, lettersMax: 100) })
        }
        return kept
    }

    private static func refusal(
        _ status: Int, _ body: JSONObject?, _ request: RegistrationRequest
    ) -> RegistrationError {
        let hidden = [request.initialAccessToken].compactMap { $0 }
        func text(_ name: String, _ lettersMax: Int) -> String? {
            body?[name]?.asSecret.map {
                DisplayText.clean($0, hiding: hidden, lettersMax: lettersMax)
            }
        }
        let kind: RegistrationError.Kind =
            switch status {
            case 401, 403: .notAllowed
            case 404, 405, 410, 501: .absent
            default: .rejected
            }
        return .refused(
            kind, code: text("error", 100), explanation: text("error_description", 300),
            status: status)
    }
}

extension RegistrationError {
    /// One line.
    package var message: String {
        switch self {
        case .refused(let kind, let code, let explanation, let status):
            kind.words + " (" + (code.map { "\"\($0)\"" } ?? "status \(status)")
                + (explanation.map { ": \($0)" } ?? "") + ")"
        case .unavailable(let status, _): "the registration endpoint answered with status \(status)"
        case .unreadable: "the registration endpoint's answer is no JSON object"
        case .missing(let name): "the provider's registration holds no usable \(name)"
        case .unsupportedMethod(let method):
            "the provider registered this client for \"\(method)\", which it cannot do"
        case .redirectChanged(let uris):
            "the provider registered other callback addresses than were asked for: "
                + uris.joined(separator: ", ")
        case .expired: "the provider registered this client with a secret that has expired"
        }
    }

    /// What helps.
    package var hint: String? {
        switch self {
        case .refused(.notAllowed, _, _, _):
            "ask the provider's owner for an initial access token (registration: "
                + "{ initial_access_token: … }), or for a client, and write its client_id"
        case .refused(.rejected, "invalid_redirect_uri", _, _):
            "write the redirect_uri that this provider takes, or register a client by hand and "
                + "write its client_id"
        case .refused, .missing, .unsupportedMethod, .redirectChanged, .expired, .unreadable:
            "register a client at the provider by hand, and write its client_id"
        case .unavailable: nil
        }
    }
}

extension RegistrationError.Kind {
    fileprivate var words: String {
        switch self {
        case .notAllowed: "the provider lets not everybody register a client"
        case .rejected: "the provider refuses to register this client"
        case .absent: "the provider registers no clients there"
        }
    }
}
