// Where a provider's endpoints are: by hand, or from metadata that its issuer publishes. The issuer in
// a document is compared byte by byte each time; documents are kept by the shelf.

import Bytes
import Diagnostics
import OAuth
package import Vocabulary

/// One desk for all credentials of a process.
package actor DiscoveryDesk {
    let surroundings: Surroundings
    let shelf: DocumentShelf
    let registrations: RegistrationBook
    /// The providers' keys.
    nonisolated let keys: KeyDesk

    package init(in surroundings: Surroundings) {
        self.surroundings = surroundings
        shelf = DocumentShelf(in: surroundings)
        registrations = RegistrationBook(in: surroundings)
        keys = KeyDesk(in: surroundings)
    }

    /// The endpoints as a client with these settings uses them.
    package func endpoints(
        of settings: OAuthSettings
    ) async throws(DiscoveryError) -> Endpoints {
        try await endpoints(
            for: settings.endpoints, quirks: settings.quirks, reach: settings.reach
        ).used(by: settings).checked(settings.reach)
    }

    package func endpoints(
        for configured: OAuthSettings.Endpoints, quirks: ProviderQuirks = [],
        reach: OutboundRequest.Reach = .anywhere
    ) async throws(DiscoveryError) -> Endpoints {
        switch configured {
        case .fixed(let authorization, let token, let issuer):
            return Endpoints(authorization: authorization, token: token, issuer: issuer)
        case .discovered(let resource, let wanted):
            let server = try await server(of: resource, wanted: wanted)
            return try await endpoints(
                for: .issuer(server.issuer), quirks: quirks,
                reach: wanted == nil ? Self.reach(of: resource) : .anywhere)
        case .issuer(let issuer):
            let metadata = try await metadata(of: issuer, reach: reach, quirks: quirks)
            do throws(MetadataError) {
                return try Endpoints(metadata)
            } catch {
                throw .metadata(MetadataProblem(error))
            }
        }
    }

    /// The endpoints where the provider has others by now than the ones that did not answer as such; it
    /// is asked for its metadata again, once a minute at the most. Nil where they are the same.
    func endpoints(
        of settings: OAuthSettings, insteadOf known: Endpoints
    ) async -> Endpoints? {
        guard case .issuer(let issuer) = settings.endpoints,
            (try? await metadata(
                of: issuer, reach: settings.reach, quirks: settings.quirks,
                ageSecondsMax: Self.movedAgeSecondsMax)) != nil,
            let fresh = try? await endpoints(of: settings),
            !fresh.token.isIdentical(to: known.token)
        else { return nil }
        return fresh
    }

    /// Has the provider asked for its metadata again, where the copy is older than a minute: for whoever
    /// sends a person or a last word there. Where it gives none, the copy is used.
    func lookAgain(_ settings: OAuthSettings) async {
        guard case .issuer(let issuer) = settings.endpoints else { return }
        _ = try? await metadata(
            of: issuer, reach: settings.reach, quirks: settings.quirks,
            ageSecondsMax: Self.movedAgeSecondsMax)
    }

    private static let movedAgeSecondsMax: Int64 = 60

    /// The metadata of an issuer: fresh, or the last known where the provider gives none.
    ///
    /// - Parameters:
    ///   - reach: `publicOnly` where a stranger named the issuer.
    ///   - ageSecondsMax: how old a copy may be that is used without asking.
    func metadata(
        of issuer: String, reach: OutboundRequest.Reach = .anywhere, quirks: ProviderQuirks = [],
        ageSecondsMax: Int64 = DocumentShelf.lifetimeSeconds
    ) async throws(DiscoveryError) -> ServerMetadata {
        let mayBeTemplate = quirks.contains(.issuerTemplate)
        let copy = try await shelf.document(.server, issuer, ageSecondsMax: ageSecondsMax) {
            document in
            (try? ServerMetadata(
                document: document, issuer: issuer, mayBeTemplate: mayBeTemplate)) != nil
        } fetch: { [surroundings] in
            do throws(DiscoveryError) {
                return .success(
                    try await surroundings.fetchMetadata(
                        issuer, mayBeTemplate: mayBeTemplate, reach: reach
                    ).document)
            } catch {
                return .failure(error)
            }
        }
        do throws(MetadataError) {
            return try ServerMetadata(
                document: copy.document, issuer: issuer, mayBeTemplate: mayBeTemplate)
        } catch {
            throw .metadata(MetadataProblem(error))
        }
    }
}

extension Surroundings {
    /// Asks the well-known places in their order.
    fileprivate func fetchMetadata(
        _ issuer: String, mayBeTemplate: Bool, reach: OutboundRequest.Reach
    ) async throws(DiscoveryError) -> ServerMetadata {
        let urls: [String]
        do throws(MetadataError) {
            urls = try ServerMetadata.wellKnownURLs(for: issuer)
        } catch {
            throw .metadata(MetadataProblem(error))
        }
        // What is said in the end: a flaw in a document that is there before its absence elsewhere.
        var problem: DiscoveryError?
        var found: ServerMetadata?
        for url in urls {
            let response: InboundResponse
            do throws(DiscoveryError) {
                response = try await fetchDocument(ServerMetadata.request(url), reach: reach)
            } catch {
                guard let found else { throw error }
                return found
            }
            do throws(MetadataError) {
                let metadata = try ServerMetadata.read(
                    response, issuer: issuer, mayBeTemplate: mayBeTemplate)
                if let found { return found.completed(by: metadata) }
                guard url == urls[0], metadata.isSilentOnIdentity else { return metadata }
                found = metadata
            } catch {
                switch error {
                case .notHere: continue
                case .unavailable(let status):
                    problem = problem ?? .unreachable(url: url, reason: "status \(status)")
                default: problem = problem ?? .metadata(MetadataProblem(error, at: url))
                }
            }
        }
        if let found { return found }
        throw problem ?? .notFound(tried: urls)
    }

    /// All places of one server share its fate: one that gives no answer ends the search.
    func fetchDocument(
        _ request: OutboundRequest, reach: OutboundRequest.Reach
    ) async throws(DiscoveryError) -> InboundResponse {
        var request = request
        request.reach = reach
        request.timeoutMilliseconds = 15_000
        guard reach.allows(request.url) else { throw .notPublic(url: request.url) }
        do throws(FetchError) {
            return try await fetcher.fetch(request)
        } catch {
            switch error {
            case .notPublic: throw .notPublic(url: request.url)
            case .responseTooLarge, .notHTTP:
                throw .metadata(
                    MetadataProblem(
                        message: "\(request.url) answers with no such document", mayPass: true))
            default: throw .unreachable(url: request.url, reason: error.words)
            }
        }
    }
}
