// RP-initiated logout (OpenID Connect RP-Initiated Logout 1.0): where a browser goes in order to end
// the person's session at the provider, and what comes back. It is best effort by nature.

package import Bytes
import Vocabulary

/// What came back after a log-out.
package enum EndSessionAnswer: Hashable, Sendable {
    case good
    /// Some providers drop `state`; the log-out counts.
    case withoutState
    /// Somebody else's message.
    case otherState
    case unreadable
}

/// One log-out's request.
package struct EndSessionRequest: Sendable {
    /// Present when the provider is asked to send the browser back.
    package let state: String?
    /// The whole URL. It may hold the ID token, so it goes to a browser by redirect, and never to a
    /// command line, a terminal or a log.
    package let url: SecretBytes

    /// - Parameters:
    ///   - hint: the ID token of the login, however old (section 2).
    ///   - clientID: sent beside the hint too: where its audience is a list, be it of one, Authlib
    ///     finds no client in it, and sends nobody back. Left out where the endpoint has its own.
    ///   - redirectURI: one that is registered for it, or nil.
    package init(
        endpoint: String, hint: SecretBytes?, clientID: String, redirectURI: String?,
        locales: [String] = []
    ) throws(AuthorizationRequestError) {
        guard let parts = try? WebURL(endpoint), parts.fragment == nil else {
            throw .invalidEndpoint(endpoint)
        }
        guard parts.isSecure else { throw .insecureEndpoint(endpoint) }
        var parameters: [FormParameter] = []
        if let hint { parameters.append(FormParameter("id_token_hint", hint)) }
        if !(try parts.parameterNames.contains("client_id")) {
            parameters.append(FormParameter("client_id", clientID))
        }
        state = redirectURI == nil ? nil : Nonce.fresh()
        if let redirectURI, let state {
            parameters.append(FormParameter("post_logout_redirect_uri", redirectURI))
            parameters.append(FormParameter("state", state))
        }
        if !locales.isEmpty {
            parameters.append(FormParameter("ui_locales", locales.joined(separator: " ")))
        }
        let separator = parameters.isEmpty ? "" : FormEncoding.separator(behind: endpoint)
        let form = FormEncoding.encode(parameters)
        let start = Array((endpoint + separator).utf8)
        url = SecretBytes(count: start.count + form.count) { target in
            target.copyBytes(from: start)
            form.withBytes { bytes in
                UnsafeMutableRawBufferPointer(rebasing: target[start.count...])
                    .copyMemory(from: bytes)
            }
        }
    }

    /// Judges the query of the request that came back, without "?".
    package func read(answer query: UnsafeRawBufferPointer) -> EndSessionAnswer {
        guard let state else { return .withoutState }
        guard let parameters = try? FormEncoding.read(query) else { return .unreadable }
        guard let received = parameters.first(where: { $0.name == "state" })?.value else {
            return .withoutState
        }
        return received == SecretBytes(state) ? .good : .otherState
    }
}
