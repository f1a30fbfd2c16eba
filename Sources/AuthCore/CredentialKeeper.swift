// The single flight. Whoever needs a credential names the generation that was refused; from that it
// follows whether a newer one exists already, a renewal is running, or one must be started. A
// renewal belongs to the keeper, never to the request that caused it.

import Bytes
package import Crossing
import TokenStore
package import Vocabulary

/// Keeps one credential fresh for any number of requests.
package actor CredentialKeeper {
    /// What the configuration says of timing.
    struct Policy: Sendable {
        /// Nil is the default of min(60 s, 10 % of the lifetime).
        var leadSeconds: Int64?
        /// How long a request waits for a person.
        var loginWaitMilliseconds: UInt64 = 120_000
    }

    /// Somebody who waits for a generation above `rejected`.
    private struct Waiter {
        let rejected: Generation
        /// Whether the rejected token once more is no answer where there is no other for now.
        let insists: Bool
        let answer: CheckedContinuation<Result<Credential, Refusal>, Never>
        /// Set while it waits for a person instead of a renewal.
        var loginDeadline: BootTime?
    }

    /// Why the last renewal failed and when the next may start.
    private struct Trouble {
        let lack: Lack
        let notBefore: BootTime
        /// Of the files with secrets at that time.
        let secretStamps: [FileStamp?]
    }

    private enum Step {
        case rest
        /// Nobody is refused on what was seen before they asked.
        case look
        case renew(isUrgent: Bool)
        /// The token that was refused is the newest to be had: it goes out under a new generation, so
        /// that requests meet the upstream's refusal once more and pass it on.
        case offerAgain
        case refuse(Refusal)
        case askForLogin
    }

    package nonisolated let id: CredentialID
    private let source: any CredentialSource
    private let desk: (any LoginDemanding)?
    private let policy: Policy
    private let surroundings: Surroundings
    private let publish: @Sendable (Generation, Credential?) -> Void
    private let journal: RenewalJournal

    private var generation = Generation.none
    private var token: Token?
    private var obstacle: Lack?
    private var renewalDue: BootTime?
    private var lastRenewal: BootTime?
    private var trouble: Trouble?
    private var backoff = Backoff()
    private var budget = RejectionBudget()
    private var hasLooked = false
    /// The generation that `token` came with, and when, where it came while we ran.
    private var arrival: (generation: Generation, at: BootTime?) = (.none, nil)
    /// A token that was refused as soon as it had arrived: a login would bring no better one.
    /// Until then, that is: by then it may have died.
    private var futile: (token: SecretBytes, until: BootTime)?

    private var flight: Task<Void, Never>?
    private var waiters: [UInt64: Waiter] = [:]
    private var waiterCount: UInt64 = 0
    /// The waiters up to this number had come when the source was last looked at.
    private var lookedFor: UInt64 = 0
    private var pendingLogin: PendingLogin?

    /// A token that expires on arrival does not make us spin.
    private static let renewalIntervalMilliseconds: UInt64 = 1000
    private static let lookIntervalMilliseconds: UInt64 = 1000
    /// A token that came no longer ago and is refused did not die: the upstream wants another kind.
    private static let freshMilliseconds: UInt64 = 60_000
    /// One login in so long is asked for instead of a token that was refused early.
    private static let futileMilliseconds: UInt64 = 3_600_000

    /// - Parameter publish: called with each new generation, in order; nil when the credential was
    ///   removed. It must not block.
    init(
        _ id: CredentialID, source: any CredentialSource, desk: (any LoginDemanding)?,
        policy: Policy = Policy(), in surroundings: Surroundings,
        publish: @escaping @Sendable (Generation, Credential?) -> Void = { _, _ in }
    ) {
        self.id = id
        self.source = source
        self.desk = desk
        self.policy = policy
        self.surroundings = surroundings
        self.publish = publish
        journal = RenewalJournal(id, in: surroundings)
    }

    /// A credential newer than the one that was refused, or `.none` for any that is usable. Returns
    /// when there is one, or when it is known that there will be none for now; a waiting request may
    /// be gone by then, which changes nothing.
    ///
    /// - Parameter insists: whether a renewal that fails is a failure although the token that was
    ///   refused is good by the clock. Requests get that one again, and pass on what the upstream
    ///   says.
    package func credential(
        newerThan rejected: Generation, insists: Bool = false
    ) async throws(Refusal) -> Credential {
        if let ready = credentialNow(newerThan: rejected) { return ready }
        let result = await withCheckedContinuation { answer in
            waiterCount += 1
            waiters[waiterCount] = Waiter(rejected: rejected, insists: insists, answer: answer)
            takeOff()
        }
        return try result.get()
    }

    /// What is usable at once, without asking anybody.
    package func credentialNow(newerThan rejected: Generation = .none) -> Credential? {
        guard generation > rejected, let token, token.isUsable(at: now) else { return nil }
        return Credential(
            generation: generation, token: token.secret, usableUntil: token.usableUntil,
            proofKey: token.proofKey)
    }

    /// An upstream refused what a renewal or a login had just brought.
    package func wasRefusedOnArrival(_ refused: Generation) {
        guard let token, refused >= arrival.generation else { return }
        noteFutile(token)
        // While renewals fail, that says nothing of what they would bring.
        if trouble == nil { budget.noteUselessRenewal() }
    }

    /// An upstream takes only another login than the one that the refused credential came from. That one stays,
    /// and one that has just arrived is not asked for again: it would be refused like this one.
    package func loginIsWanted(insteadOf refused: Generation) async {
        guard let desk, token != nil, refused >= arrival.generation, pendingLogin == nil else {
            return
        }
        if let at = arrival.at, now < at.advanced(byMilliseconds: Self.freshMilliseconds) { return }
        if let login = await desk.demand(id).login { follow(login) }
    }

    /// Watches the source, renews ahead of expiry and ends waits that have lasted too long, until the
    /// task is cancelled.
    package func run() async {
        surroundings.tally.begin(id)
        await journal.begin()
        while !Task.isCancelled {
            expireWaiters()
            takeOff()
            await flight?.value
            let wake = nextWake()
            let pause = wake.milliseconds - min(wake.milliseconds, now.milliseconds)
            guard (try? await surroundings.time.sleep(milliseconds: max(1, pause))) != nil else {
                return
            }
        }
    }

    /// Waits for a renewal that runs and for what must still be written.
    package func finish() async {
        await flight?.value
        await source.finish()
    }

    private var now: BootTime { surroundings.time.bootTime() }

    // MARK: The flight

    private func takeOff() {
        guard flight == nil else { return }
        // Not a child of whoever asks: a request that goes away must not take the renewal with it.
        flight = Task.detached { await self.fly() }
    }

    private func fly() async {
        await look()
        while true {
            settle()
            switch nextStep() {
            case .rest:
                flight = nil
                return
            case .look: await look()
            case .renew(let isUrgent): await renew(isUrgent: isUrgent)
            case .offerAgain: offerAgain()
            case .refuse(let refusal): refuse(refusal)
            case .askForLogin: await askForLogin()
            }
        }
    }

    private func look() async {
        let asked = waiterCount
        let look = await source.look()
        lookedFor = asked
        defer { hasLooked = true }
        // Secrets are rotated under us.
        if let trouble, trouble.secretStamps != source.secretStamps { forgetTrouble() }
        guard case .changed(let supply) = look else { return }
        forgetTrouble()
        if let fresh = supply.token, let token, fresh.secret != token.secret {
            surroundings.tally.adopted(id)
        }
        apply(supply)
        settle()
        switch supply.obstacle {
        case .unavailable(let reason): await journal.failed(.unavailable(reason: reason))
        case nil, .nothingNewer: await journal.mended()
        case .loginNeeded, .transient, .misconfigured, .denied, .partMissing: break
        }
    }

    /// Those whom only something new can answer; others wait for a person.
    private var asking: [Waiter] { waiters.values.filter { $0.loginDeadline == nil } }

    private func nextStep() -> Step {
        let now = now
        let isUsable = token?.isUsable(at: now) ?? false
        guard !asking.isEmpty else {
            guard obstacle == nil, let renewalDue, renewalDue <= now,
                trouble.map({ $0.notBefore <= now }) ?? true
            else { return .rest }
            return .renew(isUrgent: !isUsable)
        }
        guard waiters.allSatisfy({ $0.key <= lookedFor || $0.value.loginDeadline != nil }) else {
            return .look
        }
        // Usable and yet not good enough: an upstream refused it.
        if isUsable, obstacle == .nothingNewer || isFutile(at: now) { return .offerAgain }
        switch obstacle {
        case nil: break
        case .loginNeeded: return .askForLogin
        case .some(let lack): return .refuse(refusal(lack, retryAt: now))
        }
        if let trouble, now < trouble.notBefore {
            // The upstream's own word, while nothing better is to be had.
            if isUsable { return .offerAgain }
            return .refuse(refusal(trouble.lack, retryAt: trouble.notBefore))
        }
        if isUsable { return budget.take(at: now) ? .renew(isUrgent: true) : .offerAgain }
        if let lastRenewal,
            now < lastRenewal.advanced(byMilliseconds: Self.renewalIntervalMilliseconds)
        {
            let reason = "tokens expire on arrival"
            return .refuse(
                refusal(.transient(retryAfterSeconds: 1, reason: reason), retryAt: now))
        }
        return .renew(isUrgent: true)
    }

    /// Whether only a login could bring another token, which would be refused like this one.
    private func isFutile(at now: BootTime) -> Bool {
        guard obstacle == .noRefreshToken, let token else { return false }
        let isFresh =
            arrival.at.map { now < $0.advanced(byMilliseconds: Self.freshMilliseconds) } ?? false
        if isFresh { noteFutile(token) }
        guard let futile, futile.token == token.secret else { return false }
        guard futile.until <= now else { return true }
        self.futile?.until = now.advanced(byMilliseconds: Self.futileMilliseconds)
        return false
    }

    private func noteFutile(_ token: Token) {
        guard futile?.token != token.secret else { return }
        futile = (token.secret, now.advanced(byMilliseconds: Self.futileMilliseconds))
    }

    private func renew(isUrgent: Bool) async {
        let started = now
        let rejected = token.flatMap { $0.isUsable(at: started) && isUrgent ? $0.secret : nil }
        do {
            let supply = try await source.renew(rejected: rejected, isUrgent: isUrgent)
            lastRenewal = started
            surroundings.tally.refreshed(id)
            await journal.renewed(after: trouble != nil, clock: source.clockDifference)
            forgetTrouble()
            apply(supply)
            // Asked for another token, the source gave the same: there is none.
            if let token, let rejected, token.secret == rejected { replace(token) }
        } catch {
            surroundings.tally.notRefreshed(id, error)
            failed(error, isUrgent: isUrgent)
            // Waiters first: the journal is a file.
            settleFailure()
            await journal.failed(
                error, nextAttemptInMilliseconds: millisecondsToNextAttempt,
                clock: source.clockDifference)
        }
    }

    private func failed(_ lack: Lack, isUrgent: Bool) {
        switch lack {
        case .loginNeeded, .nothingNewer:
            forgetTrouble()
            obstacle = lack
        case .transient(let retryAfter, _):
            pause(lack, backoff.next(retryAfterSeconds: retryAfter, chance: surroundings.chance()))
        case .unavailable, .partMissing:
            pause(lack, backoff.next(retryAfterSeconds: nil, chance: surroundings.chance()))
        case .misconfigured, .denied:
            pause(
                lack,
                lack == .denied
                    ? Backoff.misconfiguredMilliseconds : backoff.nextOfMisconfigured())
            // Some servers refuse only a refresh that comes early.
            if !isUrgent, let expiry = token?.usableUntil, let trouble, expiry < trouble.notBefore {
                self.trouble = Trouble(
                    lack: lack, notBefore: expiry, secretStamps: trouble.secretStamps)
            }
        }
    }

    private func pause(_ lack: Lack, _ milliseconds: UInt64) {
        trouble = Trouble(
            lack: lack, notBefore: now.advanced(byMilliseconds: milliseconds),
            secretStamps: source.secretStamps)
    }

    private var millisecondsToNextAttempt: UInt64? {
        let now = now
        return trouble.map { $0.notBefore.milliseconds - min($0.notBefore, now).milliseconds }
    }

    private func forgetTrouble() {
        trouble = nil
        backoff = Backoff()
    }

    /// Answers who can be answered before a failure is written down.
    private func settleFailure() {
        guard let trouble, !asking.isEmpty else { return }
        if token?.isUsable(at: now) ?? false {
            offerAgain()
            return settle()
        }
        refuse(refusal(trouble.lack, retryAt: trouble.notBefore))
    }

    // MARK: Tokens

    private func apply(_ supply: Supply) {
        if case .loginNeeded = obstacle, supply.obstacle == nil, let desk {
            // Somebody logged in, here or elsewhere: what is still open asks for nothing.
            Task { [id] in await desk.dismiss(id) }
        }
        obstacle = supply.obstacle
        surroundings.tally.holds(id, supply.token)
        guard let fresh = supply.token else {
            renewalDue = nil
            guard token != nil else { return }
            token = nil
            generation = generation.next
            publish(generation, nil)
            return
        }
        if let token, token.secret == fresh.secret {
            self.token = fresh
            schedule(fresh)
        } else {
            replace(fresh)
        }
    }

    private func replace(_ fresh: Token) {
        generation = generation.next
        if token?.secret != fresh.secret { arrival = (generation, hasLooked ? now : nil) }
        token = fresh
        schedule(fresh)
        if let credential = credentialNow() { publish(generation, credential) }
    }

    private func offerAgain() {
        if let trouble {
            refuse(refusal(trouble.lack, retryAt: trouble.notBefore)) { $0.insists }
        }
        if let token, !asking.isEmpty { replace(token) }
    }

    private func schedule(_ token: Token) {
        renewalDue = RefreshAhead.due(
            token, configuredSeconds: policy.leadSeconds, chance: surroundings.chance())
    }

    private func nextWake() -> BootTime {
        let look = now.advanced(byMilliseconds: Self.lookIntervalMilliseconds)
        var wake = look
        if obstacle == nil, let renewalDue {
            wake = min(wake, max(renewalDue, trouble?.notBefore ?? renewalDue))
        }
        for waiter in waiters.values { wake = min(wake, waiter.loginDeadline ?? look) }
        return wake
    }

    // MARK: Waiters

    private func settle() {
        for (number, waiter) in waiters {
            guard let ready = credentialNow(newerThan: waiter.rejected) else { continue }
            waiters[number] = nil
            waiter.answer.resume(returning: .success(ready))
        }
    }

    /// Those that wait for a person go on waiting.
    private func refuse(_ refusal: Refusal, where isMeant: (Waiter) -> Bool = { _ in true }) {
        for (number, waiter) in waiters where waiter.loginDeadline == nil && isMeant(waiter) {
            waiters[number] = nil
            waiter.answer.resume(returning: .failure(refusal))
        }
    }

    private func refusal(_ lack: Lack, retryAt: BootTime) -> Refusal {
        let now = now
        let left = retryAt.milliseconds - min(retryAt.milliseconds, now.milliseconds)
        let seconds = max(1, Int(clamping: left.addingReportingOverflow(999).partialValue / 1000))
        switch lack {
        case .transient: return .tokenEndpointUnreachable(retryAfterSeconds: seconds)
        case .misconfigured(let reason):
            return .credentialMisconfigured(hint: reason, retryAfterSeconds: seconds)
        case .denied: return .loginDenied(command: surroundings.loginCommand(id))
        case .unavailable(let reason): return .credentialUnavailable(hint: reason)
        case .partMissing(_, let refusal): return refusal
        case .nothingNewer:
            return .credentialUnavailable(hint: "the token has expired and cannot be renewed")
        case .loginNeeded:
            return .loginRequired(
                url: nil, command: surroundings.loginCommand(id), retryAfterSeconds: seconds)
        }
    }

    // MARK: Login

    private func askForLogin() async {
        guard let desk else {
            return refuse(refusal(.loginNeeded(code: ""), retryAt: now))
        }
        let demand = await desk.demand(id)
        let now = now
        switch demand {
        case .refused(let refusal, let login):
            refuse(refusal)
            if let login { follow(login) }
        case .pending(let login):
            let deadline = now.advanced(byMilliseconds: policy.loginWaitMilliseconds)
            for number in waiters.keys where waiters[number]?.loginDeadline == nil {
                waiters[number]?.loginDeadline = deadline
            }
            follow(login)
        }
    }

    /// Whoever it is that logs in, what could not be written is nowhere but in its outcome.
    private func follow(_ login: PendingLogin) {
        guard pendingLogin?.number != login.number else { return }
        pendingLogin = login
        Task {
            let outcome = await login.outcome()
            if case .loggedIn(let unsaved?) = outcome { await source.accept(unsaved) }
            loginEnded(login, outcome)
        }
    }

    private func loginEnded(_ login: PendingLogin, _ outcome: LoginOutcome) {
        if pendingLogin?.number == login.number { pendingLogin = nil }
        for (number, waiter) in waiters where waiter.loginDeadline != nil {
            switch outcome {
            case .loggedIn:
                // The next look finds the new login.
                waiters[number]?.loginDeadline = nil
            case .failed(let refusal):
                waiters[number] = nil
                waiter.answer.resume(returning: .failure(refusal))
            }
        }
        takeOff()
    }

    private func expireWaiters() {
        let now = now
        for (number, waiter) in waiters {
            guard let deadline = waiter.loginDeadline, deadline <= now else { continue }
            waiters[number] = nil
            let refusal = Refusal.loginRequired(
                url: pendingLogin?.url, userCode: pendingLogin?.userCode,
                command: surroundings.loginCommand(id),
                retryAfterSeconds: LoginDemand.retryAfterSeconds)
            waiter.answer.resume(returning: .failure(refusal))
        }
    }
}
