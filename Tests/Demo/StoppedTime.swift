// A clock that moves when a test says so.

import Synchronization
import Vocabulary

final class StoppedTime: TimeSource {
    private let now = Mutex<UInt64>(1_000_000)

    func advance(milliseconds: UInt64) { now.withLock { $0 += milliseconds } }

    func wallTime() -> WallTime { WallTime(seconds: Int64(bootTime().milliseconds / 1000)) }

    func bootTime() -> BootTime { BootTime(milliseconds: now.withLock { $0 }) }

    func sleep(milliseconds: UInt64) async throws(CancellationError) {
        advance(milliseconds: milliseconds)
    }
}
