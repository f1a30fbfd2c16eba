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

    /// - Parameters:
    ///   - number: what `RouteSpec.listeners` calls it.
    ///   - identity: for TLS; nil for plain connections.
    ///   - users: whose processes a Unix socket lets in; nil where the kernel cannot tell.
    package init(
        _ socket: ListenSocket, _ access: AccessGuard, number: Int = 0,
        identity: ServerIdentity? = nil, users: Set<UInt32>? = nil
    ) {
        self.socket = socket
        self.access = access
        self.number = number
        self.identity = identity
        self.users = users
    }
}

/// The data plane.
package final class WorkerGroup: Sendable {
    /// One for each worker, by number.
    package let mailboxes: [Mailbox<ToWorker>]
    private let threads = Mutex<[LoopThread]>([])
    private let workers: Mutex<[Handover]>
    private let trust = UpstreamTrust()

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
        var perWorker = settings
        perWorker.replayTotalBytesMax = max(
            settings.replayBytesMax, settings.replayTotalBytesMax / count)
        var workers: [Handover] = []
        for number in 0..<count {
            let worker = try Worker(
                number: number, settings: perWorker, table: table,
                listeners: listeners, credentials: credentials, trust: trust, log: log,
                toControl: toControl)
            try worker.listen(on: listeners.map(\.socket))
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

    /// Uses another table from the next requests on.
    package func install(_ table: RouteTable) throws(TLSError) {
        try trust.prepare(for: table)
        for mailbox in mailboxes { mailbox.post(.install(table)) }
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
