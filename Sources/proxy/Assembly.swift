// Puts the two planes together, the only place that knows both: listeners, workers, dialler, control
// plane, how they go from one configuration to the next, and how they end. It decides nothing of its own.

import AuthCore
import Bytes
import Configuration
import Crossing
import Crypto
import DataPlane
import Diagnostics
import Fetch
import Reactor
import Routing
import Synchronization
import Vocabulary

/// A proxy that forwards requests, from the moment it is made until it has drained.
final class RunningProxy: Sendable {
    let running: Running
    let group: WorkerGroup
    let plane: ControlPlane
    let dials: DialRelay
    let tools: CredentialTools
    let person: PersonPresence
    let log: Log
    let world: World
    private let listeners: SharedListeners
    private let messages: AsyncStream<ToControl>.Continuation
    private let control: Task<Void, Never>
    /// The status page; nil where the configuration wants none.
    let admin: AdminRun?

    private init(
        _ running: Running, group: WorkerGroup, plane: ControlPlane, dials: DialRelay,
        tools: CredentialTools, person: PersonPresence, log: Log, in world: World,
        listeners: SharedListeners, messages: AsyncStream<ToControl>.Continuation,
        control: Task<Void, Never>,
        admin: AdminRun?
    ) {
        self.running = running
        self.group = group
        self.plane = plane
        self.dials = dials
        self.tools = tools
        self.person = person
        self.log = log
        self.world = world
        self.listeners = listeners
        self.messages = messages
        self.control = control
        self.admin = admin
    }

    /// Those of the configuration in use.
    var currentListeners: BoundListeners {
        get { listeners.value }
        set { listeners.value = newValue }
    }

    /// Where it listens: a URL, or `unix:` and a path.
    var addresses: [String] { currentListeners.all.map(\.url) }
    /// Where the status page is.
    var adminAddresses: [String] { admin?.addresses ?? [] }
    /// The TCP ports among them.
    var ports: [UInt16] { currentListeners.ports }

    /// Binds, then starts everything; when it throws, nothing is left behind that listens.
    static func start(
        _ running: Running, person: PersonPresence, log: Log,
        loginCommand: @escaping @Sendable (CredentialID) -> String, in world: World
    ) async throws(CommandFailure) -> RunningProxy {
        let listeners = try BoundListeners(running.settings, in: world, log: log)
        do throws(CommandFailure) {
            return try await start(running, on: listeners, person, log, loginCommand, in: world)
        } catch {
            listeners.close()
            listeners.closeAdmin()
            throw error
        }
    }

    private static func start(
        _ running: Running, on listeners: BoundListeners, _ person: PersonPresence, _ log: Log,
        _ loginCommand: @escaping @Sendable (CredentialID) -> String, in world: World
    ) async throws(CommandFailure) -> RunningProxy {
        let settings = running.settings
        let tools = try CredentialTools(
            settings, log: log, listening: listeners.ports, loginCommand: loginCommand,
            in: world)
        let secret = try await settings.access.readSecret(in: tools.surroundings)
        // Before a client can take the last descriptor.
        tools.driver.start()
        let dials = DialRelay(
            Dialler(driver: tools.driver, proxy: tools.forwardProxy),
            timeoutMilliseconds: settings.timeouts.connect)
        let (stream, messages) = AsyncStream.makeStream(of: ToControl.self)
        let trafficDesk = TrafficDesk()
        let group: WorkerGroup
        do {
            group = try WorkerGroup(
                count: settings.workers, settings: WorkerSettings(settings, person: person),
                table: settings.routes, credentials: settings.credentials.count,
                listeners: listeners.all.map { $0.dataListener(settings.access, secret: secret) },
                log: log
            ) { message in
                switch message {
                case .dial(let target, let ticket): dials.dial(target, ticket)
                case .reported(let worker, let round, let report):
                    trafficDesk.take(report, of: worker, round: round)
                case .need, .challenged, .stopped: messages.yield(message)
                }
            }
            dials.connect(group.mailboxes)
            trafficDesk.connect(group.mailboxes)
            try group.start()
        } catch {
            tools.stop()
            throw CommandFailure(.failure, "the workers cannot be started: \(error)")
        }
        let plane = ControlPlane(settings.credentials, person: person, in: tools.surroundings)
        let shared = SharedListeners(listeners)
        let admin: AdminRun?
        do throws(CommandFailure) {
            admin = try AdminRun(
                running, listeners.admin, secret: secret, plane, tools.surroundings,
                addresses: { shared.value.all.map(\.url) },
                traffic: { await trafficDesk.report() }, log: log)
        } catch {
            for mailbox in group.mailboxes { mailbox.post(.stop) }
            tools.stop()
            throw error
        }
        let mailboxes = group.mailboxes
        let control = Task {
            let certificates = Task { await shared.watchCertificates(log) }
            await plane.run(messages: stream, workers: mailboxes)
            certificates.cancel()
        }
        return RunningProxy(
            running, group: group, plane: plane, dials: dials, tools: tools, person: person,
            log: log, in: world, listeners: shared, messages: messages, control: control,
            admin: admin)
    }

