// The way of a signal from its handler to whoever waits for it: a handler may do next to nothing
// (signal-safety(7)), so it writes the signal's number into a pipe that a thread reads. Which signals, and what
// they mean, is for each watch.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Synchronization

/// A pipe that a handler of signals writes to. The handler is a C function, which holds nothing, so each watch
/// has its pipe in a constant of its file.
struct SignalPipe: ~Copyable, Sendable {
    /// Where the handler writes; -1 until there is a stream.
    private let writer = Atomic<Int32>(-1)

    /// What the signals mean, one after the other; nil when there can be no pipe. To be asked once, before the
    /// handler is set.
    ///
    /// - Parameter isOnce: the stream ends with its first element.
    func stream<Event: Sendable>(
        isOnce: Bool = false, _ meaning: @escaping @Sendable (Int32) -> Event
    ) -> AsyncStream<Event>? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A full pipe has word enough: whoever sends more is not waited for.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let reader = ends[0]
        writer.store(ends[1], ordering: .releasing)
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        startThread {
            var number: UInt8 = 0
            while true {
                let count = read(reader, &number, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { break }
                continuation.yield(meaning(Int32(number)))
                if isOnce { break }
            }
            continuation.finish()
        }
        return stream
    }

    /// To be called by the handler; only what signal-safety(7) allows: an atomic and write(2).
    func tell(_ number: Int32) {
        let saved = errno
        var byte = UInt8(truncatingIfNeeded: number)
        _ = write(writer.load(ordering: .acquiring), &byte, 1)
        errno = saved
    }
}
