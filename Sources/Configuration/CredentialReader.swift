// Reads one credential: which of the three kinds it is, and how it is put into a request.

import Routing
import Vocabulary

struct CredentialReader {
    let problems: ProblemList
    let paths: PathResolver

    /// Keys of every credential.
    static let commonKeys = ["header", "prefix", "inject", "export"]
    static let tokenKeys = ["token"]
    static let commandKeys = ["command", "ttl"]
    static let keys = tokenKeys + commandKeys + OAuthReader.keys + commonKeys

    /// Nil when something was wrong, which is then on the list.
    func credential(_ node: YAMLNode, named id: CredentialID) -> CredentialSettings? {
        guard let node = PresetExpansion(problems: problems).expanded(node),
            let mapping = MappingReader(
                node, "credential \(quoted(id.name))", keys: Self.keys,
                hints: Self.hints, problems: problems),
            let kind = kind(mapping, id)
        else { return nil }
        var injection = injection(mapping)
        if case .oauth(let oauth) = kind, oauth.requiresProof {
            for key in ["header", "prefix", "inject"] where mapping.has(key) {
                problems.add(
                    mapping.place(of: key), "the key \(quoted(key)) does not go with \"dpop\"",
                    hint: "a token with a proof is sent as Authorization: DPoP (RFC 9449)")
            }
            injection = Injection(prefix: "DPoP ")
        }
        if case .oauth = kind {
        } else if namesToken(mapping) {
            problems.add(
                mapping.place(of: "inject"), "only a login has several tokens to choose from",
                hint: "leave the key out, or write { query: NAME } or { basic: USER }")
        }
        return CredentialSettings(
            id: id, kind: kind, injection: injection,
            isExportable: mapping.bool("export") ?? true)
    }

    /// Where a credential comes from, told by the key that only that kind has.
    private enum Form {
        case token, command
        case oauth(firstKey: String)

        var keys: [String] {
            switch self {
            case .token: CredentialReader.tokenKeys
            case .command: CredentialReader.commandKeys
            case .oauth: OAuthReader.keys
            }
        }

        var key: String {
            switch self {
            case .token: "token"
            case .command: "command"
            case .oauth(let firstKey): firstKey
            }
        }

        init?(_ mapping: MappingReader) {
            if mapping.has("token") {
                self = .token
            } else if mapping.has("command") {
                self = .command
            } else if let key = OAuthReader.keys.first(where: mapping.has) {
                self = .oauth(firstKey: key)
            } else {
                return nil
            }
        }
    }

    private func kind(_ mapping: MappingReader, _ id: CredentialID) -> CredentialSettings.Kind? {
        guard let form = Form(mapping) else {
            problems.add(
                mapping.place, "credential \(quoted(id.name)) says nothing of where it comes from",
                hint:
                    "give it issuer and client_id, or token: { file: path }, or command: [program]")
            return nil
        }
        for key in mapping.present where !(form.keys + Self.commonKeys).contains(key) {
            problems.add(
                mapping.place(of: key),
                "the key \(quoted(key)) does not go with \(quoted(form.key))",
                hint: "a credential has a token, a command, or an OAuth client")
        }
        let secrets = SecretReader(problems, paths)
        switch form {
        case .token:
            let source = mapping.node("token").flatMap { secrets.source($0, "token") }
            return source.map { source in
                if case .command(let words) = source {
                    .command(words, lifetimeSeconds: nil)
                } else {
                    .fixed(source)
                }
            }
        case .command:
            let lifetime = mapping.duration("ttl", in: 1000...(366 * 86_400_000))
            return secrets.command(mapping, "command").map {
                .command($0, lifetimeSeconds: lifetime.map { Int64($0 / 1000) })
            }
        case .oauth:
            let reader = OAuthReader(mapping: mapping, problems: problems, paths: paths)
            return reader.settings().map { .oauth($0) }
        }
    }

    /// In Authorization and its like a bearer token has its scheme, elsewhere it stands alone.
    private func injection(_ mapping: MappingReader) -> Injection {
        var injection = Injection()
        if let form = form(mapping) {
            injection.form = form
            if case .basic = form { injection.prefix = "Basic " }
            for key in ["header", "prefix"] where mapping.has(key) {
                problems.add(
                    mapping.place(of: key), "\(quoted(key)) does not go with \"inject\"",
                    hint: "one of them says how the credential is sent")
            }
            return injection
        }
        if let header = mapping.name("header") {
            injection.field = header.value
            if !RouteSpec.isFieldName(header.value) {
                problems.add(header.place, "\(quoted(header.value)) is no name of a header field")
            }
        }
        guard let prefix = mapping.text("prefix") else {
            if !injection.field.lowercased().hasSuffix("authorization") { injection.prefix = "" }
            return injection
        }
        // `prefix: Bearer` is meant as a scheme; a space at the end of a plain text does not last.
        let isWord = prefix.value.utf8.last.map { ($0 | 0x20) &- 0x61 < 26 } ?? false
        injection.prefix = isWord ? prefix.value + " " : prefix.value
        if !prefix.value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
            || prefix.value.hasPrefix(" ")
        {
            problems.add(
                prefix.place, "\(quoted(prefix.value)) cannot stand before a token",
                hint: "write a scheme, such as Bearer, or \"\" for none")
        }
        return injection
    }

    /// `inject: id_token`, which IdentityReader reads.
    private func namesToken(_ mapping: MappingReader) -> Bool {
        guard mapping.has("inject"), let node = mapping.node("inject") else { return false }
        return if case .scalar = node.content { true } else { false }
    }

    /// `inject: { query: name }` or `inject: { basic: user }`.
    private func form(_ mapping: MappingReader) -> Injection.Form? {
        guard mapping.has("inject"), !namesToken(mapping), let node = mapping.node("inject"),
            let inner = MappingReader(
                node, "\"inject\"", keys: ["query", "basic"], problems: problems)
        else { return nil }
        if inner.present.count != 1 {
            problems.add(
                inner.place, "\"inject\" says nothing clear",
                hint:
                    "write { query: NAME } for a parameter of the query, or { basic: USER } for the "
                    + "password of that user")
            return nil
        }
        if let name = inner.name("query") {
            guard Self.isParameterName(name.value) else {
                problems.add(
                    name.place, "\(quoted(name.value)) cannot be the name of a query parameter",
                    hint: "use letters, digits, - . _ ~")
                return nil
            }
            return .query(name: name.value)
        }
        guard inner.has("basic"), let user = inner.text("basic") else { return nil }
        if user.value.contains(":") {
            problems.add(user.place, "a user of Basic authentication cannot hold a colon")
            return nil
        }
        return .basic(user: user.value)
    }

    /// Unreserved letters (RFC 3986 section 2.3), which need no encoding in any position.
    private static func isParameterName(_ name: String) -> Bool {
        name.utf8.allSatisfy { byte in
            byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
                || [0x2D, 0x2E, 0x5F, 0x7E].contains(byte)
        }
    }

    /// What other programs call it.
    private static let hints = [
        "callback_port": "write redirect_uri: http://127.0.0.1:PORT/callback",
        "redirect_url": "write redirect_uri",
        "token_endpoint_auth_method": "write client_authentication",
        "auth_url": "write authorization_endpoint", "token_url": "write token_endpoint",
        "resource_metadata": "write discover: true",
        "bearer": "write token: { file: path }", "api_key": "write token: { file: path }",
        "password": "write token: { file: path }",
    ]
}
