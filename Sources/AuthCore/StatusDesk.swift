// What can be said of each credential without asking anybody: from the store, and from what a running
// proxy noted down. It spends nothing and shows no secret.

import Bytes
import OAuth
import TokenStore
package import Vocabulary

/// The facts about one credential.
package struct CredentialStatus: Sendable {
    package enum State: String, Sendable {
        /// A request can be sent now.
        case usable
        /// The token has expired; the next request renews it.
        case renewable
        case loginRequired = "login_required"
        /// Neither a token nor a way to one, and no login would help.
        case unavailable
    }

    package enum Kind: String, Sendable {
        case oauth, file, environment, command
    }

    package let id: CredentialID
    package let kind: Kind
    package var state: State
    /// Why it is in that state, where that needs saying.
    package var detail: String?
    /// A command that mends it.
    package var hint: String?
    package var issuer: String?
    package var clientID: String?
    /// The person, as the ID token names them.
    package var subject: String?
    package var scope: String?
    package var obtainedAt: WallTime?
    package var expiresAt: WallTime?
    /// When a running proxy will renew it at the earliest.
    package var nextRefreshAt: WallTime?
    package var isRenewable = false
    package var lastRefreshAt: WallTime?
    package var failingSince: WallTime?
    package var lastError: String?
    package var lastErrorAt: WallTime?
    /// Names of further members of the token response.
    package var extras: [String] = []
    /// What upstreams said against it lately, the newest first.
    package var refusals: [UpstreamChallenge] = []
}

extension CredentialStatus {
    package var document: JSONValue {
        func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? .null }
        func time(_ value: WallTime?) -> JSONValue {
            value.map { .number(JSONNumber($0.seconds)) } ?? .null
        }
        return [
            "name": .string(id.name), "kind": .string(kind.rawValue),
            "state": .string(state.rawValue), "detail": text(detail), "hint": text(hint),
            "issuer": text(issuer), "client_id": text(clientID), "subject": text(subject),
            "scope": text(scope), "obtained_at": time(obtainedAt), "expires_at": time(expiresAt),
            "next_refresh_at": time(nextRefreshAt), "renewable": .bool(isRenewable),
            "last_refresh_at": time(lastRefreshAt), "failing_since": time(failingSince),
            "last_error": text(lastError), "last_error_at": time(lastErrorAt),
            "extras": .array(extras.map { .string($0) }),
            "refusals": .array(refusals.map(\.document)),
        ]
    }
}

/// Reads the facts.
package struct StatusDesk: Sendable {
    private let surroundings: Surroundings

    package init(in surroundings: Surroundings) {
        self.surroundings = surroundings
    }

    package func status(of settings: CredentialSettings) async -> CredentialStatus {
        var status = await own(settings)
        status.refusals = await ChallengeBook.read(settings.id, from: surroundings.store)
        return status
    }

    private func own(_ settings: CredentialSettings) async -> CredentialStatus {
        var status: CredentialStatus
        switch settings.kind {
        case .oauth(let oauth): status = await login(settings.id, oauth)
        case .fixed(let source):
            let kind: CredentialStatus.Kind = if case .file = source { .file } else { .environment }
            // It was looked at just now; what a note says of earlier is no longer true.
            return await fixed(settings.id, kind, source)
        case .command:
            // Running it could cost a person's attention.
            status = CredentialStatus(id: settings.id, kind: .command, state: .renewable)
            status.isRenewable = true
        }
        let note = await surroundings.store.note(RenewalJournal.name(settings.id))
        if let note = note.flatMap({ RenewalJournal.Note($0) }) {
            status.lastRefreshAt = note.renewedAt
            status.failingSince = note.failingSince
            status.lastError = note.failure
            status.lastErrorAt = note.failedAt
        }
        return status
    }

    private func fixed(
        _ id: CredentialID, _ kind: CredentialStatus.Kind, _ source: SecretSource
    ) async -> CredentialStatus {
        var status = CredentialStatus(id: id, kind: kind, state: .usable)
        do throws(SecretError) {
            _ = try SecretText.token(
                try await source.readRaw(in: surroundings), source: source.name)
        } catch {
            status.state = .unavailable
            status.detail = error.message
        }
        return status
    }

    private func login(_ id: CredentialID, _ settings: OAuthSettings) async -> CredentialStatus {
        var status = CredentialStatus(id: id, kind: .oauth, state: .loginRequired)
        status.clientID = settings.clientID
        if case .issuer(let issuer) = settings.endpoints { status.issuer = issuer }
        let login: Login
        do throws(StoreError) {
            guard let found = try await surroundings.store.load(id) else {
                status.detail = "never logged in"
                status.hint = surroundings.loginCommand(id)
                return status
            }
            login = found
        } catch {
            status.detail = error.message
            status.hint = error.hint
            if case .damaged = error {
                status.hint = surroundings.loginCommand(id)
            } else {
                status.state = .unavailable
            }
            return status
        }
        describe(login, settings, &status)
        return status
    }

    private func describe(
        _ login: Login, _ settings: OAuthSettings, _ status: inout CredentialStatus
    ) {
        status.issuer = login.issuer ?? status.issuer
        status.subject = login.idToken.flatMap { try? IDToken($0) }?.subject
        status.scope = login.scope
        status.obtainedAt = login.obtainedAt
        status.expiresAt = login.expiresAt
        status.extras = login.extras.members.map(\.name)
        status.isRenewable = login.refreshToken != nil && login.rejection == nil
        let boot = surroundings.time.bootTime()
        let token = login.token(
            wallMilliseconds: surroundings.time.wallMilliseconds(), boot: boot)
        if status.isRenewable, let expiresAt = login.expiresAt, let token,
            let lifetime = token.lifetimeMilliseconds
        {
            let lead = RefreshAhead.leadMilliseconds(
                lifetime: lifetime, configuredSeconds: settings.refreshLeadSeconds)
            status.nextRefreshAt = expiresAt.advanced(by: -Int64(clamping: lead / 1000))
        }
        if let token, token.isUsable(at: boot) {
            status.state = .usable
        } else if status.isRenewable {
            status.state = .renewable
        } else {
            status.hint = surroundings.loginCommand(status.id)
        }
        if let rejection = login.rejection {
            status.detail = "the provider answered \"\(rejection.code)\""
            status.hint = surroundings.loginCommand(status.id)
        } else if login.refreshToken == nil {
            status.detail = "there is no refresh token"
        }
    }
}
