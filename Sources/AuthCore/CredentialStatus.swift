// What can be said about a credential, in facts: for `proxy status` to put into words, and as JSON for
// programs. No member holds a secret.

package import Vocabulary

/// The facts about one credential.
package struct CredentialStatus: Sendable {
    package enum Kind: String, Sendable {
        case oauth, file, environment, command
    }

    package let id: CredentialID
    package let kind: Kind
    package var state: CredentialState
    /// Why it is in that state, where that needs saying.
    package var detail: String?
    /// A command that mends it.
    package var hint: String?
    package var issuer: String?
    package var clientID: String?
    /// The person, as the ID token names them.
    package var subject: String?
    package var scope: String?
    /// What was asked for and not granted.
    package var missingScopes: [String] = []
    package var obtainedAt: WallTime?
    package var expiresAt: WallTime?
    /// When a running proxy will renew it at the earliest; after a failure, when it tries again.
    package var nextRefreshAt: WallTime?
    package var isRenewable = false
    /// When the login itself ends, where the provider said so.
    package var refreshTokenExpiresAt: WallTime?
    /// That is soon enough to log in again before.
    package var endsSoon = false
    package var lastRefreshAt: WallTime?
    package var failingSince: WallTime?
    package var lastError: String?
    package var lastErrorAt: WallTime?
    /// Our clock less the provider's, in seconds, by its last answer.
    package var clockDifference: Int64?
    /// Since when the provider's metadata cannot be renewed; the last known is used.
    package var metadataStaleSince: WallTime?
    /// Names of further members of the token response.
    package var extras: [String] = []
    /// What upstreams said against it lately, the newest first.
    package var refusals: [UpstreamChallenge] = []
    /// A login command, and the flags that make it ask for what an API refused for want of; the
    /// flags are strangers' words, to be quoted. Empty where nothing is wanted.
    package var stepUp: (command: String, flags: [String]) = ("", [])

    init(id: CredentialID, kind: Kind, state: CredentialState) {
        self.id = id
        self.kind = kind
        self.state = state
    }

    /// Whether the two clocks differ by more than an answer's way.
    package var clockIsOff: Bool {
        clockDifference.map { abs($0) > ClockDifference.secondsMax } ?? false
    }
}

extension CredentialStatus {
    package var document: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: WallTime?) -> JSONValue {
            value.map { .number(JSONNumber($0.seconds)) } ?? .null
        }
        func list(_ values: [String]) -> JSONValue { .array(values.map { .string($0) }) }
        return [
            "name": .string(id.name), "kind": .string(kind.rawValue),
            "state": .string(state.rawValue), "detail": text(detail), "hint": text(hint),
            "issuer": text(issuer), "client_id": text(clientID), "subject": text(subject),
            "scope": text(scope), "missing_scopes": list(missingScopes),
            "obtained_at": time(obtainedAt), "expires_at": time(expiresAt),
            "next_refresh_at": time(nextRefreshAt), "renewable": .bool(isRenewable),
            "refresh_token_expires_at": time(refreshTokenExpiresAt),
            "ends_soon": .bool(endsSoon),
            "last_refresh_at": time(lastRefreshAt), "failing_since": time(failingSince),
            "last_error": text(lastError), "last_error_at": time(lastErrorAt),
            "clock_difference": clockDifference.map { .number(JSONNumber($0)) } ?? .null,
            "metadata_stale_since": time(metadataStaleSince),
            "extras": list(extras), "refusals": .array(refusals.map(\.document)),
            "step_up_flags": list(stepUp.flags),
        ]
    }
}
