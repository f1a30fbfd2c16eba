// The one thread that runs libcurl, for requests of our own and for dialling. It starts with the
// first transfer, or when it is told to, so that a command that needs no network pays for none.

import CCurl
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One use of libcurl. All but its making happens on the driver's thread, and nothing may block there.
protocol Transfer: AnyObject, Sendable {
    /// A handle ready to go; nil when the transfer cannot be made and has said so. Called again for
    /// each further attempt of the handle's race.
    func begin() -> EasyHandle?
    /// Reads the result while the handle is still attached; what is returned is called afterwards.
    func conclude(_ handle: EasyHandle, _ code: CURLcode) -> () -> Void
    /// The driver was stopped.
    func cancel()
}

/// Runs transfers until it is stopped or let go.
package final class CurlDriver: Sendable {
    private let loop = CurlLoop()

    package init() {}

    deinit {
        loop.stop()
    }

    /// Ends every transfer with `cancelled`, soon and on the driver's own thread. Those submitted
    /// later end so at once. Sockets that were handed over are not touched.
    package func stop() {
        loop.stop()
    }

    /// Takes the descriptors that it needs before others take them all.
    package func start() {
        loop.start()
    }

    func run(_ transfer: any Transfer) {
        if !loop.submit(transfer) { transfer.cancel() }
    }
}

/// What driver and thread share; the thread keeps it alive.
private final class CurlLoop: Sendable {
    private enum Phase {
        case idle, running, stopped
    }

    private struct State {
        var phase = Phase.idle
        var inbox: [any Transfer] = []
        /// There while the thread can be woken.
        // SAFETY: used by other threads for curl_multi_wakeup(3) alone, under the lock, and never
        // after the thread has taken it away.
        nonisolated(unsafe) var multi: UnsafeMutableRawPointer?
    }

    private let state = Mutex(State())

    func start() {
        state.withLock { state in
            guard state.phase == .idle else { return }
            state.phase = .running
            startThread()
        }
    }

    /// False when stopped.
    func submit(_ transfer: any Transfer) -> Bool {
        state.withLock { state in
            switch state.phase {
            case .stopped: return false
            case .idle:
                state.phase = .running
                startThread()
            case .running: break
            }
            state.inbox.append(transfer)
            if let multi = state.multi { curl_multi_wakeup(multi) }
            return true
        }
    }

    func stop() {
        state.withLock { state in
            state.phase = .stopped
            if let multi = state.multi { curl_multi_wakeup(multi) }
        }
    }

    private func startThread() {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        defer { pthread_attr_destroy(&attributes) }
        // SAFETY: the new thread takes the one reference given here.
        // SAFETY: the reference is taken here and given up by the new thread, exactly once.
        let context = Unmanaged.passRetained(self).toOpaque()
        #if canImport(Glibc)
            var thread = pthread_t()
        #else
            var thread: pthread_t?
        #endif
        let result = pthread_create(
            &thread, &attributes,
            { context in
                #if canImport(Glibc)
                    let context = context!
                #endif
                // SAFETY: see above.
                Unmanaged<CurlLoop>.fromOpaque(context).takeRetainedValue().run()
                return nil
            }, context)
        precondition(result == 0, "no thread can be started")
    }

    // MARK: - On the thread

    /// How long nothing is looked at while something runs.
    private static let turnMilliseconds: Int32 = 100

    /// Initialised once in a process and never undone (curl_global_init(3)).
    private static let isInitialised: Bool = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private func run() {
        // Signals are the main thread's. A blocked SIGPIPE turns into EPIPE.
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_BLOCK, &all, nil)

        precondition(CurlLoop.isInitialised, "libcurl cannot be initialised")
        var (multi, canWake) = newMulti()
        var transfers = RunningTransfers(multi)
        while let arrived = takeInbox() {
            if !canWake, transfers.isEmpty {
                curl_multi_cleanup(multi)
                (multi, canWake) = newMulti()
                transfers = RunningTransfers(multi)
            }
            for transfer in arrived { transfers.begin(transfer) }
            transfers.perform()
            // Woken by sockets, by libcurl's own deadlines and by `submit`. libcurl has none for an
            // address that answers nothing (curl/curl#11920): it sees that only when it is asked.
            let isIdle = canWake && transfers.isEmpty
            curl_multi_poll(multi, nil, 0, isIdle ? .max : Self.turnMilliseconds, nil)
        }

        let left = state.withLock { state in
            state.multi = nil
            let left = state.inbox
            state.inbox = []
            return left
        }
        let cancelled = transfers.removeAll()
        curl_multi_cleanup(multi)
        for transfer in cancelled + left { transfer.cancel() }
    }

    /// Made without free descriptors it cannot be woken, and says so only when one tries.
    private func newMulti() -> (UnsafeMutableRawPointer, canWake: Bool) {
        guard let multi = curl_multi_init() else { fatalError("out of memory") }
        // No connection is kept for reuse; the limit must only never close one that is being dialled.
        CCurl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, 1 << 20)
        let canWake = curl_multi_wakeup(multi) == CURLM_OK
        if canWake { state.withLock { $0.multi = multi } }
        return (multi, canWake)
    }

    /// Nil when stopped.
    private func takeInbox() -> [any Transfer]? {
        state.withLock { state in
            guard state.phase == .running else { return nil }
            let taken = state.inbox
            state.inbox = []
            return taken
        }
    }
}
