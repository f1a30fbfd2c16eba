// Which client we are, and at which server: settings whose gaps are filled by what providers publish
// and by what they registered us as. A login goes by what is true now, everything after it by what
// was true then, since tokens belong to one client at one server.

import Bytes
import OAuth
package import TokenStore
package import Vocabulary

/// How a client comes to its name at a server.
package enum ClientWay: Hashable, Sendable {
    /// By the configuration.
    case named(String)
    /// By a document that describes it, at this URL.
    case document(String)
    /// It has registered.
    case registered(String)
    /// It registers at this endpoint.
    case registration(endpoint: String)
}

extension DiscoveryDesk {
    /// The settings of a new login: with an issuer or endpoints, a client's name, the scopes to ask
    /// for.
    package func client(
        _ settings: OAuthSettings, of id: CredentialID
    ) async throws(DiscoveryError) -> OAuthSettings {
        var settings = try await located(settings, of: id)
        switch try await wayToClient(settings) {
        case .named: break
        case .document(let url): settings.clientID = url
        case .registered, .registration:
            let client = try await registered(settings)
            settings.take(client)
        }
        return settings
    }

    /// The settings with their provider, asked anew.
    package func located(
        _ settings: OAuthSettings, of id: CredentialID
    ) async throws(DiscoveryError) -> OAuthSettings {
        guard case .discovered(let resource, let wanted) = settings.endpoints else {
            return settings
        }
        var settings = settings
        let server = try await server(of: resource, wanted: wanted, for: id, isLogin: true)
        settings.take(server, of: resource)
        // What a person wrote down may be anywhere.
        settings.reach = wanted == nil ? Self.reach(of: resource) : .anywhere
        if settings.scopes.isEmpty { settings.scopes = server.scopes }
        return settings
    }

    /// The way to a client's name; of those that are open the first is taken (MCP authorization,
    /// "Client Registration Approaches"): the configured name, a document, a registration. It asks the
    /// provider for its metadata and changes nothing there.
    package func wayToClient(
        _ settings: OAuthSettings
    ) async throws(DiscoveryError) -> ClientWay {
        guard settings.clientID.isEmpty, let registration = settings.registration else {
            return .named(settings.clientID)
        }
        let metadata = try await metadata(at: settings)
        if let url = registration.documentURL, metadata?.readsClientDocuments ?? true {
            return .document(url)
        }
        if let client = try await registrations.known(settings.registrationSubject),
            await registrations.isUsable(client)
        {
            return .registered(client.clientID)
        }
        return .registration(
            endpoint: try Self.registrationEndpoint(settings, registration, metadata))
    }

    /// The settings of whatever is done with a login: a refresh, a revocation, a look at userinfo.
    package func client(
        _ settings: OAuthSettings, continuing login: Login
    ) async throws(DiscoveryError) -> OAuthSettings {
        guard login.belongs(to: settings) else {
            var code = "issuer_changed"
            if case .discovered = settings.endpoints { code = "other_resource" }
            throw .loginOutdated(code: code)
        }
        var settings = settings
        if case .discovered(let resource, let wanted) = settings.endpoints {
            let known = await knownResource(resource)
            guard let issuer = login.issuer else {
                throw .loginOutdated(code: "other_resource")
            }
            let named = known?.authorizationServers ?? []
            guard
                wanted != nil || named.isEmpty
                    || named.contains(where: { IssuerDifference.isOnlyRootSlash($0, issuer) })
            else { throw .loginOutdated(code: "issuer_changed") }
            settings.take(
                NamedServer(
                    issuer: issuer, resource: known?.resource ?? resource, scopes: []),
                of: resource)
            settings.reach = wanted == nil ? Self.reach(of: resource) : .anywhere
        }
        guard settings.clientID.isEmpty, settings.registration != nil else { return settings }
        settings.clientID = login.clientID
        guard let client = try await registrations.known(settings.registrationSubject),
            client.clientID.isIdentical(to: login.clientID)
        else {
            settings.clientAuthentication = OAuthSettings.ClientAuthentication.none
            return settings
        }
        guard await registrations.isUsable(client) else {
            throw .loginOutdated(code: "client_expired")
        }
        settings.take(client)
        return settings
    }

    /// Whether a refusal means that the server has forgotten a client that it registered, as servers
    /// do that keep them in memory. Then we forget it too, and the next login registers anew.
    func hasForgotten(
        _ failure: TokenFailure, _ settings: OAuthSettings, _ login: Login
    ) async -> Bool {
        guard settings.clientID.isEmpty, settings.registration != nil,
            case .code("invalid_client") = failure.reason, failure.verdict == .misconfigured
        else { return false }
        var settings = settings
        if case .discovered = settings.endpoints, let issuer = login.issuer {
            settings.endpoints = .issuer(issuer)
        }
        await registrations.forget(settings.registrationSubject, login.clientID)
        return true
    }

    // MARK: Registering

