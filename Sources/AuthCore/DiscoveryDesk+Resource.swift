// From an API's URL to who gives tokens for it (RFC 9728; MCP authorization): the API's own challenge
// first, then its well-known places. A document of a public API leads to public servers only, and to
// nothing that is not https.

import Bytes
import Diagnostics
import HTTPWire
import OAuth
import Vocabulary

/// What a protected resource told.
struct NamedServer: Sendable {
    let issuer: String
    /// What tokens are asked for.
    let resource: String
    /// What to ask for where the configuration names none.
    let scopes: [String]
}

/// What an API said when it refused a request (RFC 9728 section 5.1; RFC 6750 section 3).
struct ResourceChallenge: Sendable {
    var metadataURL: String?
    var scopes: [String] = []
}

extension DiscoveryDesk {
    /// How old a resource's document may be when somebody logs in.
    private static let loginAgeSecondsMax: Int64 = 60

    /// The server to log in at.
    ///
    /// - Parameters:
    ///   - wanted: the only issuer that will do, where the configuration names one.
    ///   - isLogin: whether the API is asked anew.
    func server(
        of upstream: String, wanted: String?, for id: CredentialID? = nil, isLogin: Bool = false
    ) async throws(DiscoveryError) -> NamedServer {
        let challenge = isLogin ? await challenge(of: upstream, id) : ResourceChallenge()
        let metadata: ResourceMetadata
        do throws(DiscoveryError) {
            metadata = try await resource(
                upstream, challenge, ageSecondsMax: isLogin ? Self.loginAgeSecondsMax : nil)
        } catch {
            // An API without a document has one that a person wrote.
            guard case .noServer = error, let wanted else { throw error }
            return NamedServer(issuer: wanted, resource: upstream, scopes: challenge.scopes)
        }
        let issuer = try await chosen(of: metadata, upstream, wanted: wanted)
        return NamedServer(
            issuer: issuer, resource: metadata.resource,
            scopes: await scopes(challenge, metadata, issuer))
    }

    /// The resource's document as it lies there; asks nobody.
    func knownResource(_ upstream: String) async -> ResourceMetadata? {
        let copy = await shelf.copy(.resource, upstream) { document in
            (try? ResourceMetadata(kept: document, for: upstream)) != nil
        }
        return copy.flatMap { try? ResourceMetadata(kept: $0.document, for: upstream) }
    }

    /// Reads the resource's document again, since the API refused what it gave tokens for.
    func rereadResource(_ upstream: String, metadataURL: String?) async {
        _ = try? await resource(
            upstream, ResourceChallenge(metadataURL: metadataURL),
            ageSecondsMax: Self.loginAgeSecondsMax)
    }

    // MARK: The document

    private func resource(
        _ upstream: String, _ challenge: ResourceChallenge, ageSecondsMax: Int64?
    ) async throws(DiscoveryError) -> ResourceMetadata {
        let copy = try await shelf.document(
            .resource, upstream, ageSecondsMax: ageSecondsMax ?? DocumentShelf.lifetimeSeconds
        ) { document in
            (try? ResourceMetadata(kept: document, for: upstream)) != nil
        } fetch: { [surroundings] in
            do throws(DiscoveryError) {
                return .success(
                    try await surroundings.fetchResource(upstream, challenge.metadataURL).document)
            } catch {
                return .failure(error)
            }
        }
        do throws(ResourceMetadataError) {
            return try ResourceMetadata(kept: copy.document, for: upstream)
        } catch {
            throw .metadata(MetadataProblem(error, at: upstream))
        }
    }

    /// The first of the named servers that can be used.
    private func chosen(
        of metadata: ResourceMetadata, _ upstream: String, wanted: String?
    ) async throws(DiscoveryError) -> String {
        let named = metadata.authorizationServers
        if let wanted {
            guard
                named.isEmpty
                    || named.contains(where: { IssuerDifference.isOnlyRootSlash($0, wanted) })
            else {
                throw .otherServers(resource: upstream, wanted: wanted, named: named)
            }
            return wanted
        }
        var problem: DiscoveryError?
        for issuer in named {
            do throws(DiscoveryError) {
                return try await written(issuer, of: upstream)
            } catch {
                problem = problem ?? error
            }
        }
        throw problem ?? .noServer(resource: upstream, tried: [])
    }

    /// A server that an API names, as its own metadata write it: the two may differ in the slash of an
    /// empty path, and in nothing else (RFC 8414 section 3.3).
    private func written(
        _ issuer: String, of upstream: String
    ) async throws(DiscoveryError) -> String {
        let reach = Self.reach(of: upstream)
        do throws(DiscoveryError) {
            _ = try await metadata(of: issuer, reach: reach)
            return issuer
        } catch {
            guard case .metadata(let problem) = error, let received = problem.otherIssuer else {
                throw error
            }
            if let other = IssuerDifference.otherRootSpelling(of: issuer),
                other.isIdentical(to: received),
                (try? await metadata(of: other, reach: reach)) != nil
            {
                return other
            }
            throw .metadata(
                MetadataProblem(
                    message: "\"\(upstream)\" takes tokens of \"\(issuer)\", whose metadata are of "
                        + "\"\(received)\"; they must be the same to the last byte"))
        }
    }

