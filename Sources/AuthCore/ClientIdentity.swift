// Who we are at a provider, shown anew with each request: secrets are read again, since they are
// rotated under running processes, and assertions are made again, since no server takes one twice.

import Bytes
import OAuth
import Vocabulary

/// A client of one provider.
struct ClientIdentity: Sendable {
    let settings: OAuthSettings
    let surroundings: Surroundings

    /// The proof for one request, which goes to this address.
    func authentication(
        at endpoints: Endpoints, to url: String
    ) async throws(SecretError) -> ClientAuthentication {
        let method = OAuthSettings.ClientAuthentication.chosen(
            configured: settings.clientAuthentication, hasSecret: settings.clientSecret != nil,
            hasKey: settings.privateKey != nil,
            hasCertificate: settings.clientCertificate != nil,
            supported: endpoints.authenticationMethods)
        let clientID = settings.clientID
        let algorithms = endpoints.metadata?.assertionAlgorithms
        switch method {
        case .none, .tls, .selfSignedTLS: return .none(clientID: clientID)
        case .basic: return .basic(clientID: clientID, secret: try await secret())
        case .post: return .post(clientID: clientID, secret: try await secret())
        case .secretJWT:
            let secret = try await secret()
            let signer = try signer(settings.clientSecret) { () throws(SigningProblem) in
                try JSONWebSigner(sharing: secret, supported: algorithms)
            }
            return assertion(by: signer, at: endpoints, to: url)
        case .privateKeyJWT:
            guard let source = settings.privateKey else { preconditionFailure(Self.chosenBlindly) }
            let pem = try await source.readWhole(in: surroundings)
            let signer = try signer(source) { () throws(SigningProblem) in
                try JSONWebSigner(pem: pem, keyID: settings.keyID, supported: algorithms)
            }
            return assertion(by: signer, at: endpoints, to: url)
        }
    }

    private static let chosenBlindly = "a method is chosen only where there is what it needs"

    private func secret() async throws(SecretError) -> SecretBytes {
        guard let source = settings.clientSecret else { preconditionFailure(Self.chosenBlindly) }
        return try await source.read(in: surroundings)
    }

    private func signer(
        _ source: SecretSource?, _ make: () throws(SigningProblem) -> JSONWebSigner
    ) throws(SecretError) -> JSONWebSigner {
        do throws(SigningProblem) {
            return try make()
        } catch {
            throw .unusableKey(source: source?.name ?? "the key", reason: error.reason)
        }
    }

    private func assertion(
        by signer: JSONWebSigner, at endpoints: Endpoints, to url: String
    ) -> ClientAuthentication {
        let audience =
            switch settings.assertionAudience {
            case .issuer: endpoints.issuer ?? endpoints.token
            case .tokenEndpoint: endpoints.token
            case .endpoint: url
            case .other(let text): text
            }
        let assertion = ClientAssertion(
            clientID: settings.clientID, audience: audience, signer: signer)
        return .assertion(
            clientID: settings.clientID, assertion.token(now: surroundings.time.wallTime()))
    }
}
