// Reads an OAuth client: where its endpoints are, who it is, what it asks for. Whatever could send a
// secret over a network in the clear is refused here.

import Vocabulary

struct OAuthReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let keys: [String] =
        [
            [
                "issuer", "authorization_endpoint", "token_endpoint", "client_id", "scopes",
                "redirect_uri", "login", "login_wait", "refresh_before", "keep_alive",
                "assumed_lifetime", "dpop", "device_authorization_endpoint",
            ],
            DiscoveryReader.keys, GrantReader.keys, ClientReader.keys, AdditionsReader.keys,
            AuthorizationReader.keys, IdentityReader.keys,
        ].flatMap { $0 }

    func settings() -> OAuthSettings? {
        let grants = GrantReader(mapping: mapping, problems: problems, paths: paths)
        let grant = grants.kind()
        let discovery = DiscoveryReader(mapping: mapping, problems: problems, paths: paths)
        let resource = discovery.resource(for: grant)
        let endpoints = endpoints(for: grant, discovering: resource)
        let registration = discovery.registration(
            for: grant, isDiscovered: resource != nil, endpoint: checkedEndpoint)
        let client = mapping.name("client_id")
        if client == nil, registration == nil, grant.needsClient || mapping.has("client_id") {
            if !mapping.has("client_id") {
                mapping.missing(
                    "client_id",
                    hint: "it is the name that the provider gave this client; where clients may "
                        + "register themselves write registration: dynamic")
            }
            return nil
        }
        // Without endpoints the rest is read all the same, for what else is wrong with it.
        var settings = OAuthSettings(
            endpoints: endpoints ?? .issuer(""), clientID: client?.value ?? "")
        let device = "device_authorization_endpoint"
        settings.endpointsByHand[device] = mapping.name(device).flatMap(checkedEndpoint)
        settings.registration = registration
        ClientReader(mapping: mapping, problems: problems, paths: paths).read(into: &settings)
        grants.read(grant, into: &settings)
        settings.scopes = scopes()
        settings.additions = AdditionsReader(mapping: mapping, problems: problems, paths: paths)
            .additions()
        let authorization = AuthorizationReader(mapping: mapping, problems: problems)
        if let callback = authorization.loopback("redirect_uri", example: "/callback") {
            settings.callbackHost = callback.host
            settings.callbackPath = callback.path
            settings.callbackPort = callback.port
        }
        authorization.read(&settings, endpoint: checkedEndpoint)
        IdentityReader(mapping: mapping, problems: problems).read(
            &settings, endpoint: checkedEndpoint)
        if let policy = mapping.choice(
            "login",
            [
                ("on_demand", OAuthSettings.LoginPolicy.onDemand),
                ("manual", OAuthSettings.LoginPolicy.manual),
            ])
        {
            settings.login = policy
        }
        if let wait = mapping.duration("login_wait", in: 0...3_600_000) {
            settings.loginWaitMilliseconds = wait
        }
        settings.refreshLeadSeconds = seconds("refresh_before")
        settings.keepAliveSeconds = mapping.duration("keep_alive", in: 60_000...(366 * 86_400_000))
            .map { Int64($0 / 1000) }
        settings.fallbackLifetimeSeconds = seconds("assumed_lifetime")
        settings.requiresProof = mapping.bool("dpop") ?? false
        return endpoints == nil ? nil : settings
    }

    private func seconds(_ key: String) -> Int64? {
        mapping.duration(key, in: 1000...(366 * 86_400_000)).map { Int64($0 / 1000) }
    }

    // MARK: Endpoints

    private func endpoints(
        for grant: GrantReader.Kind, discovering resource: String?
    ) -> OAuthSettings.Endpoints? {
        let issuer = mapping.name("issuer").flatMap(checkedIssuer)
        if let resource { return .discovered(resource: resource, issuer: issuer) }
        let needed =
            switch grant {
            case .authorizationCode: ["authorization_endpoint", "token_endpoint"]
            case .deviceCode: ["device_authorization_endpoint", "token_endpoint"]
            case .clientCredentials, .jwtBearer, .tokenExchange: ["token_endpoint"]
            }
        // One of them may stand beside an issuer whose metadata lacks it.
        let isByHand = ["authorization_endpoint", "token_endpoint"].contains(where: mapping.has)
        guard isByHand else {
            if mapping.has("issuer") { return issuer.map { .issuer($0) } }
            if grant == .jwtBearer, mapping.has("service_account") {
                return .fixed(
                    authorization: nil, token: GrantReader.serviceAccountEndpoint, issuer: nil)
            }
            mapping.missing(
                "issuer",
                hint: "or give " + needed.joined(separator: " and ")
                    + (grant == .authorizationCode
                        ? "; where the API says it write discover: true" : ""))
            return nil
        }
        for key in needed where !mapping.has(key) {
            mapping.missing(
                key,
                hint: needed.count > 1
                    ? "both endpoints are needed where one is given" : "the tokens come from there")
        }
        let authorization = mapping.name("authorization_endpoint").flatMap(checkedEndpoint)
        guard let token = mapping.name("token_endpoint").flatMap(checkedEndpoint),
            authorization != nil || grant != .authorizationCode
        else { return nil }
        return .fixed(authorization: authorization, token: token, issuer: issuer)
    }

    /// https, or http on this machine; no query, no fragment (RFC 8414 section 2). The text stays as
    /// it is, since issuers are compared octet for octet.
    private func checkedIssuer(_ text: Located<String>) -> String? {
        guard let url = checkedURL(text, "issuer") else { return nil }
        guard url.query == nil, url.fragment == nil else {
            problems.add(
                text.place, "an issuer has neither query nor fragment: \(quoted(text.value))")
            return nil
        }
        if url.path.hasSuffix("/.well-known/openid-configuration")
            || url.path.contains("/.well-known/oauth-authorization-server")
        {
            problems.add(
                text.place, "\(quoted(text.value)) is the address of metadata, not an issuer",
                hint: "write what stands before /.well-known")
            return nil
        }
        return text.value
    }

    /// An endpoint may have a query (RFC 6749 sections 3.1 and 3.2), a fragment it has not.
    private func checkedEndpoint(_ text: Located<String>) -> String? {
        guard let url = checkedURL(text, "endpoint") else { return nil }
        guard url.fragment == nil else {
            problems.add(text.place, "an endpoint has no fragment: \(quoted(text.value))")
            return nil
        }
        return text.value
    }

    private func checkedURL(_ text: Located<String>, _ subject: String) -> WebURL? {
        guard !namesUser(text.value) else {
            problems.add(
                text.place, "the URL of an \(subject) names a user",
                hint: "use client_id and client_secret")
            return nil
        }
        do {
            let url = try WebURL(text.value)
            guard url.isSecure else {
                problems.add(
                    text.place,
                    "\(quoted(text.value)) would send secrets over the network in the clear",
                    hint: "write https://; http:// is for this machine only")
                return nil
            }
            return url
        } catch {
            switch error {
            case .notHTTP:
                let hint = text.value.contains("://") ? nil : "write https://\(text.value)"
                problems.add(
                    text.place, "\(quoted(text.value)) is no https:// URL of an \(subject)",
                    hint: hint)
            case .invalidByte, .userInfo, .invalidHost, .invalidPort:
                problems.add(text.place, "\(quoted(text.value)) is no URL of an \(subject)")
            }
            return nil
        }
    }

    // MARK: What it asks for

    /// A list, or one text with spaces as OAuth writes them (RFC 6749 section 3.3).
    private func scopes() -> [String] {
        guard let texts = mapping.texts("scopes") else { return [] }
        var scopes: [String] = []
        for text in texts {
            for scope in text.value.split(separator: " ") {
                let isToken = scope.utf8.allSatisfy {
                    (0x21...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C
                }
                if !isToken {
                    problems.add(text.place, "\(quoted(scope)) is no scope")
                } else if !scopes.contains(String(scope)) {
                    scopes.append(String(scope))
                }
            }
        }
        return scopes
    }

}
