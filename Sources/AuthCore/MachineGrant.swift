// The grants that need no person when a token is asked for: what is sent, and what a token that was
// got with it is good for. When to ask is the keeper's, how the source's.

import Bytes
import OAuth
import Vocabulary

/// One request of such a grant, ready to be sent once.
struct MachineRequest: Sendable {
    let grant: TokenGrant
    /// What the token will be good for; see `GrantPurpose`.
    let purpose: String
    /// The generations of the credentials that went into it.
    var parts: [CredentialID: Generation] = [:]
}

/// A way to a token without a person.
protocol MachineGrant: Sendable {
    /// What a token must have been asked for, as far as can be told without asking or running anybody;
    /// nil where it cannot. Called once a second.
    func purpose() async -> String?

    /// - Parameter refused: a request whose parts the server did not take; the next one has newer
    ///   parts, or there is none.
    func request(
        at endpoints: Endpoints, after refused: MachineRequest?
    ) async throws(Lack) -> MachineRequest?

    /// Whether what came is what was asked for.
    func check(_ response: TokenResponse) throws(TokenFailure)
}

extension MachineGrant {
    func check(_ response: TokenResponse) throws(TokenFailure) {}
}

/// The client's own account (RFC 6749 section 4.4).
struct ClientCredentialsGrant: MachineGrant {
    let settings: OAuthSettings

    func purpose() async -> String? { name }

    private var name: String { settings.purpose(of: "client_credentials").name }

    func request(
        at endpoints: Endpoints, after refused: MachineRequest?
    ) async throws(Lack) -> MachineRequest? {
        guard refused == nil else { return nil }
        return MachineRequest(grant: .clientCredentials(scopes: settings.scopes), purpose: name)
    }
}

extension OAuthSettings {
    /// What every token of this client's is asked for, whatever the subject. A change of any of it
    /// makes tokens that are there useless.
    func purpose(of grant: String) -> GrantPurpose {
        let place =
            switch endpoints {
            case .issuer(let issuer): ["issuer", issuer]
            case .fixed(_, let token, let issuer): ["fixed", token, issuer ?? ""]
            case .discovered(let resource, let issuer): ["discovered", resource, issuer ?? ""]
            }
        let added = additions(to: .token).parameters.flatMap { parameter in
            if case .text(let text) = parameter.value {
                [parameter.name, text]
            } else {
                [parameter.name]
            }
        }
        return GrantPurpose(
            [grant] + place + [clientID] + scopes.sorted() + ["for"] + authorization.resources
                + ["with"] + added)
    }
}

extension SecretError {
    /// A file that is missing may come by itself.
    var lack: Lack {
        switch self {
        case .fileUnreadable, .notAFile, .variableMissing, .empty, .tooLarge, .unusableCharacter,
            .program, .noToken, .looksLikeJSON, .severalWords:
            .unavailable(reason: message)
        case .unusableKey: .misconfigured(reason: message)
        }
    }
}
