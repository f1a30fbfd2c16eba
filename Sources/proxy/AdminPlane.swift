// Stands behind the status page: gathers what the auth core knows, and does with logins what a person asks
// for there. It decides nothing of its own.

import Admin
import AuthCore
import Configuration
import Crossing
import Diagnostics
import Pages
import Routing
import Synchronization
import Vocabulary

/// What the admin listener of a running proxy asks.
actor AdminPlane: AdminDesk {
    /// What others know and this does not.
    struct Sources: Sendable {
        /// The configuration that is in force.
        var settings: @Sendable () -> Settings
        var addresses: @Sendable () -> [String]
        var isDraining: @Sendable () -> Bool
        /// Why the last change of the file was not taken.
        var configurationProblems: @Sendable () -> [String] = { [] }
        /// What went through the proxy; nil where nothing counts.
        var traffic: @Sendable () async -> TrafficReport? = { nil }
        /// Counters as text; nil where nothing counts.
        var metrics: @Sendable () async -> String? = { nil }
        var quit: (@Sendable () -> Void)?
    }

    nonisolated let quit: (@Sendable () -> Void)?
    private let sources: Sources
    private let plane: ControlPlane
    private let surroundings: AuthCore.Surroundings
    private let status: StatusDesk
    private let startedAt: WallTime
    private let history = Mutex(TrafficHistory())
    /// Logins that were started here and wait for somebody, each with who wants to know its end.
    private var logins:
        [CredentialID: (session: LoginSession, told: [@Sendable (Notice) -> Void])] =
            [:]

    /// How long a browser waits for a refresh; the refresh itself goes on.
    private static let patienceMilliseconds: UInt64 = 45_000

    init(_ sources: Sources, plane: ControlPlane, in surroundings: AuthCore.Surroundings) {
        self.sources = sources
        self.plane = plane
        self.surroundings = surroundings
        quit = sources.quit
        status = StatusDesk(in: surroundings)
        startedAt = surroundings.time.wallTime()
    }

    // MARK: Facts

    nonisolated func facts() async -> StatusFacts {
        let settings = sources.settings()
        var facts = StatusFacts(
            version: VersionCommand.number, now: surroundings.time.wallTime(), startedAt: startedAt,
            addresses: sources.addresses())
        facts.isDraining = sources.isDraining()
        facts.configurationProblems = sources.configurationProblems()
        for credential in settings.credentials {
            var known = CredentialFacts(await status.status(of: credential), credential)
            known.pendingLogin = await plane.desk.pending(credential.id).map {
                .init(url: $0.url, userCode: $0.userCode)
            }
            facts.credentials.append(known)
        }
        facts.routes = zip(settings.routes.names, settings.routeSpecs).map { name, spec in
            RouteFacts(
                name: name, upstream: "\(spec.upstream)",
                credential: spec.credential.flatMap { credential in
                    let index = credential.slot.index
                    return settings.credentials.indices.contains(index)
                        ? settings.credentials[index].id.name : nil
                })
        }
        if let report = await sources.traffic() { facts.add(report, sampled(report)) }
        return facts
    }

    private nonisolated func sampled(_ report: TrafficReport) -> TrafficHistory {
        history.withLock { history in
            history.sample(report, at: surroundings.time.bootTime())
            return history
        }
    }

    /// Looks at the traffic now and then, so that the charts have a past; until it is cancelled.
    nonisolated func sampleTraffic() async {
        repeat {
            guard let report = await sources.traffic() else { return }
            _ = sampled(report)
        } while (try? await surroundings.time.sleep(
            milliseconds: UInt64(TrafficHistory.seconds * 1000))) != nil
    }

    nonisolated func metrics() async -> String? { await sources.metrics() }

    private func find(_ name: String) -> (CredentialSettings, CredentialKeeper)? {
        guard let credential = sources.settings().credentials.first(where: { $0.id.name == name }),
            let keeper = plane.roster.keeper(of: credential.id)
        else { return nil }
        return (credential, keeper)
    }

    private static let unknown = Notice(.bad, "There is no such credential any more.")

    // MARK: Refresh

    func refresh(_ name: String) async -> Notice {
        guard let (credential, keeper) = find(name) else { return Self.unknown }
        let before = await status.status(of: credential)
        // Its keeper would ask for a person, and that is another button.
        guard before.state != .loginRequired, before.kind == .oauth || before.kind == .command
        else {
            return Notice(.bad, "There is nothing to refresh for \(name).")
        }
        let isUsable = before.state == .usable
        let outcome = await answer(
            within: Self.patienceMilliseconds, by: surroundings.time
        ) { () async -> Result<Bool, Refusal> in
            do throws(Refusal) {
                let found = try await keeper.credential(newerThan: .none)
                guard isUsable else { return .success(true) }
                let fresh = try await keeper.credential(
                    newerThan: found.generation, insists: true)
                return .success(fresh.token != found.token)
            } catch {
                return .failure(error)
            }
        }
        switch outcome {
        case nil: return Notice(.warn, "The refresh of \(name) takes long and goes on.")
        case .success(let isNew)?:
            let after = await status.status(of: credential)
            return refreshed(name, after, isNew: isNew || after.expiresAt != before.expiresAt)
        case .failure(let refusal)?:
            let failure = CommandFailure(refusal, credential.id).messages.first
            return Notice(
                .bad, "\(name) was not refreshed: \(failure?.text ?? "it was refused").",
                hint: failure?.hint)
        }
    }

    private func refreshed(_ name: String, _ after: CredentialStatus, isNew: Bool) -> Notice {
        guard isNew else {
            return Notice(.calm, "The token of \(name) is the newest to be had.")
        }
        let now = surroundings.time.wallTime()
        guard let end = after.expiresAt, now < end else {
            return Notice(.good, "Refreshed \(name).")
        }
        let left = end.seconds.subtractingReportingOverflow(now.seconds)
        let span = left.overflow ? "a long time" : Said.span(left.partialValue)
        return Notice(.good, "Refreshed \(name): the new token is good for \(span).")
    }

    // MARK: Log in

    func logIn(
        to name: String, returnURL: String?, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LoginStart {
        guard let (credential, _) = find(name) else { return .failed(Self.unknown) }
        let id = credential.id
        // Whoever asks twice is at it already.
        if let session = logins[id]?.session {
            logins[id]?.told.append(ended)
            return await start(of: session)
        }
        var options = LoginOptions(.printURL)
        options.returnURL = returnURL
        let log = surroundings.log
        let session: LoginSession
        do throws(LoginFailure) {
            session = try await plane.desk.begin(id, options) { event in
                if case .ignoredCallback(let error) = event {
                    log.info(
                        "ignored a callback", ("credential", .text(id.name)),
                        ("reason", .text(error.text)))
                }
            }
        } catch {
            return .failed(Self.failed(id, error))
        }
        logins[id] = (session, [ended])
        Task { await follow(id, session) }
        return await start(of: session)
    }

    private func follow(_ id: CredentialID, _ session: LoginSession) async {
        let notice: Notice
        do throws(LoginFailure) {
            let login = try await session.result()
            surroundings.log.info("logged in", ("credential", .text(id.name)))
            notice = Self.loggedIn(id, missing: login.missingScopes)
        } catch {
            surroundings.log.warning(
                "login failed", ("credential", .text(id.name)), ("reason", .text(error.message)))
            notice = Self.failed(id, error)
        }
        for tell in logins.removeValue(forKey: id)?.told ?? [] { tell(notice) }
        await session.close()
    }

    private func start(of session: LoginSession) async -> LoginStart {
        if let device = session.device {
            return .code(
                url: session.url, userCode: device.userCode,
                seconds: Int64(clamping: device.expiresInSeconds))
        }
        return .page(url: await session.freshURL())
    }

    private static func loggedIn(_ id: CredentialID, missing: [String]) -> Notice {
        missing.isEmpty
            ? Notice(.good, "Logged in to \(id).")
            : Notice(
                .warn,
                "Logged in to \(id), without what the provider did not grant: "
                    + missing.joined(separator: " ") + ".")
    }

    private static func failed(_ id: CredentialID, _ failure: LoginFailure) -> Notice {
        Notice(.bad, "No login to \(id): \(failure.message).", hint: failure.hint)
    }

    /// Ends what waits for somebody.
    func close() async {
        for login in logins.values { await login.session.cancel() }
    }

    // MARK: Log out

    func logOut(
        of name: String, ended: @escaping @Sendable (Notice) -> Void
    ) async -> LogoutStart {
        guard let (credential, _) = find(name), case .oauth(let oauth) = credential.kind else {
            return .ended(Self.unknown)
        }
        let desk = LogoutDesk(discovery: plane.discovery, in: surroundings)
        let first = FirstAnswer<LogoutStart>()
        Task {
            let report = await desk.logOut(credential.id, oauth, LogoutOptions(.printURL)) {
                event in
                if case .address(let url) = event { first.give(.page(url: url)) }
            }
            let notice = Self.loggedOut(credential.id, report)
            if !first.give(.ended(notice)) { ended(notice) }
        }
        return await first.value()
    }

    private static func loggedOut(_ id: CredentialID, _ report: LogoutReport) -> Notice {
        if let line = report[.local], line.outcome == .failed {
            return Notice(
                .bad, "The login of \(id) could not be forgotten: \(line.detail ?? "").",
                hint: line.hint)
        }
        let failed = report.lines.filter { $0.outcome == .failed }
        guard failed.isEmpty else {
            let reasons = failed.map { $0.detail ?? $0.step.rawValue }
            return Notice(
                .warn,
                "Logged out of \(id) here. At the provider not everything was done: "
                    + reasons.joined(separator: "; ") + ".")
        }
        let isRevoked = report.lines.contains {
            [.refreshToken, .accessToken].contains($0.step) && $0.outcome == .done
        }
        return Notice(
            .good, "Logged out of \(id)" + (isRevoked ? "; its tokens are revoked." : "."))
    }
}
