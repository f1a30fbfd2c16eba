// From what the auth core says of a credential to what the status page shows.

import Admin
import AuthCore
import Configuration
import Vocabulary

extension CredentialFacts {
    init(_ status: CredentialStatus, _ settings: CredentialSettings) {
        let kind: Kind =
            switch status.kind {
            case .oauth: settings.isInteractive ? .login : .machine
            case .file: .file
            case .environment: .environment
            case .command: .command
            }
        self.init(name: status.id.name, kind: kind, state: status.state)
        detail = status.detail
        hint = status.hint
        issuer = status.issuer
        subject = status.subject
        scopes = (status.scope ?? "").split { $0 == " " || $0 == "," }.map(String.init)
        missingScopes = status.missingScopes
        obtainedAt = status.obtainedAt
        expiresAt = status.expiresAt
        nextRefreshAt = status.nextRefreshAt
        isRenewable = status.isRenewable
        loginEndsAt = status.refreshTokenExpiresAt
        endsSoon = status.endsSoon
        lastRefreshAt = status.lastRefreshAt
        failingSince = status.failingSince
        lastError = status.lastError
        lastErrorAt = status.lastErrorAt
        clockDifference = status.clockIsOff ? status.clockDifference : nil
        metadataStaleSince = status.metadataStaleSince
        refusals = status.refusals.map { ($0.sentence, $0.at) }
        document = status.document
        switch kind {
        case .login:
            canLogIn = true
            canLogOut = status.obtainedAt != nil
            canRefresh = status.isRenewable && (state.isReady || state == .failing)
        case .machine, .command: canRefresh = true
        case .file, .environment: break
        }
    }
}
