// One worker: a loop, its clients, its connections to upstreams, its table of credentials. It shares nothing
// with other workers and hears from the control plane by its mailbox alone. It waits for nobody.

import Bytes
import Crossing
import Crypto
import Diagnostics
import HTTPWire
import Reactor
import Routing
import Vocabulary

/// A table of routes and how often it was replaced; connections made for an older one are not used again.
/// Classes with constant parts can be read without touching the reference counts of what they hold.
final class InstalledTable {
    let table: RouteTable
    let epoch: Int
    /// By upstream, whether a connection to it may turn out to be one of HTTP/2.
    let maySpeakHTTP2: [Bool]

    /// By route, its place in the worker's tally.
    let rows: [Int]

    init(_ table: RouteTable, epoch: Int, rows: [Int]) {
        self.table = table
        self.rows = rows
        maySpeakHTTP2 = table.upstreams.map(\.maySpeakHTTP2)
        self.epoch = epoch
    }
}

/// Everything that one thread of the data plane owns.
final class Worker {
    let number: Int
    let loop: EventLoop
    private(set) var settings: WorkerSettings
    let mailbox: Mailbox<ToWorker>
    private let waker: Waker
    let toControl: @Sendable (ToControl) -> Void
    private let trust: UpstreamTrust
    let log: Log
    /// Where the newest configuration is.
    let board: PlanBoard
    var planNumber: Int

    private(set) var installed: InstalledTable
    /// One for each listener.
    var gates: [Gate] = []
    private(set) var credentials: CredentialView
    var pool: UpstreamPool
    var multiplexed: MultiplexPool
    private var sessions: [TLSSession?] = []
    var budget: ReplayBudget
    var blocks: BlockPool
    var tally: Tally
    var recent = RecentRing()
    var sleep = SleepWatch()
    var wallClock = WallClock()

    // Scratch of the message in hand; nothing in it outlives the call that filled it.
    var requestHead: MessageHead
    var responseHead: MessageHead
    var output = ByteBuffer(capacity: 16 * 1024)
    var tail = ByteBuffer(capacity: 1024)
    var trailers = ByteBuffer()
    /// Frames of one HTTP/2 connection on their way into its socket.
    var frames = ByteBuffer()

    // SAFETY: a client removes itself before it is released.
    private var clients: [Unmanaged<ClientConnection>] = []
    private(set) var waiting: WaitingRoom
    private var dials = DialTable()
    var reports = ReportBudget()
    var accessLines = ByteBuffer()
    var accessLineCount = 0
    private(set) var isDraining = false
    private var isStopping = false
    private var graceTimer: LoopTimer?
    private var hasNotedFixedCookie = false
    private var turnOfBootTime = UInt64.max
    private var lastBootTime = BootTime(milliseconds: 0)

    init(
        number: Int, board: PlanBoard, credentials: Int, trust: UpstreamTrust, log: Log,
        firstRequest: UInt64,
        toControl: @escaping @Sendable (ToControl) -> Void
    ) throws(ReactorError) {
        let plan = board.newest
        let (settings, table) = (plan.settings, plan.table.unshared())
        self.number = number
        self.settings = settings
        self.board = board
        planNumber = plan.number
        self.trust = trust
        self.log = log
        self.toControl = toControl
        var tally = Tally(firstID: firstRequest)
        installed = InstalledTable(table, epoch: 0, rows: tally.rows(for: table.names))
        self.tally = tally
        self.credentials = CredentialView(count: credentials)
        pool = UpstreamPool(
            perUpstreamMax: settings.idlePerUpstreamMax, ageMax: settings.upstreamAge)
        pool.reset(upstreams: table.upstreams.count)
        multiplexed = MultiplexPool(
            connectionsMax: settings.sharedPerUpstreamMax, waitingMax: settings.parkedMax,
            ageMax: settings.upstreamAge)
        _ = multiplexed.reset(upstreams: table.upstreams.count)
        sessions = Array(repeating: nil, count: table.upstreams.count)
        budget = ReplayBudget(
            perRequestMax: settings.replayBytesMax, totalMax: settings.replayTotalBytesMax)
        blocks = BlockPool(blockBytes: 4096, blocksMax: 256)
        requestHead = MessageHead(fieldsMax: settings.fieldsMax)
        responseHead = MessageHead(fieldsMax: settings.responseFieldsMax)
        waiting = WaitingRoom(slots: credentials, max: settings.parkedMax)
        let loop = try EventLoop()
        loop.setDurations(settings)
        self.loop = loop
        // The waker's closure needs the worker, which needs the waker: the box breaks the circle.
        let box = WorkerBox()
        let waker = try Waker(on: loop) { box.worker?.takeUnretainedValue().readMail() }
        self.waker = waker
        mailbox = Mailbox { waker.wake() }
        // SAFETY: the waker is closed before the worker's thread lets the worker go.
        box.worker = Unmanaged.passUnretained(self)
        loop.callAfterTurn = { [unowned self] in flushAccessLines() }
    }

