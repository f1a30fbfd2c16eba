// SIGHUP: from a person or a service manager it asks for the configuration to be read again; from a
// terminal that closes, or from its shell in that moment, it is the end, as it is for every program.

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
        // Under nohup(1) the terminal's end is of no interest.
        let hadTerminal = SignalAction.isIgnored(SIGHUP) != true && hasTerminal
        leader.store(getsid(0), ordering: .releasing)
        let events = signals.stream { sender -> Event in
            switch sender {
            case Sender.kernel where hadTerminal: .terminalClosed
            case Sender.leader where hadTerminal && !hasTerminal: .terminalClosed
            default: .reload
            }
        }
        guard let events else { return AsyncStream { _ in } }
        SignalAction.set(SIGHUP, handle)
        return events
    }

    /// Whether the process has a controlling terminal that is still there (tty(4)).
    private static var hasTerminal: Bool {
        let descriptor = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard descriptor >= 0 else { return false }
        close(descriptor)
        return true
    }
}

/// Who sent one, as it goes through the pipe.
private enum Sender {
    /// For a terminal that has closed (sigaction(2), SI_KERNEL).
    static let kernel: Int32 = 1
    /// The shell of the terminal, which passes on to its jobs what the kernel told it, and from whose prompt
    /// people send signals as well.
    static let leader: Int32 = 2
    static let other: Int32 = 3
}

private let signals = SignalPipe()
/// The leader of our session.
private let leader = Atomic<Int32>(0)

/// Only what signal-safety(7) allows. Whether a terminal has gone by itself says nothing: a job in the
/// background outlives it, and whoever sends a signal then means something else.
private let handle: SignalAction.Handler = { _, facts, _ in
    guard let facts = facts?.pointee else { return signals.tell(Sender.other) }
    if facts.si_code > 0 { return signals.tell(Sender.kernel) }
    #if canImport(Glibc)
        let sender = facts._sifields._kill.si_pid
    #else
        let sender = facts.si_pid
    #endif
    // One outside of a container has the number 0 inside.
    let isLeader = sender > 0 && sender == leader.load(ordering: .acquiring)
    signals.tell(isLeader ? Sender.leader : Sender.other)
}
