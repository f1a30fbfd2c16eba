// Puts the two planes together, the only place that knows both: listeners, workers, dialler, control
// plane, and how they end. It decides nothing of its own.

import AuthCore
import Bytes
import Configuration
import Crossing
import DataPlane
import Diagnostics
import Fetch
import Reactor
import Synchronization
import Vocabulary

/// A proxy that forwards requests, from the moment it is made until it has drained.
final class RunningProxy: Sendable {
    /// Where it listens: a URL, or `unix:` and a path.
    let addresses: [String]
    /// The TCP ports among them.
    let ports: [UInt16]
    private let group: WorkerGroup
    private let listeners: BoundListeners
    private let keepsAccepting: Bool
    private let tools: CredentialTools
    private let messages: AsyncStream<ToControl>.Continuation
    private let control: Task<Void, Never>

    private init(
        group: WorkerGroup, listeners: BoundListeners, keepsAccepting: Bool, tools: CredentialTools,
        messages: AsyncStream<ToControl>.Continuation, control: Task<Void, Never>
    ) {
        self.group = group
        self.listeners = listeners
        self.keepsAccepting = keepsAccepting
        self.tools = tools
        self.messages = messages
        self.control = control
        addresses = listeners.all.map(\.url)
        ports = listeners.ports
    }

    /// Binds, then starts everything; when it throws, nothing is left behind that listens.
    static func start(
        _ settings: Settings, person: PersonPresence, log: Log,
        loginCommand: @escaping @Sendable (CredentialID) -> String, in world: World
    ) async throws(CommandFailure) -> RunningProxy {
        let listeners = try BoundListeners(settings, in: world, log: log)
        do throws(CommandFailure) {
            return try await start(settings, on: listeners, person, log, loginCommand, in: world)
        } catch {
            listeners.close()
            throw error
        }
    }

    private static func start(
        _ settings: Settings, on listeners: BoundListeners, _ person: PersonPresence, _ log: Log,
        _ loginCommand: @escaping @Sendable (CredentialID) -> String, in world: World
    ) async throws(CommandFailure) -> RunningProxy {
        let tools = try CredentialTools(
            settings, log: log, listening: listeners.ports, loginCommand: loginCommand,
            in: world)
        let secret = try await settings.access.readSecret(in: tools.surroundings)
        let dials = DialRelay(
            Dialler(driver: tools.driver, proxy: tools.forwardProxy),
            timeoutMilliseconds: settings.timeouts.connect)
        let (stream, messages) = AsyncStream.makeStream(of: ToControl.self)
        let group: WorkerGroup
        do {
            group = try WorkerGroup(
                count: settings.workers, settings: WorkerSettings(settings, person: person),
                table: settings.routes, credentials: settings.credentials.count,
                listeners: listeners.all.map { $0.dataListener(settings.access, secret: secret) },
                log: log
            ) { message in
                if case .dial(let target, let ticket) = message {
                    dials.dial(target, ticket)
                } else {
                    messages.yield(message)
                }
            }
            dials.connect(group.mailboxes)
            try group.start()
        } catch {
            tools.stop()
            throw CommandFailure(.failure, "the workers cannot be started: \(error)")
        }
        let plane = ControlPlane(settings.credentials, person: person, in: tools.surroundings)
        let mailboxes = group.mailboxes
        let control = Task {
            let certificates = Task { await listeners.watchCertificates(log) }
            await plane.run(messages: stream, workers: mailboxes)
            certificates.cancel()
        }
        return RunningProxy(
            group: group, listeners: listeners, keepsAccepting: settings.shutdown.keepsAccepting,
            tools: tools, messages: messages, control: control)
    }

    /// Finishes what runs, at most for so long; then saves what the auth core still holds.
    func drain(graceMilliseconds: UInt64) async {
        let deadline = SystemTime.bootTime().advanced(byMilliseconds: graceMilliseconds)
        group.post(.drain(until: deadline))
        // A socket that is still open here would let new clients in to wait for nobody.
        if !keepsAccepting { closeSockets() }
        let group = group
        await withCheckedContinuation { done in
            startThread {
                group.join()
                done.resume()
            }
        }
        if keepsAccepting { closeSockets() }
        messages.finish()
        await control.value
        tools.stop()
    }

    private func closeSockets() {
        listeners.close()
    }
}

// MARK: Translation

extension AccessSettings {
    /// The local secret, read once; a start without it would be a start without a lock.
    fileprivate func readSecret(
        in surroundings: AuthCore.Surroundings
    ) async throws(CommandFailure) -> SecretBytes? {
        guard let source = localSecret?.source else { return nil }
        do throws(SecretError) {
            return try await source.read(in: surroundings)
        } catch {
            throw CommandFailure(.configuration, "the local secret: \(error.message)")
        }
    }
}

extension WorkerSettings {
    fileprivate init(_ settings: Settings, person: PersonPresence) {
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
        connect = settings.timeouts.connect
        response = settings.timeouts.responseHead ?? 0
        upstreamIdle = settings.timeouts.upstreamIdle
        tunnelIdle = settings.timeouts.tunnelIdle ?? 0
        upstreamAge = settings.timeouts.upstreamAge
        // A token endpoint may be silent for longer than a client should hang: the refresh goes on, the
        // request is told to come again. Waits for a person are ended by the control plane itself.
        credentialWait = settings.longestLoginWait(person) + Self.renewalWait
        acceptsWhileDraining = settings.shutdown.keepsAccepting
        logsRequests = settings.log.access
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
private final class DialRelay: Sendable {
    private let dialler: Dialler
    private let timeoutMilliseconds: UInt64
    private let mailboxes = Mutex<[Mailbox<ToWorker>]>([])

    init(_ dialler: Dialler, timeoutMilliseconds: UInt64) {
        self.dialler = dialler
        self.timeoutMilliseconds = timeoutMilliseconds
    }

    /// Before any worker starts.
    func connect(_ mailboxes: [Mailbox<ToWorker>]) {
        self.mailboxes.withLock { $0 = mailboxes }
    }

    func dial(_ target: DialTarget, _ ticket: Ticket) {
        let mailbox = mailboxes.withLock { $0[ticket.worker] }
        dialler.dial(target, timeoutMilliseconds: timeoutMilliseconds) { result in
            mailbox.post(.dialled(ticket, result))
        }
    }
}