    private final class WorkerBox {
        // SAFETY: see above.
        var worker: Unmanaged<Worker>?
    }

    /// A listener, and the rules of those who come through it.
    struct Gate {
        let identifier: Int
        let rules: ListenerRules
        let listener: Listener
        let socket: ListenSocket

        /// Those that wait to be accepted would be reset with the last share of the socket; where a
        /// service manager keeps it they wait for the next process.
        func close() {
            if !socket.isInherited { listener.acceptWaiting() }
            listener.close()
        }
    }

    /// Accepts from the sockets of the configuration.
    func listen() throws(ReactorError) {
        for listener in board.newest.listeners { gates.append(try open(listener)) }
    }

    func open(_ listener: DataListener) throws(ReactorError) -> Gate {
        let rules = ListenerRules(listener, installed)
        let share = try Listener(
            on: loop, listener.socket,
            makeStream: { [unowned self] in
                guard clients.count < settings.clientsMax else { return nil }
                return ClientConnection(self, rules)
            },
            onAccept: { [unowned self] stream in
                let client = unsafeDowncast(stream, to: ClientConnection.self)
                guard rules.admits(client) else { return client.close() }
                tally.clients.opened()
                client.place = clients.count
                // SAFETY: see `clients`.
                clients.append(Unmanaged.passUnretained(client))
                client.start()
            })
        return Gate(
            identifier: listener.identifier, rules: rules, listener: share,
            socket: listener.socket)
    }

    /// Runs until it is stopped or drained.
    func run() {
        loop.run()
        flushAccessLines()
        toControl(.reported(worker: number, round: .max, report()))
        toControl(.stopped(worker: number))
    }

    // MARK: Mail

    private func readMail() {
        for message in mailbox.takeAll() {
            switch message {
            case .reconfigure: reconfigure()
            case .credential(let update): install(update)
            case .refused(let slot, let generation, let refusal):
                for client in waiting.take(slot, upTo: generation) {
                    client.takeUnretainedValue().credentialRefused(refusal)
                }
            case .dialled(let ticket, let result): dialled(ticket, result)
            case .drain(let deadline): drain(until: deadline)
            case .stop: stop()
            case .report(let round):
                toControl(.reported(worker: number, round: round, report()))
            }
        }
    }

    /// Durations and what is logged change while it runs; sizes are those of the start.
    func adopt(_ settings: WorkerSettings) {
        self.settings = settings
        loop.setDurations(settings)
        pool.ageMax = settings.upstreamAge
        multiplexed.ageMax = settings.upstreamAge
    }

    func install(_ table: RouteTable) {
        let slots = table.routes.compactMap { $0.credential?.index }.max().map { $0 + 1 } ?? 0
        credentials.grow(to: slots)
        waiting.grow(to: slots)
        let isSameUpstreams = table.upstreams == installed.table.upstreams
        let table = table.unshared()
        installed = InstalledTable(
            table, epoch: installed.epoch + (isSameUpstreams ? 0 : 1),
            rows: tally.rows(for: table.names))
        guard !isSameUpstreams else { return }
        pool.reset(upstreams: table.upstreams.count)
        let shared = multiplexed.reset(upstreams: table.upstreams.count)
        sessions = Array(repeating: nil, count: table.upstreams.count)
        for connection in shared.connections { connection.retire() }
        for client in shared.waiting { client.takeUnretainedValue().connectAlone() }
    }

