// How a client shows a server who it is (RFC 6749 section 2.3; RFC 7523 section 2.2; RFC 8705 section
// 2). Exactly one method is used in a request, and never a query.

package import Bytes
import Crypto
package import Vocabulary

/// A client and its proof, for one request: an assertion is not sent twice.
package enum ClientAuthentication: Sendable {
    /// A public client, or one that the TLS handshake has shown: only its name, in the body. An
    /// empty name is no client at all, as some servers allow for grants that carry their own proof.
    case none(clientID: String)
    case basic(clientID: String, secret: SecretBytes)
    case post(clientID: String, secret: SecretBytes)
    case assertion(clientID: String, SecretBytes)

    /// What goes into the body.
    package var parameters: [FormParameter] {
        switch self {
        case .none(let clientID):
            return clientID.isEmpty ? [] : [FormParameter("client_id", clientID)]
        case .basic: return []
        case .post(let clientID, let secret):
            return [FormParameter("client_id", clientID), FormParameter("client_secret", secret)]
        case .assertion(let clientID, let assertion):
            return [
                FormParameter("client_id", clientID),
                FormParameter("client_assertion_type", ClientAssertion.type),
                FormParameter("client_assertion", assertion),
            ]
        }
    }

    /// What goes into the head.
    package var fields: [OutboundRequest.Field] {
        switch self {
        case .none, .post, .assertion: []
        case .basic(let clientID, let secret):
            [.init("Authorization", ClientAuthentication.basicValue(clientID, secret))]
        }
    }

    /// What no message may repeat.
    package var secrets: [SecretBytes] {
        switch self {
        case .none: []
        case .basic(_, let secret), .post(_, let secret), .assertion(_, let secret): [secret]
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

extension OAuthSettings.ClientAuthentication {
    /// The one method that requests use.
    ///
    /// - Parameters:
    ///   - configured: decides, where there is one and a proof for it.
    ///   - supported: the server's `token_endpoint_auth_methods_supported`. Of the methods that a
    ///     secret allows basic comes first, since every server must support it (RFC 6749 section
    ///     2.3.1) and it is the default of a list that is absent (RFC 8414 section 2).
    package static func chosen(
        configured: Self? = nil, hasSecret: Bool, hasKey: Bool = false,
        hasCertificate: Bool = false,
        supported: [String]? = nil
    ) -> Self {
        func isUsable(_ method: Self) -> Bool {
            switch method {
            case .none: true
            case .basic, .post, .secretJWT: hasSecret
            case .privateKeyJWT: hasKey
            case .tls, .selfSignedTLS: hasCertificate
            }
        }
        if let configured { return isUsable(configured) ? configured : .none }
        // What was given besides a secret was given on purpose.
        let usable: [Self] =
            if hasKey {
                [.privateKeyJWT]
            } else if hasSecret {
                [.basic, .post, .secretJWT]
            } else if hasCertificate {
                [.tls, .selfSignedTLS]
            } else {
                []
            }
        return usable.first { supported?.contains($0.rawValue) ?? true } ?? usable.first ?? .none
    }
}
