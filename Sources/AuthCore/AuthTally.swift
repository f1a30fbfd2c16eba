// What the auth core has done, counted by credential: for metrics and the status page. It is written a few
// times in a token's life, never for a request, and keeps fixed words and numbers only: what a provider
// or a person said is not among them.

import OAuth
import Synchronization
package import Vocabulary

/// The numbers of one process; whoever does something says so here.
package final class AuthTally: Sendable {
    private struct Entry {
        var activity: CredentialActivity
        /// Not to be sent from then on; nil where there is no token, or nothing tells.
        var usableUntil: BootTime?
        var hasToken = false
        /// It is of a login that the store does not have.
        var isUnwritten = false
    }

    private struct State {
        /// In the order in which they were heard of.
        var places: [CredentialID: Int] = [:]
        var entries: [Entry] = []
    }

    private let state = Mutex(State())

    package init() {}

    private func change(_ id: CredentialID, _ body: (inout Entry) -> Void) {
        state.withLock { state in
            let place = state.places[id] ?? state.entries.count
            if place == state.entries.count {
                state.places[id] = place
                state.entries.append(Entry(activity: CredentialActivity(id: id)))
            }
            body(&state.entries[place])
        }
    }

    /// A credential is looked after; it is reported from now on, with zeros.
    func begin(_ id: CredentialID) { change(id) { _ in } }

    /// The credential is no longer there.
    package func forget(_ id: CredentialID) {
        change(id) { entry in
            entry.hasToken = false
            entry.usableUntil = nil
        }
    }

    func refreshed(_ id: CredentialID) { change(id) { $0.activity.refreshes += 1 } }

    func notRefreshed(_ id: CredentialID, _ lack: Lack) {
        guard let word = lack.word else { return }
        change(id) { $0.activity.refreshFailures[word, default: 0] += 1 }
    }

    func adopted(_ id: CredentialID) { change(id) { $0.activity.adoptions += 1 } }

    func loggedIn(_ id: CredentialID) { change(id) { $0.activity.logins += 1 } }

    func notLoggedIn(_ id: CredentialID, _ failure: LoginFailure) {
        change(id) { $0.activity.loginFailures[failure.word, default: 0] += 1 }
    }

    /// - Parameter failure: nil where the answer brought a token.
    func requestedToken(_ id: CredentialID, milliseconds: UInt64, _ failure: TokenFailure?) {
        change(id) { entry in
            entry.activity.tokenRequests.add(milliseconds)
            if let word = failure?.word {
                entry.activity.tokenRequestFailures[word, default: 0] += 1
            }
        }
    }

    /// - Parameter token: the newest; nil where there is none any more.
    func holds(_ id: CredentialID, _ token: Token?) {
        change(id) { entry in
            entry.hasToken = token != nil
            entry.usableUntil = token?.usableUntil
        }
    }

    /// A login came that could not be written, or is written, replaced or gone.
    func login(_ id: CredentialID, isUnwritten: Bool) {
        change(id) { $0.isUnwritten = isUnwritten }
    }

    /// The same as `usable` of a login that is in this process's memory only.
    func usableUnwritten(_ id: CredentialID, at time: any TimeSource) -> WallTime?? {
        let isUnwritten = state.withLock { state in
            state.places[id].map { state.entries[$0].isUnwritten } ?? false
        }
        return isUnwritten ? usable(id, at: time) : nil
    }

    /// The newest token that is usable now, as far as this process knows: until when, by the wall clock, or
    /// nil within where nothing tells; nil where there is none.
    func usable(_ id: CredentialID, at time: any TimeSource) -> WallTime?? {
        let activity = report(at: time).credentials.first { $0.id == id }
        guard let activity, activity.isUsable else { return nil }
        return .some(activity.expiresAt)
    }

    /// All that was counted so far.
    package func report(at time: any TimeSource) -> AuthReport {
        let (wall, now) = (time.wallTime(), time.bootTime())
        var report = AuthReport()
        report.credentials = state.withLock { $0.entries }.map { entry in
            var activity = entry.activity
            activity.isUsable = entry.hasToken && (entry.usableUntil.map { now < $0 } ?? true)
            activity.expiresAt = entry.usableUntil.map { until in
                until >= now
                    ? wall.advanced(
                        by: Int64(clamping: (until.milliseconds - now.milliseconds) / 1000))
                    : wall.advanced(
                        by: -Int64(clamping: (now.milliseconds - until.milliseconds) / 1000))
            }
            return activity
        }
        return report
    }
}

extension Lack {
    /// Nil where nothing failed: there is nothing newer to be had.
    fileprivate var word: String? {
        switch self {
        case .loginNeeded: "login_required"
        case .transient: "unreachable"
        case .misconfigured: "misconfigured"
        case .denied: "denied"
        case .unavailable: "unavailable"
        case .partMissing: "part_missing"
        case .nothingNewer: nil
        }
    }
}

extension LoginFailure {
    fileprivate var word: String {
        if case .cancelled = self { return "cancelled" }
        switch kind {
        case .denied: return "denied"
        case .timedOut: return "timed_out"
        case .configuration: return "misconfigured"
        case .failed: return isProvidersTrouble ? "unreachable" : "failed"
        }
    }
}

extension TokenFailure {
    /// What went wrong with the request, codes that are known by themselves; nil where nothing did: the
    /// person with the device is not done yet (RFC 8628 section 3.5).
    fileprivate var word: String? {
        switch reason {
        case .code("authorization_pending"), .code("slow_down"): nil
        case .code(let code): Self.codes.contains { $0.code == code } ? code : "other_code"
        case .status: status >= 500 ? "status_5xx" : "status_4xx"
        case .fetch(.timedOut): "timed_out"
        case .fetch(.tlsFailed): "tls"
        case .fetch: "network"
        case .unreadableBody, .missingAccessToken, .missingIDToken, .missingMember,
            .unusableMember, .unusableAccessToken, .unsupportedTokenType, .unboundToken:
            "unusable_answer"
        }
    }
}
