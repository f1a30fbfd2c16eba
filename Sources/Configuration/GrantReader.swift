// Reads how a client gets its tokens: by a person, on its own account, by a signed statement, or in
// exchange for another token. Which other keys are needed follows from that, and keys of another grant
// are refused.

import Vocabulary

struct GrantReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let keys = ["grant", "service_account", "assertion", "exchange", "quirks"]
    static let serviceAccountKeys = SecretReader.keys + ["subject"]
    static let assertionKeys =
        SecretReader.keys + ["issuer", "subject", "audience", "lifetime", "claims"]
    static let exchangeKeys = [
        "subject", "subject_type", "actor", "actor_type", "audience", "resource", "requested_type",
    ]
    static let partyKeys = SecretReader.keys + ["credential"]

    /// The word; what belongs to it is read later.
    enum Kind {
        case authorizationCode, deviceCode, clientCredentials, jwtBearer, tokenExchange

        var needsPerson: Bool { self == .authorizationCode || self == .deviceCode }
        /// Whether the grant is a proof of its own, so that some servers want no client.
        var needsClient: Bool { self != .jwtBearer && self != .tokenExchange }
    }

    /// Google's; a key file's `token_uri` must be the endpoint that is used.
    static let serviceAccountEndpoint = "https://oauth2.googleapis.com/token"

    func kind() -> Kind {
        mapping.choice(
            "grant",
            [
                ("authorization_code", Kind.authorizationCode), ("device_code", .deviceCode),
                ("client_credentials", .clientCredentials), ("jwt_bearer", .jwtBearer),
                ("token_exchange", .tokenExchange),
            ]) ?? .authorizationCode
    }

    /// - Parameter settings: with the client's keys read.
    func read(_ kind: Kind, into settings: inout OAuthSettings) {
        checkKeys(kind)
        switch kind {
        case .authorizationCode: settings.grant = .authorizationCode
        case .deviceCode: settings.grant = .deviceCode
        case .clientCredentials:
            settings.grant = .clientCredentials
            if settings.clientSecret == nil, settings.privateKey == nil,
                settings.clientCertificate == nil,
                !["client_secret", "private_key", "client_certificate"].contains(where: mapping.has)
            {
                mapping.missing(
                    "client_secret",
                    hint: "a client that acts for itself shows who it is: client_secret, "
                        + "private_key or client_certificate")
            }
        case .jwtBearer:
            if let assertion = assertion(&settings) { settings.grant = .jwtBearer(assertion) }
        case .tokenExchange:
            if let exchange = exchange() { settings.grant = .tokenExchange(exchange) }
        }
        settings.quirks = quirks()
    }

    private func checkKeys(_ kind: Kind) {
        let owners: [(key: String, kind: Kind, word: String)] = [
            ("service_account", .jwtBearer, "jwt_bearer"), ("assertion", .jwtBearer, "jwt_bearer"),
            ("exchange", .tokenExchange, "token_exchange"),
        ]
        for owner in owners where mapping.has(owner.key) && owner.kind != kind {
            problems.add(
                mapping.place(of: owner.key),
                "the key \(quoted(owner.key)) goes with another grant",
                hint: "write grant: \(owner.word)")
        }
        guard !kind.needsPerson else { return }
        for key in ["redirect_uri", "login", "login_wait"] where mapping.has(key) {
            problems.add(
                mapping.place(of: key), "the key \(quoted(key)) is for logins of a person",
                hint: "leave it out: this grant needs nobody")
        }
    }

    private func quirks() -> ProviderQuirks {
        var quirks: ProviderQuirks = []
        for text in mapping.texts("quirks") ?? [] {
            let known = ProviderQuirks.named
            if let quirk = known.first(where: { $0.name == text.value })?.quirk {
                quirks.insert(quirk)
            } else {
                problems.add(
                    text.place, "\(quoted(text.value)) is no quirk",
                    hint: "known quirks: " + known.map(\.name).joined(separator: ", "))
            }
        }
        return quirks
    }

    // MARK: Signed statements

    private func assertion(_ settings: inout OAuthSettings) -> AssertionSettings? {
        switch (mapping.has("service_account"), mapping.has("assertion")) {
        case (true, true):
            problems.add(
                mapping.place(of: "assertion"),
                "service_account and assertion are two ways to the same thing",
                hint: "leave one of them out")
            return nil
        case (false, false):
            mapping.missing(
                "service_account",
                hint: "write service_account: { file: key.json }, or assertion: { … }")
            return nil
        case (true, false): return serviceAccount()
        case (false, true): return statement(&settings)
        }
    }

    private func serviceAccount() -> AssertionSettings? {
        guard let node = mapping.node("service_account"),
            let reader = MappingReader(
                node, quoted("service_account"), keys: Self.serviceAccountKeys,
                problems: problems),
            let source = SecretReader(problems, paths).source(reader, "service_account")
        else { return nil }
        return .serviceAccount(source, subject: reader.name("subject")?.value)
    }

    private func statement(_ settings: inout OAuthSettings) -> AssertionSettings? {
        guard let node = mapping.node("assertion"),
            let reader = MappingReader(
                node, quoted("assertion"), keys: Self.assertionKeys, problems: problems)
        else { return nil }
        if SecretReader.keys.contains(where: reader.has) {
            for key in reader.present where !SecretReader.keys.contains(key) {
                problems.add(
                    reader.place(of: key),
                    "an assertion that is made elsewhere has no \(quoted(key)) to be set")
            }
            return SecretReader(problems, paths).source(reader, "assertion").map { .made($0) }
        }
        guard let key = settings.privateKey else {
            if !mapping.has("private_key") {
                mapping.missing("private_key", hint: "an assertion is signed with it")
            }
            return nil
        }
        for key in ["issuer", "subject"] where !reader.has(key) {
            reader.missing(key, hint: "it is what the assertion says")
        }
        guard let issuer = reader.name("issuer"), let subject = reader.name("subject") else {
            return nil
        }
        var own = OwnAssertion(key: key, issuer: issuer.value, subject: subject.value)
        own.keyID = settings.keyID
        own.audience = reader.name("audience")?.value
        if let lifetime = reader.duration("lifetime", in: 1000...3_600_000) {
            own.lifetimeSeconds = Int64(lifetime / 1000)
        }
        own.claims = claims(reader)
        // The statement is the proof, unless the client is to show itself with the same key.
        if settings.clientAuthentication != .privateKeyJWT { settings.privateKey = nil }
        return .own(own)
    }

    private static let reservedClaims: Set<String> = [
        "iss", "sub", "aud", "exp", "iat", "nbf", "jti",
    ]

    private func claims(_ reader: MappingReader) -> [NamedValue] {
        (reader.pairs("claims") ?? []).compactMap { claim in
            guard !claim.name.isEmpty, !Self.reservedClaims.contains(claim.name) else {
                problems.add(
                    claim.value.place,
                    "the claim \(quoted(claim.name)) is made anew for each assertion and cannot be set"
                )
                return nil
            }
            return NamedValue(claim.name, claim.value.value)
        }
    }

    // MARK: Exchange

    private func exchange() -> TokenExchangeSettings? {
        guard mapping.has("exchange") else {
            mapping.missing(
                "exchange", hint: "write exchange: { subject: { credential: name }, audience: … }")
            return nil
        }
        guard let node = mapping.node("exchange"),
            let reader = MappingReader(
                node, quoted("exchange"), keys: Self.exchangeKeys, problems: problems)
        else { return nil }
        if !reader.has("subject") {
            reader.missing("subject", hint: "write subject: { credential: name } or { file: path }")
        }
        if reader.has("actor_type"), !reader.has("actor") {
            reader.missing("actor", hint: "actor_type says of what kind it is")
        }
        guard let subject = party(reader, "subject", "subject_type") else { return nil }
        var exchange = TokenExchangeSettings(subject: subject)
        exchange.actor = party(reader, "actor", "actor_type")
        exchange.audiences = (reader.texts("audience") ?? []).map(\.value)
        exchange.resources = (reader.texts("resource") ?? []).compactMap {
            ValueReader(problems).resource($0)
        }
        exchange.requestedType = type(reader, "requested_type")
        if let type = exchange.requestedType, TokenExchangeSettings.unusableTypes.contains(type) {
            problems.add(
                reader.place(of: "requested_type"), "no API is called with a token of that type",
                hint: "write access_token, id_token or jwt")
        }
        return exchange
    }

    private func party(
        _ reader: MappingReader, _ key: String, _ typeKey: String
    ) -> TokenExchangeSettings.Party? {
        guard let node = reader.node(key),
            let source = MappingReader(
                node, quoted(key), keys: Self.partyKeys, problems: problems)
        else { return nil }
        let type = type(reader, typeKey) ?? TokenExchangeSettings.accessToken
        guard let name = source.name("credential") else {
            return SecretReader(problems, paths).source(source, key).map {
                .init(.secret($0), type: type)
            }
        }
        guard let id = CredentialID(name.value), source.present == ["credential"] else {
            problems.add(
                name.place, "\(quoted(key)) is a credential's name, or a secret's place",
                hint: "write \(key): { credential: name }")
            return nil
        }
        return .init(.credential(id), type: type)
    }

    /// A word of RFC 8693 section 3, or a URI.
    private func type(_ reader: MappingReader, _ key: String) -> String? {
        guard let text = reader.name(key) else { return nil }
        let words = ["access_token", "refresh_token", "id_token", "jwt", "saml1", "saml2"]
        if words.contains(text.value) { return TokenExchangeSettings.typePrefix + text.value }
        guard text.value.contains(":"), text.value.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            problems.add(
                text.place, "\(quoted(text.value)) is no type of a token",
                hint: "write a URI, or one of " + words.joined(separator: ", "))
            return nil
        }
        return text.value
    }
}

