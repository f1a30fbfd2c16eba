// Who logs in, when, and how often: one pending login per credential for any number of requests, a
// browser only where somebody sits, and no flood of either. `proxy login` uses the same desk.

import Bytes
import Crossing
import Diagnostics
import OAuth
import TokenStore
package import Vocabulary

/// How `proxy login` differs from traffic's need.
package struct LoginOptions: Sendable {
    package enum Channel: Sendable {
        /// The URL is appended to these words.
        case browser([String])
        /// The caller shows the URL; the callback is listened for.
        case printURL
        /// The caller hands in the URL that the browser ended at; the callback is listened for where
        /// that is possible.
        case paste
    }

    package var channel: Channel
    package var timeoutMilliseconds: UInt64 = 300_000
    /// In place of the configured ones.
    package var scopes: [String]?
    /// Besides those.
    package var additionalScopes: [String] = []
    package var loginHint: String?
    /// In place of the configured ones.
    package var locales: [String] = []
    package var prompts: [String] = []
    package var contextClasses: [String] = []
    package var maxAgeSeconds: Int64?
    /// Whether it fails where less is granted than was asked for.
    package var isScopeStrict = false
    /// Whether another person than before may log in.
    package var switchesUser = false
    /// Whether the person is at another device, whatever the configuration says.
    package var usesDevice = false
    /// In place of the time for which a device's code is good.
    package var deviceTimeoutMilliseconds: UInt64?
    /// A page of ours that the browser goes back to after a login.
    package var returnURL: String?

    package init(_ channel: Channel) {
        self.channel = channel
    }
}

extension LoginOptions {
    /// Whether it asks for something that a login of a running proxy does not.
    fileprivate var isParticular: Bool {
        scopes != nil || !additionalScopes.isEmpty || loginHint != nil || !locales.isEmpty
            || !prompts.isEmpty || !contextClasses.isEmpty || maxAgeSeconds != nil || isScopeStrict
            || switchesUser || usesDevice
    }
}

