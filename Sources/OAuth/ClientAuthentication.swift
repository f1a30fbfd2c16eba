// How a client shows the token endpoint who it is (RFC 6749 section 2.3). Exactly one method is used
// in a request, and never a query.

package import Bytes
import Crypto
package import Vocabulary

/// A client and its proof. Further methods are further cases.
package enum ClientAuthentication: Sendable {
    /// A public client: only its name, in the body.
    case none(clientID: String)
    case basic(clientID: String, secret: SecretBytes)
    case post(clientID: String, secret: SecretBytes)

    /// - Parameters:
    ///   - method: the configured one; nil chooses from what the server lists, basic first, since
    ///     every server must support it (RFC 6749 section 2.3.1) and it is the default of a list
    ///     that is absent (RFC 8414 section 2).
    ///   - supported: `token_endpoint_auth_methods_supported`.
    package init(
        clientID: String, secret: SecretBytes?,
        method: OAuthSettings.ClientAuthentication? = nil, supported: [String]? = nil
    ) {
        guard let secret, method != OAuthSettings.ClientAuthentication.none else {
            self = .none(clientID: clientID)
            return
        }
        let prefersPost =
            supported.map { methods in
                !methods.contains(OAuthSettings.ClientAuthentication.basic.rawValue)
                    && methods.contains(OAuthSettings.ClientAuthentication.post.rawValue)
            } ?? false
        switch method ?? (prefersPost ? .post : .basic) {
        case .post: self = .post(clientID: clientID, secret: secret)
        case .basic, .none: self = .basic(clientID: clientID, secret: secret)
        }
    }

    /// What goes into the body.
    var parameters: [FormParameter] {
        switch self {
        case .none(let clientID): [FormParameter("client_id", clientID)]
        case .basic: []
        case .post(let clientID, let secret):
            [FormParameter("client_id", clientID), FormParameter("client_secret", secret)]
        }
    }

    /// What goes into the head.
    var fields: [OutboundRequest.Field] {
        switch self {
        case .none, .post: []
        case .basic(let clientID, let secret):
            [.init("Authorization", ClientAuthentication.basicValue(clientID, secret))]
        }
    }

    /// What no message may repeat.
    var secrets: [SecretBytes] {
        switch self {
        case .none: []
        case .basic(_, let secret), .post(_, let secret): [secret]
        }
    }

    /// Both parts are form-encoded before they are joined (RFC 6749 section 2.3.1), so neither can
    /// contain the colon.
    private static func basicValue(_ clientID: String, _ secret: SecretBytes) -> SecretBytes {
        let pair = SecretBytes.joined([
            FormEncoding.encode(value: SecretBytes(clientID)), SecretBytes([ASCII.colon]),
            FormEncoding.encode(value: secret),
        ])
        return .joined([SecretBytes("Basic "), Base64.encode(pair, .standard)])
    }
}

extension SecretBytes {
    /// The parts in a row.
    fileprivate static func joined(_ parts: [SecretBytes]) -> SecretBytes {
        SecretBytes(count: parts.reduce(0) { $0 + $1.count }) { target in
            var position = 0
            for part in parts {
                part.withBytes { bytes in
                    UnsafeMutableRawBufferPointer(rebasing: target[position...])
                        .copyMemory(from: bytes)
                }
                position += part.count
            }
        }
    }
}