extension SettingsChecks {
    /// A credential that is made from another one needs that one, and not itself.
    func checkExchanges() {
        let byID = Dictionary(credentials.map { ($0.value.id, $0) }) { first, _ in first }
        for credential in credentials {
            for part in credential.value.parts where byID[part] == nil {
                let names = credentials.map(\.value.id.name)
                problems.add(
                    credential.place, "no credential named \(quoted(part.name)) to exchange",
                    hint: nearestName(to: part.name, among: names).map { "did you mean \"\($0)\"?" }
                )
            }
            if leads(credential.value.id, to: credential.value.id, byID, []) {
                problems.add(
                    credential.place,
                    "the credential \(quoted(credential.value.id.name)) is made from itself",
                    hint: "exchange the token of another credential")
            }
        }
    }

    private func leads(
        _ start: CredentialID, to end: CredentialID,
        _ byID: [CredentialID: Located<CredentialSettings>], _ seen: Set<CredentialID>
    ) -> Bool {
        guard let parts = byID[start]?.value.parts, !seen.contains(start) else { return false }
        return parts.contains { $0 == end || leads($0, to: end, byID, seen.union([start])) }
    }
}

extension CredentialSettings {
    /// The credentials whose tokens go into this one's.
    fileprivate var parts: [CredentialID] {
        guard case .oauth(let oauth) = kind, case .tokenExchange(let exchange) = oauth.grant else {
            return []
        }
        return [exchange.subject, exchange.actor].compactMap { party in
            if case .credential(let id)? = party?.source { id } else { nil }
        }
    }
}