    private func install(_ update: CredentialUpdate) {
        credentials.grow(to: update.slot.index + 1)
        waiting.grow(to: update.slot.index + 1)
        credentials.install(update)
        guard update.line != nil, update.generation > .none else { return }
        let older = Generation(update.generation.count - 1)
        for client in waiting.take(update.slot, upTo: older) {
            client.takeUnretainedValue().credentialArrived()
        }
    }

    // MARK: Credentials

    func offer(_ slot: CredentialSlot?) -> Exchange.Offer {
        guard let slot else { return .noneNeeded }
        return credentials.offer(slot, now: bootTime)
    }

    /// The time since boot, read once in a turn of the loop: what it is compared with is in whole seconds.
    var bootTime: BootTime {
        let turn = loop.now
        if turn != turnOfBootTime {
            turnOfBootTime = turn
            lastBootTime = settings.bootTime()
        }
        return lastBootTime
    }

    /// Lets a client wait for a newer credential; false when too many wait already. The wait may be
    /// over at once, when another request has brought a newer one.
    func park(
        _ client: ClientExchange, _ slot: CredentialSlot, newerThan generation: Generation
    ) -> Bool {
        if case .usable(let newest) = offer(slot), newest > generation {
            client.credentialArrived()
            return true
        }
        guard waiting.add(client, slot) else { return false }
        ask(slot, newerThan: generation)
        return true
    }

    func unpark(_ client: ClientExchange) {
        if let slot = client.record.credential { waiting.remove(client, slot) }
    }

    /// Asks the control plane, unless it was asked for as much already.
    func ask(_ slot: CredentialSlot, newerThan generation: Generation) {
        if waiting.noteAsked(slot, newerThan: generation) {
            toControl(.need(slot, newerThan: generation, worker: number))
        }
    }

    // MARK: Connections to upstreams

    /// An idle connection; those of the pool belong to the installed table.
    func lease(
        _ upstream: Int, of table: InstalledTable, _ isIdempotent: Bool
    ) -> UpstreamConnection? {
        guard table === installed else { return nil }
        return pool.lease(upstream, isIdempotent: isIdempotent, now: loop.now)
    }

    /// Asks for a new connection; false when too many are asked for already.
    func dial(
        _ upstream: Int, of table: InstalledTable, for client: ClientExchange
    ) -> Bool {
        guard dials.count < settings.dialsMax else { return false }
        let (slot, turn) = dials.add(client, upstream: upstream, installed: table)
        client.dialSlot = slot
        toControl(
            .dial(
                table.table.upstreams[upstream].dialTarget,
                Ticket(worker: number, slot: UInt32(slot), turn: turn)))
        return true
    }

    /// Asks for a connection for all who wait for a stream to an upstream of the installed table.
    func dialShared(_ upstream: Int) -> Bool {
        guard dials.count < settings.dialsMax else { return false }
        let (slot, turn) = dials.add(nil, upstream: upstream, installed: installed)
        toControl(
            .dial(
                installed.table.upstreams[upstream].dialTarget,
                Ticket(worker: number, slot: UInt32(slot), turn: turn)))
        return true
    }

    func forgetDial(_ slot: Int) { dials.forget(slot) }

    private func dialled(_ ticket: Ticket, _ result: Result<Int32, DialFailure>) {
        guard let dial = dials.take(Int(ticket.slot), turn: ticket.turn) else { return }
        let client = dial.client?.takeUnretainedValue()
        client?.dialSlot = nil
        let descriptor: Int32
        switch result {
        case .failure(let failure):
            if dial.isShared {
                sharedDialFailed(dial.upstream, of: dial.installed.epoch, .dial(failure))
            }
            client?.connectFailed(.dial(failure))
            return
        case .success(let socket): descriptor = socket
        }
        let upstream = dial.installed.table.upstreams[dial.upstream]
        let isCurrent = dial.installed === installed
        let connection = UpstreamConnection(self, to: upstream, dial)
        do throws(ReactorError) {
            try connection.open(descriptor: descriptor)
        } catch {
            connection.close()
            connectFailed(connection, for: client, .dial(.other(error.reason)))
            return
        }
        guard upstream.origin.scheme == .https else {
            return connectionReady(connection, for: client)
        }
        do throws(TLSError) {
            let tls = try TLSConnection(
                client: try trust.context(for: upstream, for: dial),
                host: upstream.origin.host,
                session: isCurrent ? sessions[dial.upstream] : nil)
            connection.secure(with: tls, for: client)
        } catch {
            connection.close()
            connectFailed(connection, for: client, .upstreamTLS(error.reason))
        }
    }

