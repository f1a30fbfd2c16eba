// SIGUSR1 and SIGUSR2: how much a running proxy says. The first has everything said, the second goes back to
// what is configured; for a look at a fault without a restart.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Synchronization

/// The wishes for more or less, as they come.
enum LevelSignals {
    enum Wish: Sendable {
        case everything
        case asConfigured
    }

    /// Starts watching; to be called once. The default action of both signals would end the process.
    static func start() -> AsyncStream<Wish> {
        let (stream, continuation) = AsyncStream.makeStream(of: Wish.self)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else {
            signal(SIGUSR1, SIG_IGN)
            signal(SIGUSR2, SIG_IGN)
            return stream
        }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // Whoever sends more than a pipe holds is not waited for.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let reader = ends[0]
        writer.store(ends[1], ordering: .releasing)
        startThread {
            var number: UInt8 = 0
            while true {
                let count = read(reader, &number, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { break }
                continuation.yield(Int32(number) == SIGUSR1 ? .everything : .asConfigured)
            }
            continuation.finish()
        }
        signal(SIGUSR1, handle)
        signal(SIGUSR2, handle)
        return stream
    }
}

/// Where the handler writes the number; -1 until there is a watch.
private let writer = Atomic<Int32>(-1)

/// Only what signal-safety(7) allows.
private let handle: @convention(c) (Int32) -> Void = { number in
    let saved = errno
    var byte = UInt8(truncatingIfNeeded: number)
    _ = write(writer.load(ordering: .acquiring), &byte, 1)
    errno = saved
}
