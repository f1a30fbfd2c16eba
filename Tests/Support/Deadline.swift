// Points in time at which waiting ends. Nothing in these tests waits without one.

import Glibc

/// A moment of the monotonic clock.
package struct Deadline: Sendable {
    private let moment: ContinuousClock.Instant

    package static func after(_ duration: Duration) -> Deadline {
        Deadline(moment: .now + duration)
    }

    package var hasPassed: Bool { moment <= .now }

    /// What is left, for poll(2): at least 0, at most an hour, rounded up.
    package var milliseconds: Int32 {
        let left = ContinuousClock.now.duration(to: moment)
        let (seconds, attoseconds) = left.components
        let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: max(0, min(3_600_000, milliseconds)))
    }
}

/// Asks again every few milliseconds until the answer is there. For facts that no descriptor
/// announces: a file of another process, a counter.
package func waited<Answer>(
    for what: String, within limit: Duration = .seconds(20),
    _ ask: () throws -> Answer?
) throws -> Answer {
    let deadline = Deadline.after(limit)
    while true {
        if let answer = try ask() { return answer }
        guard !deadline.hasPassed else { throw Failure.deadline(what) }
        usleep(3000)
    }
}

/// Stops the calling thread; for scripts that play a slow peer, never for hoping.
package func pause(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var left = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var rest = timespec()
    while nanosleep(&left, &rest) != 0 && errno == EINTR { left = rest }
}

/// Why a fake or a client could not go on.
package enum Failure: Error, Hashable {
    case deadline(String)
    /// The peer reset the connection.
    case reset
    /// The peer ended the connection in the middle of something.
    case ended(String)
    case malformed(String)
    case system(String, Int32)

    static func last(_ call: String) -> Failure { .system(call, errno) }
}