    /// A new connection can be used; if its client has gone in the meantime it waits for the next.
    func connectionReady(_ connection: UpstreamConnection, for client: ClientExchange?) {
        if connection.epoch == installed.epoch, let session = connection.newestSession {
            sessions[connection.upstream] = session
        }
        if connection.isShared { return sharedConnectionReady(connection) }
        if connection.speaksHTTP2 { return privateConnectionReady(connection, for: client) }
        if let client {
            client.connected(.connection(connection), isReused: false)
        } else {
            giveBack(connection)
        }
    }

    /// The connection is free.
    func giveBack(_ connection: UpstreamConnection) {
        guard connection.epoch == installed.epoch, !isStopping, !connection.isBound else {
            return connection.close()
        }
        if let session = connection.newestSession { sessions[connection.upstream] = session }
        if pool.keep(connection) { connection.rest() } else { connection.close() }
    }

    /// Whether a connection is not to be used again, so that a change of the upstream's address is noticed.
    func isTooOld(_ connection: UpstreamConnection) -> Bool {
        settings.upstreamAge > 0 && loop.now &- connection.openedAt > settings.upstreamAge
    }

    // MARK: Clients

    func clientClosed(_ client: ClientConnection) {
        // SAFETY: compared, never followed.
        guard clients.indices.contains(client.place),
            clients[client.place].toOpaque() == Unmanaged.passUnretained(client).toOpaque()
        else { return }
        tally.clients.closed()
        // SAFETY: see `clients`.
        let last = clients.removeLast()
        if client.place < clients.count {
            clients[client.place] = last
            last.takeUnretainedValue().place = client.place
        }
        if isDraining && clients.isEmpty && (isStopping || !settings.acceptsWhileDraining) {
            finish()
        }
    }

    /// Said once: browsers drop what was promised to be sent over https alone.
    func noteFixedCookie() {
        guard !hasNotedFixedCookie else { return }
        hasNotedFixedCookie = true
        log.warning(
            "a cookie named __Host- or __Secure- cannot be rewritten; browsers will not keep it")
    }

    // MARK: The end

    private func drain(until deadline: BootTime) {
        guard !isDraining else { return }
        isDraining = true
        let now = SystemTime.bootTime().milliseconds
        let left = deadline.milliseconds - min(deadline.milliseconds, now)
        graceTimer = LoopTimer(on: loop, milliseconds: left) { [unowned self] in stop() }
        // Beside an application that still calls, what only this machine can reach stays open.
        closeGates { !settings.acceptsWhileDraining || !$0.socket.isLocal }
        letGo { _ in true }
        if clients.isEmpty && !settings.acceptsWhileDraining { finish() }
    }

    private func stop() {
        isDraining = true
        isStopping = true
        closeGates { _ in true }
        for client in clients { client.takeUnretainedValue().abandon() }
        if clients.isEmpty { finish() }
    }

    private func closeGates(where isLeaving: (Gate) -> Bool) {
        let leaving = gates.filter(isLeaving)
        gates.removeAll(where: isLeaving)
        for gate in leaving { gate.close() }
    }

    /// Lets the connections end with what they are at.
    func letGo(where isLeaving: (ClientConnection) -> Bool) {
        for client in clients {
            let client = client.takeUnretainedValue()
            if isLeaving(client) { client.leave() }
        }
    }

    /// Nobody is left. The loop's end closes what is still idle.
    private func finish() {
        isStopping = true
        graceTimer?.cancel()
        closeGates { _ in true }
        pool.reset(upstreams: 0)
        for connection in multiplexed.reset(upstreams: 0).connections { connection.close() }
        waker.close()
        loop.stop()
    }
}
