// What a log-out did, step by step, for a person and for programs. It holds no secret.

package import Vocabulary

/// The steps in their order, each once.
package struct LogoutReport: Sendable {
    package enum Step: String, CaseIterable, Sendable {
        /// The login in the store.
        case local
        case refreshToken = "revoke_refresh_token"
        case accessToken = "revoke_access_token"
        /// The person's session at the provider.
        case session = "end_session"
    }

    package enum Outcome: String, Sendable {
        case done
        /// There was nothing to do: no login, no such token.
        case absent
        /// The provider has no way to do it.
        case unsupported
        /// Not tried, by request or for want of somebody to do it.
        case skipped
        case failed
        case timedOut = "timed_out"
        case interrupted
    }

    package struct Line: Sendable {
        package let step: Step
        package let outcome: Outcome
        /// Why, where that needs saying.
        package let detail: String?
        /// What may help.
        package let hint: String?

        init(_ step: Step, _ outcome: Outcome, _ detail: String? = nil, hint: String? = nil) {
            self.step = step
            self.outcome = outcome
            self.detail = detail
            self.hint = hint
        }
    }

    package internal(set) var lines: [Line] = []

    package subscript(step: Step) -> Line? { lines.first { $0.step == step } }

    package func has(_ outcome: Outcome) -> Bool { lines.contains { $0.outcome == outcome } }

    package var document: JSONValue {
        .array(
            lines.map { line in
                [
                    "step": .string(line.step.rawValue), "outcome": .string(line.outcome.rawValue),
                    "detail": line.detail.map { .string($0) } ?? .null,
                ]
            })
    }
}
