// SIGHUP: from a person or a service manager it asks for the configuration to be read again; from a
// terminal that closes it is the end, as it is for every program.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Synchronization

/// The SIGHUPs of the process.
enum HangupWatch {
    enum Event: Sendable {
        case reload
        case terminalClosed
    }

    /// Starts watching; to be called once.
    static func start() -> AsyncStream<Event> {
        let (stream, continuation) = AsyncStream.makeStream(of: Event.self)
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return stream }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        // A full pipe has word enough.
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let reader = ends[0]
        writer.store(ends[1], ordering: .releasing)
        // Under nohup(1) the terminal's end is of no interest.
        let isIgnored = isHangupIgnored()
        let hadTerminal = !isIgnored && hasTerminal
        startThread {
            var byte: UInt8 = 0
            while true {
                let count = read(reader, &byte, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { break }
                continuation.yield(hadTerminal && !hasTerminal ? .terminalClosed : .reload)
            }
            continuation.finish()
        }
        signal(SIGHUP, handle)
        return stream
    }

    private static func isHangupIgnored() -> Bool {
        var action = sigaction()
        guard sigaction(SIGHUP, nil, &action) == 0 else { return false }
        #if canImport(Glibc)
            let handler = action.__sigaction_handler.sa_handler
        #else
            let handler = action.__sigaction_u.__sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Whether the process has a controlling terminal that is still there (tty(4)).
    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }
}

/// Where the handler writes; -1 until there is a watch.
private let writer = Atomic<Int32>(-1)

/// Only what signal-safety(7) allows.
private let handle: @convention(c) (Int32) -> Void = { _ in
    let saved = errno
    var byte: UInt8 = 1
    _ = write(writer.load(ordering: .acquiring), &byte, 1)
    errno = saved
}
