// Reads how a login's person is told: keys and userinfo by hand, how strictly ID tokens are judged,
// and whether the ID token is what requests carry.

import Vocabulary

struct IdentityReader {
    let mapping: MappingReader
    let problems: ProblemList

    static let keys = [
        "jwks_uri", "userinfo_endpoint", "id_token_signed_response_alg", "trusted_audiences",
        "clock_skew", "id_token_max_age",
    ]

    func read(_ settings: inout OAuthSettings, endpoint: (Located<String>) -> String?) {
        for key in ["jwks_uri", "userinfo_endpoint"] {
            settings.endpointsByHand[key] = mapping.name(key).flatMap(endpoint)
        }
        settings.identity = identity()
        if let injected = injected() { settings.injected = injected }
        if settings.injected == .idToken, !settings.scopes.isEmpty,
            !settings.scopes.contains("openid")
        {
            problems.add(
                mapping.place(of: "inject"), "an ID token is given only with the scope \"openid\"",
                hint: "add openid to the scopes")
        }
    }

    private func identity() -> IdentitySettings {
        var settings = IdentitySettings()
        settings.algorithms = algorithms()
        settings.trustedAudiences =
            mapping.texts("trusted_audiences")?.map(\.value).filter { !$0.isEmpty } ?? []
        if let skew = mapping.duration("clock_skew", in: 0...600_000) {
            settings.skewSeconds = Int64(skew / 1000)
        }
        if let age = mapping.duration("id_token_max_age", in: 1000...86_400_000) {
            settings.issuedAtWindowSeconds = Int64(age / 1000)
        }
        return settings
    }

    private func algorithms() -> [String] {
        (mapping.texts("id_token_signed_response_alg") ?? []).compactMap { text in
            if IdentitySettings.algorithmNames.contains(text.value) { return text.value }
            let isWithSecret = text.value.hasPrefix("HS")
            problems.add(
                text.place, "\(quoted(text.value)) cannot sign an ID token here",
                hint: isWithSecret || text.value == "none"
                    ? "have the provider sign with a public key, with ES256 or RS256 for one"
                    : "write " + IdentitySettings.algorithmNames.joined(separator: ", "))
            return nil
        }
    }

    /// A word; the forms of injection are mappings, and another reader's.
    private func injected() -> InjectedToken? {
        guard mapping.declares("inject"), mapping.has("inject"), let node = mapping.node("inject"),
            case .scalar = node.content
        else { return nil }
        return mapping.choice(
            "inject", [("access_token", InjectedToken.accessToken), ("id_token", .idToken)])
    }
}
