// What a provider's description comes to for a client: where it sends what. A description from a
// stranger leads to nothing private.

package import OAuth
package import Vocabulary

/// What is known of a provider.
package struct Endpoints: Sendable {
    package var authorization: String?
    package var token: String
    package var deviceAuthorization: String?
    /// What `iss` is compared with; nil where endpoints were given by hand without one.
    package var issuer: String?
    /// RFC 9207 section 3.
    package var promisesIssuer = false
    /// `token_endpoint_auth_methods_supported`.
    package var authenticationMethods: [String]?
    /// The provider's own description, where there is one.
    package var metadata: ServerMetadata?

    package init(authorization: String? = nil, token: String, issuer: String? = nil) {
        self.authorization = authorization
        self.token = token
        self.issuer = issuer
    }
}

extension Endpoints {
    init(_ metadata: ServerMetadata) throws(MetadataError) {
        self.init(token: try metadata.url(of: .token), issuer: metadata.issuer)
        // Demanded only by who logs in.
        if metadata.has(.authorization) { authorization = try metadata.url(of: .authorization) }
        if metadata.has(.deviceAuthorization) {
            deviceAuthorization = try metadata.url(of: .deviceAuthorization)
        }
        promisesIssuer = metadata.promisesIssuer
        authenticationMethods = metadata.clientAuthenticationMethods
        self.metadata = metadata
    }

    /// The endpoints as a client with these settings uses them: what it was given by hand first, then
    /// what the provider keeps for clients that show a certificate.
    package func used(by settings: OAuthSettings) throws(DiscoveryError) -> Endpoints {
        var endpoints = self
        if settings.clientCertificate != nil, let metadata {
            do throws(MetadataError) {
                endpoints.token = try metadata.url(of: .token, mutualTLS: true)
                if metadata.has(.deviceAuthorization) {
                    endpoints.deviceAuthorization = try metadata.url(
                        of: .deviceAuthorization, mutualTLS: true)
                }
            } catch {
                throw .metadata(MetadataProblem(error))
            }
        }
        let device = ServerMetadata.Endpoint.deviceAuthorization.rawValue
        if let device = settings.endpointsByHand[device] { endpoints.deviceAuthorization = device }
        return endpoints
    }

    /// Where the documents of a public API named the provider, its endpoints are public as well. A
    /// name that leads elsewhere fails at TLS, since no private server has its certificate.
    func checked(_ reach: OutboundRequest.Reach) throws(DiscoveryError) -> Endpoints {
        for url in [authorization, token, deviceAuthorization].compactMap({ $0 })
        where !reach.allows(url) {
            throw .notPublic(url: url)
        }
        return self
    }
}

extension OutboundRequest.Reach {
    /// As far as a URL shows.
    func allows(_ url: String) -> Bool {
        guard self == .publicOnly else { return true }
        return (try? WebURL(url)).map { PublicAddress.mayBePublic($0.origin.host) } ?? false
    }
}
