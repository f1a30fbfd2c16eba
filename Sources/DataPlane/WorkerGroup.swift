// All workers, from the outside: made, started, told things, joined. The only way into this room.

package import Crossing
package import Crypto
package import Diagnostics
package import Reactor
package import Routing
import Synchronization

/// A socket that listens, and who may come through it.
package struct DataListener: Sendable {
    let socket: ListenSocket
    let access: AccessGuard
    let number: Int
    let identity: ServerIdentity?
    let users: Set<UInt32>?
    /// The same from one configuration to the next, where it is to go on with its connections.
    let identifier: Int

    /// - Parameters:
    ///   - number: what `RouteSpec.listeners` calls it.
    ///   - identity: for TLS; nil for plain connections.
    ///   - users: whose processes a Unix socket lets in; nil where the kernel cannot tell.
    package init(
        _ socket: ListenSocket, _ access: AccessGuard, number: Int = 0,
        identity: ServerIdentity? = nil, users: Set<UInt32>? = nil, identifier: Int = 0
    ) {
        self.socket = socket
        self.access = access
        self.number = number
        self.identity = identity
        self.users = users
        self.identifier = identifier
    }
}

/// The data plane.
package final class WorkerGroup: Sendable {
    /// One for each worker, by number.
    package let mailboxes: [Mailbox<ToWorker>]
    private let threads = Mutex<[LoopThread]>([])
    private let workers: Mutex<[Handover]>
    private let trust = UpstreamTrust()
    private let board: PlanBoard

    /// A worker on its way to its thread.
    private struct Handover: @unchecked Sendable {
        // SAFETY: made on one thread and from then on used by one other alone.
        let worker: Worker
    }

    /// Makes the workers; none runs yet.
    ///
    /// - Parameters:
    ///   - listeners: bound sockets with the rules of each.
    ///   - credentials: how many slots there are.
    ///   - toControl: called on workers' threads; must not block.
    package init(
        count: Int, settings: WorkerSettings, table: RouteTable, credentials: Int,
        listeners: [DataListener], log: Log,
        toControl: @escaping @Sendable (ToControl) -> Void
    ) throws {
        try trust.prepare(for: table)
        let board = PlanBoard(
            WorkerPlan(
                number: 0, table: table, settings: settings.divided(among: count),
                listeners: listeners), workers: count)
        self.board = board
        // The same request in the log of two starts has two numbers.
        let process = UInt64.random(in: 0..<(1 << 24))
        var workers: [Handover] = []
        for number in 0..<count {
            let worker = try Worker(
                number: number, board: board, credentials: credentials, trust: trust, log: log,
                firstRequest: process << 40 | UInt64(UInt8(truncatingIfNeeded: number)) << 32,
                toControl: toControl)
            try worker.listen()
            workers.append(Handover(worker: worker))
        }
        mailboxes = workers.map(\.worker.mailbox)
        self.workers = Mutex(workers)
    }

    /// Starts a thread for each worker.
    package func start() throws(ReactorError) {
        let handovers = workers.withLock { workers in
            let taken = workers
            workers = []
            return taken
        }
        for handover in handovers {
            let thread = try LoopThread { handover.worker.run() }
            threads.withLock { $0.append(thread) }
        }
    }

    /// Reads what connections to a table's upstreams are secured with, anew where it is known already.
    package func prepare(_ table: RouteTable) throws(TLSError) { try trust.renew(for: table) }

    /// Goes on with another configuration from the next requests on; its table was prepared. Listeners
    /// that it has under the same identifier go on with their connections, others are opened and closed.
    ///
    /// - Parameter adopted: called once every worker has done so. Until then no other may be given.
    package func reconfigure(
        _ table: RouteTable, _ settings: WorkerSettings, listeners: [DataListener],
        adopted: @escaping @Sendable () -> Void
    ) {
        board.replace(table, settings, listeners, adopted)
        post(.reconfigure)
    }

    package func post(_ message: ToWorker) {
        for mailbox in mailboxes { mailbox.post(message) }
    }

    /// Returns when every worker has stopped.
    package func join() {
        let running = threads.withLock { threads in
            let taken = threads
            threads = []
            return taken
        }
        for thread in running { thread.join() }
    }
}

/// Where the workers find what they are to go by; each looks when it is told to, and says when it has
/// done so.
final class PlanBoard: Sendable {
    private struct State {
        var plan: WorkerPlan
        /// Workers that have not taken it up yet, and who waits for that.
        var adopting = 0
        var adopted: @Sendable () -> Void = {}
    }

    private let state: Mutex<State>
    private let workers: Int

    init(_ plan: WorkerPlan, workers: Int) {
        state = Mutex(State(plan: plan))
        self.workers = workers
    }

    var newest: WorkerPlan { state.withLock { $0.plan } }

    func replace(
        _ table: RouteTable, _ settings: WorkerSettings, _ listeners: [DataListener],
        _ adopted: @escaping @Sendable () -> Void
    ) {
        state.withLock { state in
            state.plan = WorkerPlan(
                number: state.plan.number + 1, table: table,
                settings: settings.divided(among: workers), listeners: listeners)
            (state.adopting, state.adopted) = (workers, adopted)
        }
    }

    func noteAdopted() {
        let call = state.withLock { state in
            state.adopting -= 1
            return state.adopting == 0 ? state.adopted : {}
        }
        call()
    }
}

extension WorkerSettings {
    /// The share of one worker of what is meant for all.
    fileprivate func divided(among count: Int) -> WorkerSettings {
        var share = self
        share.replayTotalBytesMax = max(replayBytesMax, replayTotalBytesMax / count)
        return share
    }
}
