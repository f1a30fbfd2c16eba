// From the auth core's reasons to exit codes and words.

import AuthCore
import Crossing
import TokenStore
import Vocabulary

extension CommandFailure {
    init(_ refusal: Refusal, _ id: CredentialID) {
        switch refusal {
        case .loginRequired(_, _, let command, _):
            self.init(.loginNeeded, "\"\(id)\" needs a login", hint: "run \"\(command)\"")
        case .loginDenied(let command):
            self.init(
                .denied, "the provider denies access to \"\(id)\"", hint: "run \"\(command)\"")
        case .tokenEndpointUnreachable(let seconds):
            self.init(
                .failure,
                "the provider of \"\(id)\" cannot be reached or is failing; "
                    + "the login is kept",
                hint:
                    "try again in \(durationText(seconds: Int64(seconds))); \"proxy status\" says why"
            )
        case .credentialMisconfigured(let reason, _):
            self.init(
                .configuration, "the provider refuses this client: \(reason)",
                hint: "mend the credential \"\(id)\" in the configuration")
        case .credentialUnavailable(let reason): self.init(.failure, reason)
        }
    }

    init(_ failure: LoginFailure) {
        let code: ExitCode =
            switch failure.kind {
            case .failed: .failure
            case .denied: .denied
            case .timedOut: .timedOut
            case .configuration: .configuration
            }
        self.init(code, failure.message, hint: failure.hint)
    }

    init(_ error: StoreError) {
        self.init(.failure, error.message, hint: error.hint)
    }
}
