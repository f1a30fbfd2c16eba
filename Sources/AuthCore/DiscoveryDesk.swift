// Where a provider's endpoints are: by hand, or from metadata that its issuer publishes. Documents are
// kept in memory and beside the logins, so that a provider's outage stops nothing that needs no
// provider; the issuer in them is compared byte by byte each time.

import Bytes
import Diagnostics
package import OAuth
import TokenStore
package import Vocabulary

/// Why the endpoints are not known.
package enum DiscoveryError: Error, Hashable, Sendable {
    /// All of these were asked and none has a document for the issuer.
    case notFound(tried: [String])
    case metadata(MetadataProblem)
    /// May go by itself.
    case unreachable(url: String, reason: String)
}

/// A document or an endpoint that is not used, in words.
package struct MetadataProblem: Hashable, Sendable {
    package let message: String
}

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

/// One desk for all credentials of a process.
package actor DiscoveryDesk {
    private struct Known {
        let metadata: ServerMetadata
        let fetchedAt: WallTime
    }

    /// How long a document is used without asking for it again.
    static let lifetimeSeconds: Int64 = 86_400

    private let surroundings: Surroundings
    private var known: [String: Known] = [:]
    private var running: [String: Task<Result<Known, DiscoveryError>, Never>] = [:]

    package init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    package func endpoints(
        for configured: OAuthSettings.Endpoints
    ) async throws(DiscoveryError) -> Endpoints {
        switch configured {
        case .fixed(let authorization, let token, let issuer):
            return Endpoints(authorization: authorization, token: token, issuer: issuer)
        case .discovered(let resource, _):
            throw .metadata(
                MetadataProblem(message: "\"\(resource)\" was not asked for its servers"))
        case .issuer(let issuer):
            let metadata = try await metadata(of: issuer)
            do throws(MetadataError) {
                return try Endpoints(metadata)
            } catch {
                throw .metadata(MetadataProblem(error))
            }
        }
    }

    /// The metadata of an issuer: fresh, or the last known where the provider gives none.
    func metadata(of issuer: String) async throws(DiscoveryError) -> ServerMetadata {
        if known[issuer] == nil { known[issuer] = await kept(issuer) }
        if let known = known[issuer], isFresh(known) { return known.metadata }
        let task = running[issuer] ?? Task { await self.fetch(issuer) }
        running[issuer] = task
        let result = await task.value
        running[issuer] = nil
        switch result {
        case .success(let fetched): return fetched.metadata
        case .failure(let error):
            guard let stale = known[issuer] else { throw error }
            surroundings.log.warning(
                "provider metadata could not be renewed", ("issuer", .text(issuer)),
                ("reason", .text(error.message)))
            return stale.metadata
        }
    }

    private func isFresh(_ known: Known) -> Bool {
        let age = surroundings.time.wallTime().seconds - known.fetchedAt.seconds
        return age >= 0 && age < Self.lifetimeSeconds
    }

    // MARK: Fetching

    private func fetch(_ issuer: String) async -> Result<Known, DiscoveryError> {
        do throws(DiscoveryError) {
            let metadata = try await fetchMetadata(issuer)
            let fetched = Known(metadata: metadata, fetchedAt: surroundings.time.wallTime())
            known[issuer] = fetched
            await keep(fetched)
            return .success(fetched)
        } catch {
            return .failure(error)
        }
    }

    private func fetchMetadata(_ issuer: String) async throws(DiscoveryError) -> ServerMetadata {
        let urls: [String]
        do throws(MetadataError) {
            urls = try ServerMetadata.wellKnownURLs(for: issuer)
        } catch {
            throw .metadata(MetadataProblem(error))
        }
        // What is said in the end: a flaw in a document that is there before its absence elsewhere.
        var problem: DiscoveryError?
        for url in urls {
            do throws(DiscoveryError) {
                return try await fetchMetadata(issuer, at: url)
            } catch {
                if case .notFound = error { continue }
                problem = problem ?? error
            }
        }
        throw problem ?? .notFound(tried: urls)
    }

    private func fetchMetadata(
        _ issuer: String, at url: String
    ) async throws(DiscoveryError) -> ServerMetadata {
        let response: InboundResponse
        do throws(FetchError) {
            response = try await surroundings.fetcher.fetch(ServerMetadata.request(url))
        } catch {
            throw .unreachable(url: url, reason: "\(error)")
        }
        do throws(MetadataError) {
            return try ServerMetadata.read(response, issuer: issuer)
        } catch {
            switch error {
            case .notHere: throw .notFound(tried: [url])
            case .unavailable(let status): throw .unreachable(url: url, reason: "status \(status)")
            default: throw .metadata(MetadataProblem(error, at: url))
            }
        }
    }

    // MARK: Keeping

    /// A name that any issuer can have. Two issuers that share one lose nothing but a request, since
    /// the document names its own.
    private func noteName(_ issuer: String) -> String {
        // FNV-1a.
        let hash = issuer.utf8.reduce(UInt64(0xcbf2_9ce4_8422_2325)) { hash, byte in
            (hash ^ UInt64(byte)) &* 0x100_0000_01b3
        }
        return "metadata-" + String(hash, radix: 16)
    }

    private func kept(_ issuer: String) async -> Known? {
        guard let note = await surroundings.store.note(noteName(issuer))?.asObject,
            let seconds = note["fetched_at"]?.asNumber?.asInteger,
            let document = note["document"]?.asObject,
            let metadata = try? ServerMetadata(document: document, issuer: issuer)
        else { return nil }
        return Known(metadata: metadata, fetchedAt: WallTime(seconds: seconds))
    }

    private func keep(_ known: Known) async {
        let note: JSONValue = [
            "fetched_at": .number(JSONNumber(known.fetchedAt.seconds)),
            "document": .object(known.metadata.document),
        ]
        do throws(StoreError) {
            try await surroundings.store.saveNote(noteName(known.metadata.issuer), note)
        } catch {
            surroundings.log.debug(
                "provider metadata could not be kept", ("reason", .text(error.message)))
        }
    }
}

extension Endpoints {
    fileprivate init(_ metadata: ServerMetadata) throws(MetadataError) {
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
}

extension DiscoveryError {
    /// One line.
    package var message: String {
        switch self {
        case .notFound(let tried):
            "no provider metadata at " + tried.joined(separator: ", ")
        case .metadata(let problem): problem.message
        case .unreachable(let url, let reason): "\(url) gives no answer: \(reason)"
        }
    }

    var lack: Lack {
        switch self {
        case .notFound, .metadata: .misconfigured(reason: message)
        case .unreachable: .transient(retryAfterSeconds: nil, reason: message)
        }
    }
}

extension MetadataProblem {
    init(_ error: MetadataError, at url: String? = nil) {
        let place = url.map { " (in \($0))" } ?? ""
        message =
            switch error {
            case .invalidIssuer(let issuer): "\"\(issuer)\" cannot be an issuer"
            case .insecureIssuer(let issuer): "the issuer \"\(issuer)\" is not https"
            case .notHere(let status), .unavailable(let status): "status \(status)\(place)"
            case .unreadable: "the provider metadata is no JSON object with an issuer\(place)"
            case .issuerMismatch(let expected, let received):
                "the configuration says issuer \"\(expected)\", the provider says "
                    + "\"\(received)\"; they must be the same to the last byte\(place)"
            case .missingEndpoint(let name): "the provider metadata has no \(name)"
            case .invalidEndpoint(let name, let url): "\(name) \"\(url)\" is no URL"
            case .insecureEndpoint(let name, let url): "\(name) \"\(url)\" is not https"
            }
    }
}
