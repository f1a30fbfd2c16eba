// Asks to end by signal: the first is told to whoever watches, the second ends the process at once,
// whatever it is doing. Handlers, not a blocked mask, so that children inherit nothing.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Synchronization

/// The first SIGINT or SIGTERM of the process, as a stream of one element.
enum SignalWatch {
    /// Starts watching; to be called once, before anything long begins. The stream gives the
    /// signal's number and ends.
    @discardableResult
    static func start() -> AsyncStream<Int32> {
        guard let stream = signals.stream(isOnce: true, { $0 }) else {
            return AsyncStream { $0.finish() }
        }
        signal(SIGINT, handle)
        signal(SIGTERM, handle)
        return stream
    }

    /// Runs the body in a task that the first signal cancels.
    static func run<Success: Sendable>(
        until signals: AsyncStream<Int32>, _ body: @escaping @Sendable () async -> Success
    ) async -> Success {
        let task = Task { await body() }
        let watch = Task { for await _ in signals { task.cancel() } }
        defer { watch.cancel() }
        return await task.value
    }

    /// Whether the first signal has come.
    static var hasArrived: Bool { arrived.load(ordering: .relaxed) > 0 }
}

private let signals = SignalPipe()
private let arrived = Atomic<Int>(0)

/// Only what signal-safety(7) allows: atomics, write(2), _exit(2). The second signal must not rely
/// on the default action, which the kernel withholds from the first process of a container.
private let handle: @convention(c) (Int32) -> Void = { number in
    if arrived.add(1, ordering: .relaxed).oldValue > 0 { _exit(128 + number) }
    signals.tell(number)
}
