// What can be said of a credential that needs no person: nobody can log in to it, so whatever is
// wrong is the provider's or the configuration's.

import OAuth
import TokenStore
import Vocabulary

extension StatusDesk {
    func machine(_ id: CredentialID, _ settings: OAuthSettings) async -> CredentialStatus {
        var status = CredentialStatus(id: id, kind: .oauth, state: .renewable)
        status.clientID = settings.clientID.isEmpty ? nil : settings.clientID
        if case .issuer(let issuer) = settings.endpoints { status.issuer = issuer }
        status.isRenewable = true
        let note = await RenewalNote.read(id, in: surroundings)
        status.take(note)
        // A store that cannot be read costs a request, nothing else.
        let login = (try? await surroundings.store.load(id)) ?? nil
        if let login, login.purpose != nil {
            status.issuer = login.issuer ?? status.issuer
            status.scope = login.scope
            status.obtainedAt = login.obtainedAt
            status.expiresAt = login.expiresAt
            let boot = surroundings.time.bootTime()
            let token = login.token(
                wallMilliseconds: surroundings.time.wallMilliseconds(), boot: boot)
            if token?.isUsable(at: boot) ?? false {
                status.state = .usable
                return status
            }
        }
        // A token that could not be written is used all the same.
        if let expiresAt = surroundings.tally.usable(id, at: surroundings.time) {
            status.state = .usable
            status.expiresAt = expiresAt
            return status
        }
        switch note?.kind {
        case nil, .loginRequired: break
        case .transient: status.state = .failing
        case .misconfigured: status.state = .misconfigured
        case .denied: status.state = .denied
        case .unavailable: status.state = .unavailable
        }
        if note?.kind != nil { status.detail = note?.failure }
        return status
    }
}
