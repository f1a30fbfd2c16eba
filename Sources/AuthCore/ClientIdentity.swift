// Who we are at a provider, shown anew with each request: secrets are read again, since they are
// rotated under running processes, and assertions are made again, since no server takes one twice.

import Bytes
import OAuth
import Vocabulary

/// A client of one provider.
struct ClientIdentity: Sendable {
    let settings: OAuthSettings
    let surroundings: Surroundings

    /// The proof for one request.
    func authentication(
        at endpoints: Endpoints
    ) async throws(SecretError) -> ClientAuthentication {
        let method = OAuthSettings.ClientAuthentication.chosen(
            configured: settings.clientAuthentication, hasSecret: settings.clientSecret != nil,
            hasKey: settings.privateKey != nil,
            hasCertificate: settings.clientCertificate != nil,
            supported: endpoints.authenticationMethods)
        let clientID = settings.clientID
        switch method {
        case .none, .tls, .selfSignedTLS: return .none(clientID: clientID)
        case .basic: return .basic(clientID: clientID, secret: try await secret())
        case .post: return .post(clientID: clientID, secret: try await secret())
        case .secretJWT, .privateKeyJWT: return .none(clientID: clientID)
        }
    }

    private func secret() async throws(SecretError) -> SecretBytes {
        guard let source = settings.clientSecret else {
            preconditionFailure("a method that needs a secret is chosen only where there is one")
        }
        return try await source.read(in: surroundings)
    }
}
