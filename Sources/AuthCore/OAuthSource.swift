// A login as a source of tokens: looked at in the store, renewed by refresh under the store's lock,
// and saved before anybody sees the new token. Nothing but the provider's own refusal ends a login.

import Bytes
import Diagnostics
import OAuth
import TokenStore
import Vocabulary

/// The login of one credential.
actor OAuthSource: CredentialSource {
    private let id: CredentialID
    private let settings: OAuthSettings
    private let endpoint: TokenEndpoint
    private let discovery: DiscoveryDesk
    private let surroundings: Surroundings
    /// What requests for `login` are proven with (RFC 9449).
    private var proofs: ProofSession?
    private let clock: ClockWatch
    private var store: FileLoginStore { surroundings.store }

    /// What we go by: as on disk, or newer where it could not be written.
    private var login: Login?
    /// What the disk held when it was last read or written, by us.
    private var onDisk: Login?
    private var stamp: FileStamp?
    private var hasLooked = false
    /// What the disk holds in place of a login of ours.
    private var foreign: ForeignLogin?
    /// A login came to us past the store.
    private var hasNews = false
    /// When `login`'s token arrived, where it came to ourselves: an expiry counted by the boot clock
    /// does not move when the wall clock is set.
    private var arrival: (token: SecretBytes, boot: BootTime)?
    /// When `login` became what it is.
    private var knownSince = BootTime(milliseconds: 0)
    /// The lock, kept while a rotated refresh token is in memory only: whoever else refreshed now
    /// would spend the old one.
    private var unsaved: HeldLogin?
    /// What is in memory is to go to a store that took nothing, where the disk holds still what it replaces.
    private var isOwed = false {
        didSet { surroundings.tally.login(id, isUnwritten: isOwed) }
    }
    /// The lock that the renewal which runs goes by.
    private var inUse: HeldLogin?
    /// What an upstream refused, while it is being replaced.
    private var refused: SecretBytes?
    private var writer: Task<Void, Never>?
    /// Refusals that no table knows, in a row.
    private var unfamiliarCount = 0
    private var notices: LoginNotices

    private static let firstPauseMilliseconds: UInt64 = 500
    private static let lastPauseMilliseconds: UInt64 = 30_000

    init(
        _ id: CredentialID, _ settings: OAuthSettings, discovery: DiscoveryDesk,
        in surroundings: Surroundings
    ) {
        self.id = id
        self.settings = settings
        self.discovery = discovery
        clock = ClockWatch(surroundings.fetcher, surroundings.time)
        var watched = surroundings
        watched.fetcher = clock
        self.surroundings = watched
        notices = LoginNotices(id, in: watched)
        endpoint = TokenEndpoint(
            id: id, settings: settings, discovery: discovery, surroundings: watched)
    }

    nonisolated var clockDifference: ClockDifference? { clock.difference }
    nonisolated var secretStamps: [FileStamp?] { settings.secretStamps }

    // MARK: Looking

    func accept(_ login: Login) async {
        self.login = login
        knownSince = surroundings.time.bootTime()
        unfamiliarCount = 0
        hasNews = true
        owe()
    }

    func look() async -> Look {
        notices.warnOfEnd(of: login)
        if hasNews {
            hasNews = false
            return .changed(supply)
        }
        // What is on disk is older than what we have, and nobody else can write.
        guard unsaved == nil else { return .unchanged }
        // Taken before reading, so that a change in between is seen next time.
        let stamp = await store.stamp(id)
        guard !hasLooked || stamp != self.stamp else { return .unchanged }
        do throws(StoreError) {
            let found = ours(try await store.load(id))
            hasLooked = true
            self.stamp = stamp
            return adopt(found) ? .changed(supply) : .unchanged
        } catch {
            return sawError(error, stamp)
        }
    }

    private func sawError(_ error: StoreError, _ stamp: FileStamp?) -> Look {
        notices.warn(of: error)
        switch error {
        case .damaged, .refused, .newerVersion, .locked(_, .noKey), .locked(_, .otherKey):
            hasLooked = true
            self.stamp = stamp
        case .locked(_, .keyUnavailable), .readOnly, .failed, .busy, .cancelled:
            // Says nothing about the login; looked at again in a second.
            return .unchanged
        }
        // A login in memory is as good as before, whatever happened to its file.
        guard login == nil else { return .unchanged }
        return .changed(Supply(token: nil, obstacle: error.lackOfLogin))
    }

    /// A login of another server or client is not for us to use, to end or to replace.
    private func ours(_ found: Login?) -> Login? {
        foreign = found?.foreign(to: settings, id, in: surroundings)
        return foreign == nil ? found : nil
    }

    /// Takes over what the disk holds, unless it is what was seen there before.
    private func adopt(_ found: Login?) -> Bool {
        // A token that no person consented to was asked for by another configuration.
        let found = found?.purpose == nil ? found : nil
        defer { onDisk = found }
        guard let found else {
            // Only what was there can have been removed.
            let wasThere = onDisk != nil || login == nil
            if wasThere { (login, isOwed) = (nil, false) }
            return wasThere
        }
        if login != nil, let onDisk, onDisk.hasSameTokens(as: found),
            onDisk.rejection == found.rejection
        {
            return false
        }
        (login, isOwed) = (found, false)
        knownSince = surroundings.time.bootTime()
        unfamiliarCount = 0
        return true
    }

    /// What the keeper is told of `login`.
    private var supply: Supply {
        guard let login else { return Supply(token: nil, obstacle: absence) }
        return Supply(token: token(of: login), obstacle: obstacle(to: login))
    }

    /// Why there is no login.
    private var absence: Lack { foreign?.lack ?? .loginNeeded(code: "no_login") }

    private func token(of login: Login) -> Token? {
        // Without its key a bound token is worth nothing.
        guard login.bindingObstacle(settings) == nil else { return nil }
        return token(of: login, at: surroundings.time.bootTime())
    }

    /// - Parameter now: read once by whoever compares the result with it; what expires this instant
    ///   would seem usable at an earlier one.
    private func token(of login: Login, at now: BootTime) -> Token? {
        var (wall, boot) = (surroundings.time.wallMilliseconds(), now)
        if let arrival, arrival.token == login.secret(settings.injected) {
            (wall, boot) = (login.obtainedAt.milliseconds, arrival.boot)
        }
        var token = login.token(settings.injected, wallMilliseconds: wall, boot: boot)
        token?.renewBy = login.keepAliveDue(
            everySeconds: settings.keepAliveSeconds, wallMilliseconds: wall, boot: boot,
            knownSince: knownSince)
        return token
    }

    private func obstacle(to login: Login) -> Lack? {
        if let obstacle = login.bindingObstacle(settings) { return obstacle }
        if let rejection = login.rejection { return .loginNeeded(code: rejection.code) }
        return login.refreshToken == nil ? .noRefreshToken : nil
    }

    // MARK: Renewing

    func renew(
        rejected: SecretBytes?, isUrgent: Bool
    ) async throws(Lack) -> Supply {
        refused = rejected
        defer { refused = nil }
        let held = try await lock()
        inUse = held
        defer {
            inUse = nil
            if held !== unsaved { held?.release() }
        }
        if unsaved == nil, let held {
            try await lookAgain(held)
            if let login, isGood(login, rejected: rejected, isUrgent: isUrgent) { return supply }
        }
        return try await refresh(under: held, isUrgent: isUrgent, mayAdopt: true)
    }

    /// Nil where nothing can be written at all: then the login lives in memory.
    private func lock() async throws(Lack) -> HeldLogin? {
        if let unsaved { return unsaved }
        do throws(StoreError) {
            let held = try await store.lock(id)
            if let absence = held.lockAbsence { notices.warn(of: absence) }
            return held
        } catch {
            guard case .readOnly = error else { throw error.lackOfHold }
            notices.warn(of: error)
            return nil
        }
    }

    private func lookAgain(_ held: HeldLogin) async throws(Lack) {
        let stamp = await store.stamp(id)
        do throws(StoreError) {
            _ = adopt(ours(try await held.load()))
            hasLooked = true
            self.stamp = stamp
        } catch {
            notices.warn(of: error)
            if case .damaged = error, login != nil { return }
            throw error.lackOfLogin
        }
    }

    /// Whether somebody else has renewed it already, and not so long ago that it is due again.
    private func isGood(_ login: Login, rejected: SecretBytes?, isUrgent: Bool) -> Bool {
        let now = surroundings.time.bootTime()
        return token(of: login, at: now)?.sparesRenewal(
            rejected: rejected, isUrgent: isUrgent, at: now,
            leadSeconds: settings.refreshLeadSeconds) ?? false
    }

    private func refresh(
        under held: HeldLogin?, isUrgent: Bool, mayAdopt: Bool
    ) async throws(Lack) -> Supply {
        guard let login else { throw absence }
        if let obstacle = obstacle(to: login) { throw obstacle }
        guard let refreshToken = login.refreshToken else {
            throw .noRefreshToken
        }
        try await reserve(held, isUrgent: isUrgent)
        let response: TokenResponse
        do throws(ExchangeError) {
            var endpoint = try await endpoint.belonging(to: login)
            if settings.requiresProof {
                proofs = await ProofSession.continuing(login, proofs, in: surroundings)
                endpoint.proofs = proofs
            }
            response = try await endpoint.refresh(
                refreshToken, scopes: settings.refreshScope.scopes(of: login))
        } catch {
            return try await failed(
                error, spending: refreshToken, under: held, isUrgent: isUrgent, mayAdopt: mayAdopt)
        }
        return try await succeeded(response, login, under: held)
    }

    /// A refresh that can wait does, while its result could not be written.
    private func reserve(_ held: HeldLogin?, isUrgent: Bool) async throws(Lack) {
        guard let held, unsaved == nil else { return }
        do throws(StoreError) {
            try await held.reserve()
        } catch {
            notices.warn(of: error)
            if case .failed = error, !isUrgent {
                throw .transient(retryAfterSeconds: nil, reason: error.message)
            }
        }
    }

    private func succeeded(
        _ response: TokenResponse, _ login: Login, under held: HeldLogin?
    ) async throws(Lack) -> Supply {
        let (boot, now) = (surroundings.time.bootTime(), surroundings.time.wallTime())
        unfamiliarCount = 0
        notices.note(response.oddities)
        if settings.quirks.contains(.atproto) {
            await secure(response, login, at: now, under: held)
            let accounts = AccountCheck(surroundings: surroundings)
            if let fault = await accounts.fault(of: response, continuing: login) {
                surroundings.log.error(
                    "a refresh brought a token that its account does not vouch for, dropped",
                    ("credential", .text(id.name)), ("reason", .text(fault.message)))
                return try await reject(code: "account_mismatch", under: held)
            }
        }
        let check = await endpoint.identityCheck(of: login)
        var verdict = await check.judge(response, continuing: login, mayFetch: false)
        if case .undecided = verdict {
            await secure(response, login, at: now, under: held)
            verdict = await check.judge(response, continuing: login, mayFetch: true)
        }
        let judged = JudgedResponse(response, verdict)
        guard !judged.isOfAnotherPerson else {
            surroundings.log.error(
                "a refresh brought the ID token of another person or server, dropped",
                ("credential", .text(id.name)))
            return try await reject(code: "id_token_mismatch", under: held)
        }
        if let flaw = judged.flaw { notices.warn(of: flaw) }
        var fresh = await renewed(login, by: judged.response, at: now)
        fresh.subject = judged.subject ?? fresh.subject
        arrival = fresh.secret(settings.injected).map { ($0, boot) }
        knownSince = boot
        await keep(fresh, under: held, rotated: fresh.refreshToken != login.refreshToken)
        let isUsable =
            token(of: fresh).map { $0.isUsable(at: surroundings.time.bootTime()) } ?? false
        if let lack = judged.lack(of: settings.injected, hasUsableToken: isUsable) { throw lack }
        return supply
    }

    /// Puts what was rotated on disk, before anybody is asked for keys or an account's records.
    private func secure(
        _ response: TokenResponse, _ login: Login, at now: WallTime, under held: HeldLogin?
    ) async {
        let safe = await renewed(login, by: response.withoutIDToken, at: now)
        await keep(safe, under: held, rotated: safe.refreshToken != login.refreshToken)
    }

    private func renewed(
        _ login: Login, by response: TokenResponse, at now: WallTime
    ) async -> Login {
        var fresh = login.renewed(
            by: response, at: now, fallbackLifetimeSeconds: settings.fallbackLifetimeSeconds)
        await fresh.bind(by: proofs)
        // As records of earlier releases do not have it.
        fresh.tokenEndpoint = settings.tokenEndpointByHand ?? fresh.tokenEndpoint
        return fresh
    }

    // MARK: Failing

    private func failed(
        _ error: ExchangeError, spending refreshToken: SecretBytes, under held: HeldLogin?,
        isUrgent: Bool, mayAdopt: Bool
    ) async throws(Lack) -> Supply {
        switch error {
        case .endpoint(let error): throw error.lack
        case .clientSecret(let error): throw error.lack
        case .token(let failure):
            if let login, await discovery.hasForgotten(failure, settings, login) {
                return try await reject(code: failure.code, under: held)
            }
            if let login, let token = failure.refreshToken, token != login.refreshToken {
                await keep(login.rotated(to: token), under: held, rotated: true)
            }
            if failure.verdict != .unfamiliar { unfamiliarCount = 0 }
            let reason = failure.description
            switch failure.verdict {
            case .transient(let retryAfter):
                throw .transient(retryAfterSeconds: retryAfter, reason: reason)
            case .malformed: throw .transient(retryAfterSeconds: nil, reason: reason)
            case .misconfigured, .dropScope, .answerChallenge: throw .misconfigured(reason: reason)
            case .denied: throw .denied
            case .unfamiliar:
                unfamiliarCount += 1
                let isExpired = login.flatMap(token).map {
                    !$0.isUsable(at: surroundings.time.bootTime())
                }
                guard unfamiliarCount >= TokenFailure.unfamiliarMax, isExpired ?? true else {
                    throw .transient(retryAfterSeconds: nil, reason: reason)
                }
                return try await reject(code: failure.code, under: held)
            case .needsLogin:
                if mayAdopt, let held, unsaved == nil,
                    let supply = try await adoptSibling(
                        of: refreshToken, under: held, isUrgent: isUrgent)
                {
                    return supply
                }
                return try await reject(code: failure.code, under: held)
            }
        }
    }

    /// Somebody without our lock may have refreshed meanwhile: then the refusal was of the token
    /// that they spent, and theirs is the one to go on with.
    private func adoptSibling(
        of spent: SecretBytes, under held: HeldLogin, isUrgent: Bool
    ) async throws(Lack) -> Supply? {
        try await lookAgain(held)
        guard let login, login.refreshToken != spent, login.rejection == nil else { return nil }
        surroundings.log.info("took over a newer login", ("credential", .text(id.name)))
        if let token = token(of: login), token.isUsable(at: surroundings.time.bootTime()) {
            return supply
        }
        return try await refresh(under: held, isUrgent: isUrgent, mayAdopt: false)
    }

    /// Marks the grant as dead; its tokens stay until a new login works.
    private func reject(code: String, under held: HeldLogin?) async throws(Lack) -> Supply {
        if var dead = login {
            dead.rejection = Login.Rejection(
                code: code, at: surroundings.time.wallTime(),
                tokenWasRefused: refused != nil && refused == dead.accessToken)
            await keep(dead, under: held, rotated: false)
        }
        throw .loginNeeded(code: code)
    }

    // MARK: Keeping

    /// Writes a login. Where that fails it is kept in memory; with a rotated refresh token the lock is
    /// kept as well, until it has been written.
    private func keep(_ fresh: Login, under held: HeldLogin?, rotated: Bool) async {
        login = fresh
        do throws(StoreError) {
            if let held { return try await write(fresh, held) }
        } catch {
            notices.warn(of: error)
            if case .failed = error, rotated || unsaved != nil { unsaved = held }
        }
        if rotated || unsaved != nil { owe() }
    }

    private func owe() {
        isOwed = true
        if writer == nil { writer = Task.detached { await self.writeUntilDone() } }
    }

    private func write(_ fresh: Login, _ held: HeldLogin) async throws(StoreError) {
        let saved = try await held.save(fresh)
        onDisk = saved
        hasLooked = true
        stamp = await store.stamp(id)
        // A newer one may have come while this one was written; it has a write of its own.
        guard let login, login.hasSameTokens(as: saved), unsaved === held else { return }
        (unsaved, isOwed) = (nil, false)
        // A renewal that runs lets go of its own at its end.
        if inUse !== held { held.release() }
    }

    private func writeUntilDone() async {
        var pause = Self.firstPauseMilliseconds
        while isOwed {
            guard (try? await surroundings.time.sleep(milliseconds: pause)) != nil else { break }
            pause = min(pause * 2, Self.lastPauseMilliseconds)
            await writeOnce()
        }
        writer = nil
    }

    private func writeOnce() async {
        guard isOwed else { return }
        do throws(StoreError) {
            if unsaved == nil { try await holdOwed() }
            guard let hold = unsaved else { return }
            let isInPlace = await hold.isInPlace()
            guard let held = isInPlace ? hold : try await holdAnew(insteadOf: hold), let login,
                unsaved === held
            else { return }
            try await write(login, held)
            surroundings.log.info("the login is written", ("credential", .text(id.name)))
        } catch {
            notices.warn(of: error)
            guard case .readOnly = error, let hold = unsaved, inUse !== hold else { return }
            unsaved = nil
            hold.release()
        }
    }

    /// Takes the lock that was not to be had; nobody may have written in the meantime.
    private func holdOwed() async throws(StoreError) {
        guard inUse == nil else { return }
        let held = try await store.lock(id)
        let found = ours(try await held.load())
        guard isOwed, unsaved == nil, foreign == nil else { return held.release() }
        if adopt(found) { hasNews = true }
        if isOwed { unsaved = held } else { held.release() }
    }

    /// The directory was removed, or another one put in its place: its lock keeps nobody out, and
    /// nothing in it is found again. Nil where somebody has logged in at its place since.
    private func holdAnew(insteadOf lost: HeldLogin) async throws(StoreError) -> HeldLogin? {
        let held = try await store.lock(id)
        let found = try await held.load()
        guard unsaved === lost else { return nil }
        if let found, !(onDisk?.hasSameTokens(as: found) ?? false) {
            (unsaved, isOwed) = (nil, false)
            hasLooked = false
            (login, onDisk) = (nil, nil)
            return nil
        }
        unsaved = held
        return held
    }

    func finish() async {
        await writeOnce()
        if isOwed { notices.tellOfLoss() }
    }
}