    /// Finishes what runs, at most for so long; then saves what the auth core still holds.
    func drain(graceMilliseconds: UInt64) async {
        let deadline = SystemTime.bootTime().advanced(byMilliseconds: graceMilliseconds)
        await admin?.noteEnd()
        let keepsAccepting = running.settings.shutdown.keepsAccepting
        // Ours first: the workers, who leave last, take those that are connected already. With a socket
        // that were still open here new clients would come in to wait for nobody.
        currentListeners.close { !keepsAccepting || !$0.socket.isLocal }
        group.post(.drain(until: deadline))
        let group = group
        await withCheckedContinuation { done in
            startThread {
                group.join()
                done.resume()
            }
        }
        if keepsAccepting { currentListeners.close(where: \.socket.isLocal) }
        messages.finish()
        await control.value
        admin?.stop()
        tools.stop()
    }
}

// MARK: Another configuration

extension RunningProxy {
    /// Addresses that came and went.
    struct ListenerChanges: Sendable {
        var opened: [String] = []
        var closed: [String] = []
    }

    /// Goes on with these settings; when it throws, nothing has changed. All that can fail comes first; what
    /// comes then is told to both planes, and requests under way notice nothing. One call after the other.
    func apply(_ settings: Settings) async throws(CommandFailure) -> ListenerChanges {
        let before = running.settings
        let fixed = before.fixedKeys(changedIn: settings)
        guard fixed.isEmpty else {
            throw CommandFailure(
                .configuration,
                fixed.map { key in
                    .init(
                        text: "\"\(key)\" in \(settings.file ?? "the configuration") was changed, "
                            + "which a running proxy cannot take up",
                        hint: "restart it, or change \"\(key)\" back")
                })
        }
        let secret = try await settings.access.readSecret(in: tools.surroundings)
        let next = try currentListeners.changed(to: settings, in: world, log: log)
        do throws(TLSError) {
            try group.prepare(settings.routes)
        } catch {
            next.closeOpened()
            throw CommandFailure(.configuration, "the upstreams' TLS: \(error.reason)")
        }

        tools.surroundings.hiddenVariables.hide(settings.secretVariables)
        let slots = await plane.replace(settings.credentials)
        let table: RouteTable
        do {
            table = try settings.table(slots: slots)
        } catch {
            preconditionFailure("routes that were valid stay so with other slots: \(error)")
        }
        dials.setTimeout(milliseconds: settings.timeouts.connect)
        currentListeners = next.listeners
        // The workers, who leave last, take those that are connected already.
        next.closeRemoved()
        await withCheckedContinuation { done in
            group.reconfigure(
                table, WorkerSettings(settings, person: person),
                listeners: next.listeners.all.map {
                    $0.dataListener(settings.access, secret: secret)
                }
            ) { done.resume() }
        }
        do throws(CommandFailure) {
            try admin?.apply(settings.access, secret: secret)
        } catch {
            log.warning(
                "the status page goes on with the rules of before",
                ("reason", .text(error.messages.first?.text ?? "")))
        }
        // Every worker has its share of what was opened: another configuration may close it again.
        return ListenerChanges(opened: next.opened.map(\.url), closed: next.removed.map(\.url))
    }
}

