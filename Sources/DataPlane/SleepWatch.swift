// Notices that the machine has slept. The loop's clock stands still meanwhile, so a connection that was idle all
// night seems to have been so for seconds; its other end has forgotten it, or is in another network now.

import Reactor
import Routing
import Vocabulary

/// How far the time since boot, which counts sleep, is from the loop's clock, which does not.
struct SleepWatch {
    private var distance: Int64?
    /// The loop's time when it was noticed last; what is older may be dead.
    private(set) var noticedAt: UInt64 = 0

    /// What is less may be a turn of the loop that took its time, in milliseconds.
    private static let sleepMin: Int64 = 5000

    /// Whether the machine has slept since the last call.
    mutating func hasSlept(boot: BootTime, now: UInt64) -> Bool {
        let newest =
            Int64(truncatingIfNeeded: boot.milliseconds) &- Int64(truncatingIfNeeded: now)
        let before = distance ?? newest
        let hasSlept = newest &- before > Self.sleepMin
        distance = hasSlept ? newest : min(before, newest)
        if hasSlept { noticedAt = now }
        return hasSlept
    }
}

extension Worker {
    /// Lets go of all connections to upstreams that are older than the machine's sleep, if it has slept.
    /// Requests that are under way on them may be lucky.
    func noteSleep() {
        guard sleep.hasSlept(boot: bootTime, now: loop.now) else { return }
        pool.reset(upstreams: installed.table.upstreams.count)
        for connection in multiplexed.connections { connection.retire() }
    }
}
