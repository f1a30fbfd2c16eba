// SIGHUP: from a person or a service manager it asks for the configuration to be read again; from a
// terminal that closes it is the end, as it is for every program.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The SIGHUPs of the process.
enum HangupWatch {
    enum Event: Sendable {
        case reload
        case terminalClosed
    }

    /// Starts watching; to be called once.
    static func start() -> AsyncStream<Event> {
        // Under nohup(1) the terminal's end is of no interest.
        let hadTerminal = !isHangupIgnored() && hasTerminal
        let events = signals.stream { _ in
            hadTerminal && !hasTerminal ? Event.terminalClosed : .reload
        }
        guard let events else { return AsyncStream { _ in } }
        signal(SIGHUP, handle)
        return events
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

private let signals = SignalPipe()
private let handle: @convention(c) (Int32) -> Void = { signals.tell($0) }