// MARK: Translation

extension AccessSettings {
    /// The local secret, read once; a start without it would be a start without a lock.
    func readSecret(
        in surroundings: AuthCore.Surroundings
    ) async throws(CommandFailure) -> SecretBytes? {
        guard let localSecret else { return nil }
        do throws(SecretError) {
            return try await localSecret.read(in: surroundings)
        } catch {
            throw CommandFailure(.configuration, "the local secret: \(error.message)")
        }
    }
}

extension WorkerSettings {
    init(_ settings: Settings, person: PersonPresence) {
        self.init()
        headBytesMax = settings.limits.headBytes
        fieldsMax = settings.limits.fields
        replayBytesMax = settings.limits.replayBytes
        replayTotalBytesMax = settings.limits.replayTotalBytes
        clientsMax = settings.limits.clients
        clientStreamsMax = settings.limits.streams
        parkedMax = settings.limits.parkedRequests
        idlePerUpstreamMax = settings.limits.idleUpstreams
        clientHead = settings.timeouts.clientHead
        clientIdle = settings.timeouts.clientIdle
        clientBody = settings.timeouts.clientBody ?? 0
        connect = settings.timeouts.connect
        response = settings.timeouts.responseHead ?? 0
        upstreamIdle = settings.timeouts.upstreamIdle
        tunnelIdle = settings.timeouts.tunnelIdle ?? 0
        upstreamAge = settings.timeouts.upstreamAge
        // A token endpoint may be silent for longer than a client should hang: the refresh goes on, the
        // request is told to come again. Waits for a person are ended by the control plane itself.
        credentialWait = settings.longestLoginWait(person) + Self.renewalWait
        acceptsWhileDraining = settings.shutdown.keepsAccepting
        loggedRequests = settings.log.loggedRequests
    }
}

extension WorkerSettings {
    /// Milliseconds.
    private static let renewalWait: UInt64 = 30_000
}

extension Settings {
    /// For how long a request may wait for a person; not at all where there is none.
    fileprivate func longestLoginWait(_ person: PersonPresence) -> UInt64 {
        guard case .present = person else { return 0 }
        return credentials.map { credential in
            guard case .oauth(let oauth) = credential.kind, oauth.login == .onDemand else {
                return 0
            }
            return oauth.loginWaitMilliseconds
        }.max() ?? 0
    }
}

/// Takes the workers' wishes for connections to the dialler and brings the sockets back.
final class DialRelay: Sendable {
    private struct State {
        var mailboxes: [Mailbox<ToWorker>] = []
        var timeoutMilliseconds: UInt64
    }

    private let dialler: Dialler
    private let state: Mutex<State>

    init(_ dialler: Dialler, timeoutMilliseconds: UInt64) {
        self.dialler = dialler
        state = Mutex(State(timeoutMilliseconds: timeoutMilliseconds))
    }

    /// Before any worker starts.
    func connect(_ mailboxes: [Mailbox<ToWorker>]) {
        state.withLock { $0.mailboxes = mailboxes }
    }

    /// For connections from now on.
    func setTimeout(milliseconds: UInt64) {
        state.withLock { $0.timeoutMilliseconds = milliseconds }
    }

    func dial(_ target: DialTarget, _ ticket: Ticket) {
        let (mailbox, timeout) = state.withLock { state in
            (state.mailboxes[ticket.worker], state.timeoutMilliseconds)
        }
        dialler.dial(target, timeoutMilliseconds: timeout) { result in
            mailbox.post(.dialled(ticket, result))
        }
    }
}