    /// The client that is known at the provider, or a new one.
    private func registered(
        _ settings: OAuthSettings
    ) async throws(DiscoveryError) -> RegisteredClient {
        let subject = settings.registrationSubject
        let registration = settings.registration ?? RegistrationSettings()
        let metadata = try await metadata(at: settings)
        let surroundings = surroundings
        return try await registrations.client(subject) { () throws(DiscoveryError) in
            let supported = metadata?.clientAuthenticationMethods
            guard let method = RegistrationRequest.method(supported: supported) else {
                throw .registration(
                    .unsupportedMethod(supported?.joined(separator: ", ") ?? ""))
            }
            return RegistrationRequest(
                endpoint: try Self.registrationEndpoint(settings, registration, metadata),
                form: registration.form, clientName: registration.clientName,
                redirectURIs: subject.redirectURIs, scopes: settings.scopes, method: method,
                initialAccessToken: try await registration.initialToken(in: surroundings),
                reach: settings.reach)
        }
    }

    private func metadata(
        at settings: OAuthSettings
    ) async throws(DiscoveryError) -> ServerMetadata? {
        guard case .issuer(let issuer) = settings.endpoints else { return nil }
        return try await metadata(
            of: issuer, reach: settings.reach, quirks: settings.quirks)
    }

    private static func registrationEndpoint(
        _ settings: OAuthSettings, _ registration: RegistrationSettings,
        _ metadata: ServerMetadata?
    ) throws(DiscoveryError) -> String {
        if let endpoint = registration.endpoint { return endpoint }
        let server = settings.registrationSubject.server
        if registration.form == .mastodon, let url = try? WebURL(server) {
            return "\(url.origin)/api/v1/apps"
        }
        guard let metadata, metadata.has(.registration) else {
            throw .noClient(server: server, hasDocument: registration.documentURL != nil)
        }
        let endpoint: String
        do throws(MetadataError) {
            endpoint = try metadata.url(of: .registration)
        } catch {
            throw .metadata(MetadataProblem(error))
        }
        guard settings.reach.allows(endpoint) else { throw .notPublic(url: endpoint) }
        return endpoint
    }

    /// The same for a login desk.
    func clientForLogin(
        _ settings: OAuthSettings, of id: CredentialID
    ) async throws(LoginFailure) -> OAuthSettings {
        do throws(DiscoveryError) {
            return try await client(settings, of: id)
        } catch {
            throw .discovery(error)
        }
    }
}

extension TokenEndpoint {
    /// The token endpoint of the client and server that a login belongs to.
    func belonging(to login: Login) async throws(ExchangeError) -> TokenEndpoint {
        var copy = self
        do throws(DiscoveryError) {
            copy.settings = try await discovery.client(settings, continuing: login)
        } catch {
            throw .endpoint(error)
        }
        return copy
    }
}

extension RegistrationSettings {
    fileprivate func initialToken(
        in surroundings: Surroundings
    ) async throws(DiscoveryError) -> SecretBytes? {
        do throws(SecretError) {
            return try await initialAccessToken?.read(in: surroundings)
        } catch {
            throw .initialAccessToken(error)
        }
    }
}

extension OAuthSettings {
    /// - Parameter upstream: whose document named the server.
    fileprivate mutating func take(_ server: NamedServer, of upstream: String) {
        endpoints = .issuer(server.issuer)
        discoveredFor = upstream
        authorization.requiresPKCEMetadata = true
        if authorization.resources.isEmpty { authorization.resources = [server.resource] }
    }

    fileprivate mutating func take(_ client: RegisteredClient) {
        clientID = client.clientID
        // What the server says counts; where it says nothing, what the configuration knows of it.
        if clientAuthentication == nil || client.document["token_endpoint_auth_method"] != nil {
            clientAuthentication = client.method
        }
        clientSecret = client.method == .none ? nil : client.secret.map { .known($0) }
        guard callbackPort == nil else { return }
        // Our order: with its port first.
        let ports = client.redirectURIs.compactMap { uri in
            (try? WebURL(uri)).flatMap { $0.hasPort ? $0.origin.port : nil }
        }
        callbackPort = ports.first
        callbackPortIsPreferred = ports.count < client.redirectURIs.count
    }

    /// What a registration of a client that has no name yet is for. It asks for two callbacks where the configuration
    /// pins no port: one without, which lets every port through (RFC 8252 section 7.3), and one with
    /// a port that stays the same, for servers that compare every byte.
    fileprivate var registrationSubject: RegistrationBook.Subject {
        let server =
            switch endpoints {
            case .issuer(let issuer): issuer
            case .fixed(let authorization, let token, let issuer):
                issuer ?? (try? WebURL(authorization ?? token))?.origin.description ?? token
            case .discovered(let resource, let issuer): issuer ?? resource
            }
        let base = "http://\(callbackHost)"
        if let callbackPort {
            let uri = "\(base):\(callbackPort)\(callbackPath)"
            return RegistrationBook.Subject(server: server, callback: uri, redirectURIs: [uri])
        }
        let uri = base + callbackPath
        return RegistrationBook.Subject(
            server: server, callback: uri,
            redirectURIs: ["\(base):\(Self.port(for: server))\(callbackPath)", uri])
    }

    /// The same for one server each time, and below those that the kernel gives away (ip(7),
    /// ip_local_port_range).
    private static func port(for server: String) -> UInt16 {
        let hash = server.utf8.reduce(UInt32(0x811C_9DC5)) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
        return 20_000 + UInt16(hash % 10_000)
    }
}

extension WebURL {
    /// Whether a loopback callback's port is written out.
    fileprivate var hasPort: Bool {
        textBeforePath.dropFirst("http://".count).contains(":")
    }
}
