// Whose login a record is: of which server or API, and of which client. One user's configurations
// share a state directory, and a name such as "default" is soon there twice; what one server gave is
// shown to no other (RFC 6749 section 10.4), and one configuration ends no other's login.

import OAuth
package import TokenStore
package import Vocabulary

/// A record under a credential's name that another configuration made.
package struct ForeignLogin: Error, Hashable, Sendable {
    let id: CredentialID
    /// Its server or API, and its client.
    let owner: String
    /// Whether it is refused for being a person's, wherever it is from.
    var isOfPerson = false
    /// Replaces it, pasted into a shell.
    package let command: String

    /// One line without a full stop.
    package var message: String {
        isOfPerson
            ? "\"\(id)\" holds a person's login of \(owner), and this configuration's grant has none"
            : "\"\(id)\" holds a login of \(owner), which this configuration does not name"
    }

    /// A credential that is called "default" has no name in the configuration that could be changed.
    package var advice: String {
        id.name == "default"
            ? "add this line to this configuration: state_dir: state"
            : "add this line to this configuration: state_dir: state, or give its credential another name"
    }

    package var hint: String { "\(advice); or replace that login: \(command)" }

    var lack: Lack { .unavailable(reason: "\(message); \(hint)") }
}

extension Login {
    /// Whether it was got from the server, and as the client, that the configuration names.
    func belongs(to settings: OAuthSettings) -> Bool {
        // A client that registers itself, or has a document, has no name in the configuration.
        if settings.registration == nil, !settings.clientID.isEmpty,
            !settings.clientID.isIdentical(to: clientID)
        {
            return false
        }
        switch settings.endpoints {
        case .issuer(let wanted):
            guard let issuer else { return false }
            return issuer.isIdentical(to: wanted)
                || settings.quirks.contains(.issuerTemplate)
                    && IssuerDifference.isTemplate(issuer, of: wanted)
        case .fixed(_, let token, let wanted):
            if let issuer, let wanted { return issuer.isIdentical(to: wanted) }
            // Records of earlier releases do not say where their tokens are from.
            return tokenEndpoint.map { $0.isIdentical(to: token) } ?? (issuer == nil)
        case .discovered(let upstream, let wanted):
            guard let resource, resource.isIdentical(to: upstream) else { return false }
            return wanted.map { issuer?.isIdentical(to: $0) ?? false } ?? true
        }
    }

    /// Nil where it is the configuration's own. A token that no person consented to is soon had again,
    /// and in nobody's way; a login is never a machine's, whatever server and client they share.
    package func foreign(
        to settings: OAuthSettings, _ id: CredentialID, in surroundings: Surroundings
    ) -> ForeignLogin? {
        let isOurs = belongs(to: settings)
        guard purpose == nil, !(isOurs && settings.grant.needsPerson) else { return nil }
        return ForeignLogin(
            id: id, owner: owner, isOfPerson: isOurs,
            command: surroundings.loginCommand(id) + " --switch-user")
    }

    private var owner: String {
        let place =
            if let resource {
                "the API \"\(resource)\""
            } else if let issuer {
                "the issuer \"\(issuer)\""
            } else {
                tokenEndpoint.map { "the token endpoint \"\($0)\"" } ?? "an unknown provider"
            }
        return "\(place), client \"\(clientID)\""
    }
}
