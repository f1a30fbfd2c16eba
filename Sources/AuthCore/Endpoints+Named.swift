// The endpoints that not every provider has, by their names in its metadata: by hand first, then from
// the document; nil where there is none.

package import OAuth
package import Vocabulary

extension Endpoints {
    /// - Throws: where the document names something that is not to be used.
    package func url(
        of endpoint: ServerMetadata.Endpoint, for settings: OAuthSettings
    ) throws(DiscoveryError) -> String? {
        if let url = settings.endpointsByHand[endpoint.rawValue] { return url }
        guard let metadata, metadata.has(endpoint) else { return nil }
        let url: String
        do throws(MetadataError) {
            url = try metadata.url(of: endpoint, mutualTLS: settings.clientCertificate != nil)
        } catch {
            throw .metadata(MetadataProblem(error))
        }
        guard settings.reach.allows(url) else { throw .notPublic(url: url) }
        return url
    }
}

extension DiscoveryDesk {
    /// One of a provider's endpoints for a client with these settings.
    package func url(
        of endpoint: ServerMetadata.Endpoint, for settings: OAuthSettings
    ) async throws(DiscoveryError) -> String? {
        // By hand it needs no discovery, which may fail.
        if let url = settings.endpointsByHand[endpoint.rawValue] { return url }
        return try await endpoints(of: settings).url(of: endpoint, for: settings)
    }
}