/// The desk of one process.
package actor LoginDesk: LoginDemanding {
    private struct Counter {
        var pending: PendingLogin?
        var attempt: (any LoginUnderWay)?
        /// Until when a pending one waits.
        var endsAt: WallTime?
        var isAttended = false
        var starting: Task<LoginDemand, Never>?
        /// Until then nothing is started, and this is the answer.
        var closed: (until: BootTime, answer: Refusal)?
        var launches: [BootTime] = []
    }

    private var settings: [CredentialID: OAuthSettings]
    private let person: PersonPresence
    private let discovery: DiscoveryDesk
    private let surroundings: Surroundings
    private var counters: [CredentialID: Counter] = [:]
    private var loginCount: UInt64 = 0
    private var isClosing = false

    /// Windows that open by themselves: so many within so long, for one credential.
    private static let launchesMax = 3
    private static let launchWindowMilliseconds: UInt64 = 600_000
    private static let coolDownMilliseconds: UInt64 = 30_000
    /// Requests stop waiting earlier; who took longer with a second factor is logged in all the same.
    private static let attendedMilliseconds: UInt64 = 300_000
    /// A URL in a log or an answer is good for that long.
    private static let unattendedMilliseconds: UInt64 = 900_000

    package init(
        _ credentials: [CredentialSettings], person: PersonPresence, discovery: DiscoveryDesk,
        in surroundings: Surroundings
    ) {
        settings = Self.settings(of: credentials)
        self.person = person
        self.discovery = discovery
        self.surroundings = surroundings
    }

    private static func settings(
        of credentials: [CredentialSettings]
    ) -> [CredentialID: OAuthSettings] {
        var settings: [CredentialID: OAuthSettings] = [:]
        for credential in credentials {
            guard case .oauth(let oauth) = credential.kind, oauth.grant.needsPerson else {
                continue
            }
            settings[credential.id] = oauth
        }
        return settings
    }

    /// Goes on with these credentials: a login that is pending under terms that no longer hold ends.
    func replace(_ credentials: [CredentialSettings]) async {
        let before = settings
        settings = Self.settings(of: credentials)
        for (id, old) in before where settings[id] != old {
            counters[id]?.closed = nil
            await counters[id]?.attempt?.cancel()
        }
    }

    // MARK: For traffic

    func demand(_ id: CredentialID) async -> LoginDemand {
        let counter = counters[id] ?? Counter()
        guard let settings = settings[id], settings.login == .onDemand, !isClosing else {
            return .refused(required(id, url: nil))
        }
        if let pending = counter.pending {
            guard !counter.isAttended, let attempt = counter.attempt else {
                return .pending(pending)
            }
            let url = await renewed(id, attempt, pending)
            return .refused(required(id, url: url, pending.userCode), pending: pending)
        }
        let now = surroundings.time.bootTime()
        if let closed = counter.closed, now < closed.until { return .refused(closed.answer) }
        if let starting = counter.starting { return await starting.value }
        let starting = Task { await self.start(id, settings) }
        counters[id, default: Counter()].starting = starting
        let demand = await starting.value
        counters[id]?.starting = nil
        return demand
    }

    func dismiss(_ id: CredentialID) async {
        await counters[id]?.attempt?.cancel()
    }

    /// The login that traffic has asked for and that waits for somebody: the address to open, and the code
    /// to type there, if any.
    package func pending(_ id: CredentialID) -> (url: String, userCode: String?)? {
        guard let pending = counters[id]?.pending else { return nil }
        return (pending.url, pending.userCode)
    }

    /// Ends every login that is pending for traffic.
    package func close() async {
        isClosing = true
        for id in counters.keys { await counters[id]?.attempt?.close() }
    }

    private func start(_ id: CredentialID, _ configured: OAuthSettings) async -> LoginDemand {
        var browser: [String]?
        if case .present(let words) = person, mayLaunch(id) { browser = words }
        let timeout =
            browser == nil
            ? Self.unattendedMilliseconds
            : max(Self.attendedMilliseconds, configured.loginWaitMilliseconds)
        let attempt: any LoginUnderWay
        do throws(LoginFailure) {
            let settings = try await discovery.clientForLogin(configured, of: id)
            var terms = LoginAttempt.Terms(
                settings, of: configured, after: await known(id, configured),
                timeoutMilliseconds: timeout)
            // The code itself says how long it is good for.
            if terms.usesDevice { terms.timeoutMilliseconds = .max }
            attempt = try await attemptLogin(id, settings, terms, onEvent: logEvents(of: id))
        } catch {
            return cannotStart(id, error)
        }
        if let words = browser, !launch(words, attempt.url, id) { browser = nil }
        loginCount += 1
        let pending = PendingLogin(
            number: loginCount, url: attempt.url, userCode: attempt.device?.userCode)
        counters[id, default: Counter()].pending = pending
        counters[id]?.attempt = attempt
        counters[id]?.isAttended = browser != nil
        sayRequired(id, attempt)
        let seconds = attempt.device.map { Int64($0.expiresInSeconds) } ?? Int64(timeout / 1000)
        let endsAt = surroundings.time.wallTime().advanced(by: seconds)
        counters[id]?.endsAt = endsAt
        await announce(id, attempt.url, until: endsAt)
        Task { await self.follow(id, attempt, pending) }
        return browser == nil
            ? .refused(required(id, url: attempt.url, pending.userCode), pending: pending)
            : .pending(pending)
    }

    /// By the flow that the settings or whoever started it want.
    private func attemptLogin(
        _ id: CredentialID, _ settings: OAuthSettings, _ terms: LoginAttempt.Terms,
        onEvent: @escaping @Sendable (LoginEvent) -> Void
    ) async throws(LoginFailure) -> any LoginUnderWay {
        terms.usesDevice
            ? try await DeviceAttempt.start(
                id, settings, terms, discovery: discovery, in: surroundings, onEvent: onEvent)
            : try await LoginAttempt.start(
                id, settings, terms, discovery: discovery, in: surroundings, onEvent: onEvent)
    }

    private func sayRequired(_ id: CredentialID, _ attempt: any LoginUnderWay) {
        let command = surroundings.loginCommand(id)
        if let device = attempt.device {
            surroundings.log.warning(
                "login required: open the address on any device and enter the code",
                ("credential", .text(id.name)), ("url", .text(device.verificationURI)),
                ("code", .text(device.userCode)), ("complete_url", .text(attempt.url)),
                ("command", .text(command)))
        } else {
            surroundings.log.warning(
                "login required", ("credential", .text(id.name)), ("url", .text(attempt.url)),
                ("command", .text(command)))
        }
    }

    /// The address of a login that nobody has been shown, good for opening now.
    private func renewed(
        _ id: CredentialID, _ attempt: any LoginUnderWay, _ pending: PendingLogin
    ) async -> String {
        let url = await attempt.freshURL()
        if url != pending.url, counters[id]?.pending === pending, let end = counters[id]?.endsAt {
            pending.url = url
            await announce(id, url, until: end)
        }
        return url
    }

    /// The login before; what cannot be read is none, nor is another configuration's.
    private func known(_ id: CredentialID, _ settings: OAuthSettings) async -> Login? {
        let login = (try? await surroundings.store.load(id)) ?? nil
        return login.flatMap { $0.belongs(to: settings) ? $0 : nil }
    }

    private func mayLaunch(_ id: CredentialID) -> Bool {
        let now = surroundings.time.bootTime()
        let recent = (counters[id]?.launches ?? []).filter {
            now < $0.advanced(byMilliseconds: Self.launchWindowMilliseconds)
        }
        counters[id, default: Counter()].launches = recent
        return recent.count < Self.launchesMax
    }

    private func launch(_ words: [String], _ url: String, _ id: CredentialID) -> Bool {
        counters[id, default: Counter()].launches.append(surroundings.time.bootTime())
        do throws(ProgramError) {
            try Browser.open(url, with: words, in: surroundings)
            return true
        } catch {
            surroundings.log.warning("no browser was opened", ("reason", .text(error.message)))
            return false
        }
    }

    private func cannotStart(_ id: CredentialID, _ failure: LoginFailure) -> LoginDemand {
        surroundings.log.warning(
            "no login can be started", ("credential", .text(id.name)),
            ("reason", .text(failure.message)))
        let answer: Refusal =
            switch failure.kind {
            case .configuration where !failure.isProvidersTrouble:
                .credentialMisconfigured(
                    hint: failure.message, retryAfterSeconds: LoginDemand.retryAfterSeconds)
            case .configuration, .failed, .denied, .timedOut:
                if failure.isProvidersTrouble {
                    .tokenEndpointUnreachable(retryAfterSeconds: LoginDemand.retryAfterSeconds)
                } else {
                    required(id, url: nil)
                }
            }
        coolDown(id, answer, LoginDemand.retryAfterSeconds)
        return .refused(answer)
    }

    private func follow(
        _ id: CredentialID, _ attempt: any LoginUnderWay, _ pending: PendingLogin
    ) async {
        let outcome: LoginOutcome
        do throws(LoginFailure) {
            _ = try await attempt.result()
            surroundings.log.info("logged in", ("credential", .text(id.name)))
            surroundings.tally.loggedIn(id)
            outcome = .loggedIn(unsaved: nil)
        } catch {
            outcome = await failed(id, attempt, error)
        }
        if counters[id]?.pending === pending {
            counters[id]?.pending = nil
            counters[id]?.attempt = nil
        }
        pending.end(outcome)
        await withdraw(id)
    }

    private func failed(
        _ id: CredentialID, _ attempt: any LoginUnderWay, _ failure: LoginFailure
    ) async -> LoginOutcome {
        if case .store(let error) = failure, let login = await attempt.obtained {
            surroundings.tally.loggedIn(id)
            surroundings.log.error(
                "the login could not be written and is kept in memory",
                ("credential", .text(id.name)), ("reason", .text(error.message)))
            return .loggedIn(unsaved: login)
        }
        surroundings.tally.notLoggedIn(id, failure)
        let answer: Refusal =
            failure.kind == .denied
            ? .loginDenied(command: surroundings.loginCommand(id)) : required(id, url: nil)
        if case .cancelled = failure { return .failed(answer) }
        surroundings.log.warning(
            "login failed", ("credential", .text(id.name)), ("reason", .text(failure.message)))
        // Nobody took part in one that ran out unattended: the next may begin at once.
        let wasAttended = counters[id]?.isAttended ?? false
        if failure.kind == .timedOut, !wasAttended { return .failed(answer) }
        coolDown(id, answer, Int(Self.coolDownMilliseconds / 1000))
        return .failed(answer)
    }

    private func coolDown(_ id: CredentialID, _ answer: Refusal, _ seconds: Int) {
        let until = surroundings.time.bootTime().advanced(
            byMilliseconds: UInt64(seconds) * 1000)
        counters[id, default: Counter()].closed = (until, answer)
    }

    private func required(
        _ id: CredentialID, url: String?, _ userCode: String? = nil
    ) -> Refusal {
        .loginRequired(
            url: url, userCode: userCode, command: surroundings.loginCommand(id),
            retryAfterSeconds: LoginDemand.retryAfterSeconds)
    }

    // MARK: For a command

    /// Starts a login for somebody at a terminal. A pinned port that a running proxy holds for the
    /// same login leads to that login.
    package func begin(
        _ id: CredentialID, _ options: LoginOptions,
        onEvent: @escaping @Sendable (LoginEvent) -> Void = { _ in }
    ) async throws(LoginFailure) -> LoginSession {
        guard let configured = settings[id] else { throw .notInteractive }
        let lock = try await lockOut(id, configured, options)
        let settings = try await discovery.clientForLogin(configured, of: id)
        let terms = LoginAttempt.Terms(
            settings, of: configured, options, after: await known(id, configured))
        let session: LoginSession
        do throws(LoginFailure) {
            session = LoginSession(
                own: try await attemptLogin(id, settings, terms, onEvent: onEvent), lock: lock)
        } catch {
            guard case .portInUse = error, !options.isParticular, let url = await announced(id)
            else { throw error }
            session = LoginSession(
                shared: url, id, since: await surroundings.store.stamp(id),
                timeoutMilliseconds: options.timeoutMilliseconds, lock: lock, in: surroundings)
        }
        if let seconds = session.secondsLeft(surroundings.time.bootTime()) {
            onEvent(.addressExpires(seconds: seconds))
        }
        if case .browser(let words) = options.channel {
            do throws(ProgramError) {
                try Browser.open(session.url, with: words, in: surroundings)
            } catch {
                await session.close()
                throw .browser(error)
            }
        }
        return session
    }

    private func lockOut(
        _ id: CredentialID, _ settings: OAuthSettings, _ options: LoginOptions
    ) async throws(LoginFailure) -> LoginLock {
        let lock: LoginLock?
        do throws(StoreError) {
            lock = try await surroundings.store.lockLogin(id)
            // Nobody should log in for nothing.
            try await surroundings.store.checkReplaceable(id)
        } catch {
            throw .store(error)
        }
        guard let lock else { throw .alreadyInProgress }
        if !options.switchesUser, let login = (try? await surroundings.store.load(id)) ?? nil,
            let foreign = login.foreign(to: settings, id, in: surroundings)
        {
            throw .foreignLogin(foreign)
        }
        return lock
    }

    // MARK: One login, several processes

    private static func noteName(_ id: CredentialID) -> String { "login-\(id.name)" }

    /// Lets `proxy login` find the pending login of a running proxy.
    private func announce(_ id: CredentialID, _ url: String, until: WallTime) async {
        try? await surroundings.store.saveNote(
            Self.noteName(id),
            ["url": .string(url), "until": .number(JSONNumber(until.seconds))])
    }

    private func withdraw(_ id: CredentialID) async {
        guard counters[id]?.pending == nil else { return }
        try? await surroundings.store.saveNote(Self.noteName(id), [:])
    }

    private func announced(_ id: CredentialID) async -> String? {
        guard let note = await surroundings.store.note(Self.noteName(id))?.asObject,
            let url = note["url"]?.asString, (try? WebURL(url)) != nil,
            let until = note["until"]?.asNumber?.asInteger,
            surroundings.time.wallTime().seconds < until
        else { return nil }
        return url
    }

    private func logEvents(of id: CredentialID) -> @Sendable (LoginEvent) -> Void {
        let log = surroundings.log
        return { event in
            switch event {
            case .ignoredCallback(let error):
                log.info(
                    "ignored a callback", ("credential", .text(id.name)),
                    ("reason", .text(error.text)))
            case .callbackSpokeTLS:
                log.warning(
                    "the browser insists on https at the login's callback; try: proxy login --paste",
                    ("credential", .text(id.name)))
            case .scopesMissing(let scopes):
                log.warning(
                    "the provider granted fewer scopes", ("credential", .text(id.name)),
                    ("missing", .text(scopes.joined(separator: " "))))
            case .addressExpires: break
            }
        }
    }
}

/// Opens pages. A URL comes from a provider's metadata in part, so it is never more than an argument.
enum Browser {
    static func open(
        _ url: String, with words: [String], in surroundings: Surroundings
    ) throws(ProgramError) {
        guard (try? WebURL(url)) != nil else {
            preconditionFailure("an authorization request has an http or https URL")
        }
        try Program(words + [url], environment: surroundings.cleanEnvironment).detach()
    }
}
