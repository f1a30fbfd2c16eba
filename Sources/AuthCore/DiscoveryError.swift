// Why a provider's endpoints, or our own name there, are not known: in words for a person, and as what
// it means for a credential.

package import OAuth
package import TokenStore

/// The end of a search.
package enum DiscoveryError: Error, Hashable, Sendable {
    /// All of these were asked and none has a document for the issuer.
    case notFound(tried: [String])
    case metadata(MetadataProblem)
    /// May go by itself.
    case unreachable(url: String, reason: String)
    /// A stranger's document leads into a private network.
    case notPublic(url: String)
    /// The resource does not say who gives tokens for it.
    case noServer(resource: String, tried: [String])
    /// The resource names servers, and not the configured one.
    case otherServers(resource: String, wanted: String, named: [String])
    /// No way to a client's name is open at this server.
    case noClient(server: String, hasDocument: Bool)
    case registration(RegistrationError)
    /// The login belongs to a server or a client that is none any more.
    case loginOutdated(code: String)
    case store(StoreError)
    /// The initial access token cannot be read.
    case initialAccessToken(SecretError)
}

/// A document or an endpoint that is not used, in words.
package struct MetadataProblem: Hashable, Sendable {
    package let message: String
    package var hint: String?
    /// Whether there may be another one the next time, as while a server is being replaced.
    var mayPass = false
    /// The issuer that a document says it is of, where that is the wrong one.
    var otherIssuer: String?
}

extension DiscoveryError {
    /// One line.
    package var message: String {
        switch self {
        case .notFound(let tried): "no provider metadata at " + tried.joined(separator: ", ")
        case .metadata(let problem): problem.message
        case .unreachable(let url, let reason): "\(url) gives no answer: \(reason)"
        case .notPublic(let url):
            "\"\(url)\" leads into a private network, where nothing public may point us"
        case .noServer(let resource, let tried):
            "\"\(resource)\" does not say who gives tokens for it; asked: "
                + tried.joined(separator: ", ")
        case .otherServers(let resource, let wanted, let named):
            "\"\(resource)\" takes tokens of " + named.map { "\"\($0)\"" }.joined(separator: ", ")
                + ", not of the configured \"\(wanted)\""
        case .noClient(let server, let hasDocument):
            "\"\(server)\" lets no client register itself"
                + (hasDocument ? " and reads no client's document" : "")
        case .registration(let error): error.message
        case .loginOutdated(let code): "the login is of no use any more (\(code))"
        case .store(let error): error.message
        case .initialAccessToken(let error): "the initial access token: \(error.message)"
        }
    }

    /// What may help, where something is known to.
    package var hint: String? {
        switch self {
        case .metadata(let problem): problem.hint
        case .notFound: "write authorization_endpoint and token_endpoint, if it has no metadata"
        case .notPublic: "if it is meant, write it into the configuration: issuer: …"
        case .noServer: "write the provider's issuer beside discover: true"
        case .otherServers: "leave the issuer out, or write one of those"
        case .noClient(_, let hasDocument):
            "register a client at the provider by hand, and write its client_id"
                + (hasDocument ? "" : " (or a document about it: registration: { document: … })")
        case .registration(let error): error.hint
        case .store(let error): error.hint
        case .unreachable, .loginOutdated, .initialAccessToken: nil
        }
    }

    /// Whether it may go by itself. A server that starts or is replaced may say for a while that it has
    /// no such document.
    var mayPass: Bool {
        switch self {
        case .unreachable, .notFound, .store(.busy), .store(.failed), .store(.cancelled): true
        case .metadata(let problem): problem.mayPass
        case .notPublic, .noServer, .otherServers, .noClient, .registration, .loginOutdated,
            .store, .initialAccessToken:
            false
        }
    }

    var lack: Lack {
        if case .loginOutdated(let code) = self { return .loginNeeded(code: code) }
        return mayPass
            ? .transient(retryAfterSeconds: nil, reason: reason) : .misconfigured(reason: reason)
    }

    private var reason: String { hint.map { "\(message); \($0)" } ?? message }
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
        switch error {
        case .notHere, .unavailable, .unreadable: mayPass = true
        case .invalidIssuer, .insecureIssuer, .issuerMismatch, .missingEndpoint, .invalidEndpoint,
            .insecureEndpoint:
            break
        }
        if case .issuerMismatch(let expected, let received) = error {
            otherIssuer = received
            hint = IssuerDifference.hint(expected: expected, received: received)
        }
    }

    init(_ error: ResourceMetadataError, at url: String) {
        message =
            switch error {
            case .invalidResource(let resource): "\"\(resource)\" cannot be a protected resource"
            case .insecureResource(let resource): "\"\(resource)\" is not https"
            case .notHere(let status), .unavailable(let status): "status \(status) (in \(url))"
            case .unreadable: "\(url) is no JSON object with a resource"
            case .resourceMismatch(let expected, let received):
                "\(url) is about \"\(received)\", not about "
                    + expected.map { "\"\($0)\"" }.joined(separator: " or ")
            case .unsafeURL(let url):
                "the API's challenge points to \"\(url)\", which is no https:// URL"
            }
        if case .resourceMismatch(_, let received) = error {
            hint = "if that is the API that you mean, write upstream: \(received)"
        }
    }
}
