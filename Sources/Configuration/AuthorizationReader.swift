// Reads what a login asks for besides scopes: where the request goes, whom it is meant for, how the
// person is to be asked. A parameter that has a key of its own here is refused beside that key.

import Vocabulary

struct AuthorizationReader {
    let mapping: MappingReader
    let problems: ProblemList

    static let keys = [
        "pushed_authorization_request_endpoint", "revocation_endpoint", "end_session_endpoint",
        "par", "require_pkce_metadata", "strict_scope", "resource", "vtr", "ui_locales",
        "login_hint", "prompt", "audience", "acr_values", "max_age", "response_mode",
        "refresh_scope", "post_logout_redirect_uri",
    ]

    /// Those that are the names of authorization parameters as well.
    private static let parameters = [
        "resource", "vtr", "ui_locales", "login_hint", "prompt", "audience", "acr_values",
        "max_age",
    ]

    func read(_ settings: inout OAuthSettings, endpoint: (Located<String>) -> String?) {
        for key in Self.keys where key.hasSuffix("_endpoint") {
            settings.endpointsByHand[key] = mapping.name(key).flatMap(endpoint)
        }
        settings.authorization = authorization()
        if let scope = refreshScope() { settings.refreshScope = scope }
        settings.afterLogout = loopback("post_logout_redirect_uri", example: "/logged-out")
        for key in Self.parameters where mapping.has(key) {
            refuseTwice(key, in: "authorization_params", settings.additions(to: .authorization))
        }
        if mapping.has("resource") {
            refuseTwice("resource", in: "token_params", settings.additions(to: .token))
        }
    }

    private func authorization() -> AuthorizationSettings {
        var settings = AuthorizationSettings()
        settings.isPushed = mapping.bool("par") ?? false
        settings.requiresPKCEMetadata = mapping.bool("require_pkce_metadata") ?? false
        settings.isScopeStrict = mapping.bool("strict_scope") ?? false
        settings.resources = resources()
        settings.vectorsOfTrust = words("vtr", "a vector of trust, such as Cl.Cm", isVector)
        settings.locales = words("ui_locales", "a language, such as cy or en-GB", isLanguage)
        settings.loginHint = mapping.name("login_hint")?.value
        settings.prompts = words("prompt", "a prompt, such as login or consent", isWord)
        if settings.prompts.contains("none"), settings.prompts.count > 1 {
            problems.add(mapping.place(of: "prompt"), "\"none\" goes with no other prompt")
        }
        settings.audience = mapping.name("audience")?.value
        settings.contextClasses = words("acr_values", "a context class", isWord)
        settings.maxAgeSeconds = mapping.duration("max_age", in: 0...(366 * 86_400_000))
            .map { Int64($0 / 1000) }
        // An answer in the fragment reaches no server, and one that is posted comes from anywhere.
        settings.responseMode = mapping.choice("response_mode", [("query", "query")])
        return settings
    }

    private func resources() -> [String] {
        (mapping.texts("resource") ?? []).compactMap { ValueReader(problems).resource($0) }
    }

    /// A list, or one text with spaces, as the parameters themselves are written.
    private func words(
        _ key: String, _ wanted: String, _ isGood: (UInt8) -> Bool
    ) -> [String] {
        var words: [String] = []
        for text in mapping.texts(key) ?? [] {
            for word in text.value.split(separator: " ") {
                if !word.utf8.allSatisfy(isGood) {
                    problems.add(text.place, "\(quoted(word)) is not \(wanted)")
                } else if !words.contains(String(word)) {
                    words.append(String(word))
                }
            }
        }
        return words
    }

    private func isWord(_ byte: UInt8) -> Bool { (0x21...0x7E).contains(byte) }

    private func isVector(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2E
    }

    private func isLanguage(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D
    }

    private func refreshScope() -> OAuthSettings.RefreshScope? {
        switch words("refresh_scope", "a scope", isWord) {
        case []: nil
        case ["none"]: OAuthSettings.RefreshScope.none
        case ["granted"]: .granted
        case let scopes: .list(scopes)
        }
    }

    /// An address on this machine, with a port where the provider insists on one.
    func loopback(_ key: String, example path: String) -> LoopbackAddress? {
        guard let text = mapping.name(key) else { return nil }
        let hosts = ["127.0.0.1", "localhost"]
        guard let url = try? WebURL(text.value), url.origin.scheme == .http,
            hosts.contains(url.origin.host), url.query == nil, url.fragment == nil
        else {
            problems.add(
                text.place,
                "\(quoted(text.value)) is no address on this machine that a browser can come back to",
                hint: "write http://127.0.0.1\(path), with a port where the provider wants one")
            return nil
        }
        let hasPort = url.textBeforePath.dropFirst("http://".count).contains(":")
        return LoopbackAddress(
            host: url.origin.host, port: hasPort ? url.origin.port : nil,
            path: url.path.isEmpty ? "/" : url.path)
    }

    private func refuseTwice(
        _ name: String, in key: String, _ additions: RequestAdditions
    ) {
        guard additions.parameters.contains(where: { $0.name == name }) else { return }
        problems.add(
            mapping.place(of: key), "the parameter \(quoted(name)) is given twice",
            hint: "keep the key \(name), and leave it out of \(key)")
    }
}