    /// Where documents of an API may lead.
    static func reach(of upstream: String) -> OutboundRequest.Reach {
        guard let url = try? WebURL(upstream), PublicAddress.mayBePublic(url.origin.host) else {
            return .anywhere
        }
        return .publicOnly
    }

    /// The challenge's, else all that the resource knows (MCP authorization, "Scope Selection
    /// Strategy"); and what a server wants to hear from who wants to stay logged in.
    private func scopes(
        _ challenge: ResourceChallenge, _ metadata: ResourceMetadata, _ issuer: String
    ) async -> [String] {
        var scopes = challenge.scopes.isEmpty ? metadata.scopes ?? [] : challenge.scopes
        let offline = "offline_access"
        let supported = try? await self.metadata(of: issuer).scopes
        if !scopes.isEmpty, !scopes.contains(offline), supported?.contains(offline) ?? false {
            scopes.append(offline)
        }
        return scopes
    }

    // MARK: The challenge

    /// What the API says to a request without a token. Nothing depends on an answer.
    private func challenge(of upstream: String, _ id: CredentialID?) async -> ResourceChallenge {
        let request = OutboundRequest(
            .get, upstream,
            fields: [.init("Accept", "application/json, text/event-stream")],
            timeoutMilliseconds: 10_000, responseBytesMax: 64 << 10)
        var challenge = ResourceChallenge()
        if let response = try? await surroundings.fetcher.fetch(request),
            response.status == 401 || response.status == 403
        {
            challenge = ResourceChallenge(response)
        }
        // What it said to requests with a token, where it says nothing to those without.
        guard let id, let origin = (try? WebURL(upstream))?.origin else { return challenge }
        let known = await ChallengeBook.read(id, from: surroundings.store).first {
            $0.upstream.isIdentical(to: origin.description) && $0.status == 401
        }
        challenge.metadataURL = challenge.metadataURL ?? known?.resourceMetadata
        if challenge.scopes.isEmpty { challenge.scopes = ScopeText.usable(known?.scopes ?? []) }
        return challenge
    }
}

extension ResourceChallenge {
    /// Of the first challenge that takes tokens and says something.
    init(_ response: InboundResponse) {
        self.init()
        for field in response.fields where field.name.lowercased() == "www-authenticate" {
            for challenge in Self.challenges(field.value)
            where ["bearer", "dpop"].contains(challenge.scheme) {
                metadataURL = metadataURL ?? challenge.parameter("resource_metadata")
                if scopes.isEmpty, let text = challenge.parameter("scope") {
                    scopes = ScopeText.usable(text.split(separator: " ").map(String.init))
                }
            }
        }
    }

    private static func challenges(_ value: String) -> [Challenge] {
        Array(value.utf8).withUnsafeBytes { bytes in
            var reader = ChallengeReader(bytes)
            var challenges: [Challenge] = []
            while challenges.count < ChallengeReader.partsMax,
                let challenge = try? reader.next()
            {
                challenges.append(challenge)
            }
            return challenges
        }
    }
}

extension Surroundings {
    /// Asks the place that the challenge named, then the well-known ones.
    fileprivate func fetchResource(
        _ upstream: String, _ challengedURL: String?
    ) async throws(DiscoveryError) -> ResourceMetadata {
        var places: [ResourceMetadata.Place] = []
        var problem: DiscoveryError?
        do throws(ResourceMetadataError) {
            places = try ResourceMetadata.places(for: upstream)
            if let challengedURL {
                let place = try ResourceMetadata.place(challenged: challengedURL, for: upstream)
                places.removeAll { $0.url.isIdentical(to: place.url) }
                places.insert(place, at: 0)
            }
        } catch {
            problem = .metadata(MetadataProblem(error, at: upstream))
            guard case .unsafeURL = error else { throw problem ?? .metadata(.init(error, at: "")) }
        }
        let reach = DiscoveryDesk.reach(of: upstream)
        for place in places {
            do throws(DiscoveryError) {
                return try await fetchResource(at: place, reach)
            } catch {
                if case .notFound = error { continue }
                problem = problem ?? error
            }
        }
        throw problem ?? .noServer(resource: upstream, tried: places.map(\.url))
    }

    private func fetchResource(
        at place: ResourceMetadata.Place, _ reach: OutboundRequest.Reach
    ) async throws(DiscoveryError) -> ResourceMetadata {
        let response = try await fetchDocument(ResourceMetadata.request(place), reach: reach)
        do throws(ResourceMetadataError) {
            return try ResourceMetadata.read(response, at: place)
        } catch {
            switch error {
            case .notHere: throw .notFound(tried: [place.url])
            case .unavailable(let status):
                throw .unreachable(url: place.url, reason: "status \(status)")
            default: throw .metadata(MetadataProblem(error, at: place.url))
            }
        }
    }
}
