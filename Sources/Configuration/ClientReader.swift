// Reads how a client shows who it is: a secret, a key that signs assertions, a certificate. One method
// is used, so what contradicts it or is left without use is refused.

import Vocabulary

struct ClientReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let keys = [
        "client_secret", "private_key", "key_id", "assertion_audience", "client_certificate",
        "client_certificate_key", "client_authentication",
    ]

    private typealias Method = OAuthSettings.ClientAuthentication

    func read(into settings: inout OAuthSettings) {
        settings.clientSecret = secret("client_secret")
        settings.privateKey = secret("private_key")
        settings.keyID = mapping.name("key_id")?.value
        settings.assertionAudience = audience()
        settings.clientCertificate = certificate()
        settings.clientAuthentication = mapping.choice(
            "client_authentication",
            [
                Method.basic, .post, .secretJWT, .privateKeyJWT, .tls, .selfSignedTLS, .none,
            ].map { (word: $0.rawValue, value: $0) })
        if let method = settings.clientAuthentication {
            check(method)
        } else if mapping.has("client_secret"), mapping.has("private_key") {
            mapping.missing(
                "client_authentication",
                hint: "there are a client_secret and a private_key; say which of them is used")
        }
    }

    private func secret(_ key: String) -> SecretSource? {
        mapping.node(key).flatMap { SecretReader(problems, paths).source($0, key) }
    }

    /// Whether there is what a method needs, and nothing that only another one uses. A certificate
    /// may be there with any: tokens can be bound to it.
    private func check(_ method: OAuthSettings.ClientAuthentication) {
        let (needed, unused): (String?, [String]) =
            switch method {
            case .none: (nil, ["client_secret", "private_key"])
            case .basic, .post, .secretJWT: ("client_secret", ["private_key"])
            case .privateKeyJWT: ("private_key", ["client_secret"])
            case .tls, .selfSignedTLS: ("client_certificate", ["client_secret", "private_key"])
            }
        // A client that registers is given its secret.
        let isGiven = needed == "client_secret" && mapping.has("registration")
        if let needed, !mapping.has(needed), !isGiven {
            mapping.missing(needed, hint: "or write client_authentication: none")
        }
        for key in unused where mapping.has(key) && !isUsedByGrant(key) {
            problems.add(
                mapping.place(of: key),
                "a \(key) is given, and client_authentication says \(method.rawValue)",
                hint: "leave one of them out")
        }
    }

    /// A grant's own assertion may be signed with the key.
    private func isUsedByGrant(_ key: String) -> Bool {
        key == "private_key" && mapping.has("assertion")
    }

    private func audience() -> AssertionAudience {
        guard let text = mapping.name("assertion_audience") else { return .issuer }
        switch text.value {
        case "issuer": return .issuer
        case "token_endpoint": return .tokenEndpoint
        case "endpoint": return .endpoint
        default: return .other(text.value)
        }
    }

    /// Paths of PEM files; the key may stand in the certificate's file.
    private func certificate() -> ClientCertificate? {
        guard let certificate = mapping.name("client_certificate") else {
            if mapping.has("client_certificate_key"), !mapping.has("client_certificate") {
                mapping.missing(
                    "client_certificate", hint: "a key is shown together with its certificate")
            }
            return nil
        }
        let path = paths.resolve(certificate)
        let key = mapping.name("client_certificate_key").map { paths.resolve($0) }
        return ClientCertificate(certificatePath: path, keyPath: key ?? path)
    }
}
