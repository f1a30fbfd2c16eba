// Answers what `proxy status` asks, from the store and the notes of whoever ran last: it refreshes
// nothing, asks nobody and changes nothing.

import OAuth
import TokenStore
package import Vocabulary

/// Reads the facts.
package struct StatusDesk: Sendable {
    let surroundings: Surroundings

    package init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    package func status(of settings: CredentialSettings) async -> CredentialStatus {
        var status = await own(settings)
        status.refusals = await ChallengeBook.read(settings.id, from: surroundings.store)
        return status
    }

    private func own(_ settings: CredentialSettings) async -> CredentialStatus {
        switch settings.kind {
        case .oauth(let oauth):
            return oauth.grant.needsPerson
                ? await login(settings.id, oauth) : await machine(settings.id, oauth)
        case .fixed(let source):
            let kind: CredentialStatus.Kind = if case .file = source { .file } else { .environment }
            // It was looked at just now; what a note says of earlier is no longer true.
            return await fixed(settings, kind, source)
        case .command:
            // Running it could cost a person's attention.
            var status = CredentialStatus(id: settings.id, kind: .command, state: .renewable)
            status.isRenewable = true
            let note = await RenewalNote.read(settings.id, in: surroundings)
            status.take(note)
            if note?.kind != nil { status.state = .unavailable }
            return status
        }
    }

    private func fixed(
        _ settings: CredentialSettings, _ kind: CredentialStatus.Kind, _ source: SecretSource
    ) async -> CredentialStatus {
        var status = CredentialStatus(id: settings.id, kind: kind, state: .usable)
        do throws(SecretError) {
            _ = try await source.readCredential(for: settings.injection, in: surroundings)
        } catch {
            status.state = .unavailable
            status.detail = error.message
        }
        return status
    }

    private func login(_ id: CredentialID, _ settings: OAuthSettings) async -> CredentialStatus {
        var status = CredentialStatus(id: id, kind: .oauth, state: .loginRequired)
        status.clientID = settings.clientID.isEmpty ? nil : settings.clientID
        switch settings.endpoints {
        case .issuer(let issuer): status.issuer = issuer
        case .discovered(_, let issuer): status.issuer = issuer
        case .fixed: break
        }
        do throws(StoreError) {
            let found = try await surroundings.store.load(id)
            if let foreign = found?.foreign(to: settings, id, in: surroundings) {
                status.state = .unavailable
                status.detail = "\(foreign.message); \(foreign.advice), or replace that login"
                status.hint = foreign.command
                return status
            }
            guard let login = found, login.purpose == nil else {
                // One that could not be written is used all the same.
                if let expiresAt = surroundings.tally.usableUnwritten(id, at: surroundings.time) {
                    status.state = .usable
                    status.expiresAt = expiresAt
                    status.detail = Self.unwritten
                    return status
                }
                status.detail = "never logged in"
                status.hint = surroundings.loginCommand(id)
                return status
            }
            let note = await RenewalNote.read(id, in: surroundings)
            describe(login, settings, note, &status)
            // So is one that could not take this one's place.
            if status.state == .loginRequired,
                let until = surroundings.tally.usableUnwritten(id, at: surroundings.time),
                login.expiry(settings.injected).map({ $0 < (until ?? $0.advanced(by: 1)) }) ?? false
            {
                (status.state, status.hint) = (.usable, nil)
                (status.expiresAt, status.detail) = (until, Self.unwritten)
            }
            let refusals = await ChallengeBook.read(id, from: surroundings.store)
            status.stepUp = (surroundings.loginCommand(id), refusals.loginFlags(beyond: login))
            if settings.clientID.isEmpty { status.clientID = login.clientID }
            if let issuer = status.issuer {
                let copy = await DocumentShelf.kept(.server, issuer, in: surroundings.store)
                status.metadataStaleSince = copy?.failingSince
            }
        } catch {
            status.detail = error.message
            status.hint = error.hint
            if case .damaged = error {
                status.hint = surroundings.loginCommand(id)
            } else {
                status.state = .unavailable
            }
        }
        return status
    }

    private static let unwritten = "its login is in memory only: it could not be written"

    private func describe(
        _ login: Login, _ settings: OAuthSettings, _ note: RenewalNote?,
        _ status: inout CredentialStatus
    ) {
        let (now, boot) = (surroundings.time.wallTime(), surroundings.time.bootTime())
        status.issuer = login.issuer ?? status.issuer
        status.subject = login.subject ?? login.idToken.flatMap { try? IDToken($0) }?.subject
        status.scope = login.scope
        status.missingScopes = login.missingScopes(of: settings.scopes)
        status.missingScopes += login.missingScopes.filter { !status.missingScopes.contains($0) }
        status.obtainedAt = login.obtainedAt
        status.expiresAt = login.expiry(settings.injected)
        status.extras = login.extras.members.map(\.name)
        status.isRenewable = login.refreshToken != nil && login.rejection == nil
        status.refreshTokenExpiresAt = login.refreshToken == nil ? nil : login.refreshExpiresAt
        status.endsSoon =
            status.isRenewable && (login.endWarningAt.map { $0 <= now } ?? false)
        // What failed before this login was made, or renewed by somebody else, is over.
        var note = note
        if let failedAt = note?.failedAt, failedAt < login.obtainedAt {
            note = RenewalNote(renewedAt: note?.renewedAt, clock: note?.clock)
        }
        status.take(note)
        let token = login.token(
            settings.injected, wallMilliseconds: surroundings.time.wallMilliseconds(), boot: boot)
        if status.isRenewable {
            status.nextRefreshAt = note?.nextAttemptAt ?? login.nextRefresh(token, settings)
        }
        if case .loginNeeded(let code) = login.bindingObstacle(settings) {
            status.state = .loginRequired
            status.detail = "its tokens do not go with \"dpop\" in the configuration (\(code))"
            status.hint = surroundings.loginCommand(status.id)
            return
        }
        let verdict = LoginVerdict(
            login, hasUsableToken: token?.isUsable(at: boot) ?? false, note, at: now)
        status.state = verdict.state
        status.detail = verdict.detail
        if verdict.wantsLogin { status.hint = surroundings.loginCommand(status.id) }
    }
}

extension CredentialStatus {
    mutating func take(_ note: RenewalNote?) {
        lastRefreshAt = note?.renewedAt
        failingSince = note?.failingSince
        lastError = note?.failure
        lastErrorAt = note?.failedAt
        clockDifference = note?.clock?.seconds
    }
}

extension Login {
    /// By the wall clock, which is what people read.
    fileprivate func nextRefresh(_ token: Token?, _ settings: OAuthSettings) -> WallTime? {
        var due: WallTime?
        if let expiresAt = expiry(settings.injected), let lifetime = token?.lifetimeMilliseconds {
            let lead = RefreshAhead.leadMilliseconds(
                lifetime: lifetime, configuredSeconds: settings.refreshLeadSeconds)
            due = expiresAt.advanced(by: -Int64(clamping: lead / 1000))
        }
        if let keepAlive = settings.keepAliveSeconds.map(obtainedAt.advanced) {
            due = due.map { min($0, keepAlive) } ?? keepAlive
        }
        return due
    }

    /// Some servers do not repeat what shows by itself: a refresh token, an ID token.
    fileprivate func missingScopes(of wanted: [String]) -> [String] {
        guard let scope else { return [] }
        let granted = scope.split { $0 == " " || $0 == "," }.map(String.init)
        return wanted.filter { wish in
            !granted.contains(wish) && !(wish == "offline_access" && refreshToken != nil)
                && !(wish == "openid" && idToken != nil)
        }
    }
}
