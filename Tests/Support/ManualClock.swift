// Time that passes only when a test says so. Both clocks move together unless one is set; who sleeps
// wakes when the boot clock has come far enough.

import Synchronization
package import Vocabulary

/// A time source that stands still.
package final class ManualClock: TimeSource {
    private struct Sleeper {
        let until: UInt64
        let waking: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var wallMilliseconds: Int64
        var boot: UInt64 = 1_000_000
        var sleepers: [UInt64: Sleeper] = [:]
        var cancelled: Set<UInt64> = []
        var sleepCount: UInt64 = 0
    }

    private let state: Mutex<State>

    package init(wallSeconds: Int64 = 1_700_000_000) {
        state = Mutex(State(wallMilliseconds: wallSeconds * 1000))
    }

    package func wallTime() -> WallTime {
        WallTime(seconds: state.withLock { $0.wallMilliseconds / 1000 })
    }

    package func wallMilliseconds() -> Int64 { state.withLock { $0.wallMilliseconds } }

    package func bootTime() -> BootTime {
        BootTime(milliseconds: state.withLock { $0.boot })
    }

    package func sleep(milliseconds: UInt64) async throws(CancellationError) {
        let number = state.withLock { state in
            state.sleepCount += 1
            return state.sleepCount
        }
        let isCancelled = await withTaskCancellationHandler {
            await withCheckedContinuation { waking in
                let isCancelled = state.withLock { state -> Bool? in
                    if state.cancelled.remove(number) != nil { return true }
                    if milliseconds == 0 { return false }
                    let until = state.boot + milliseconds
                    state.sleepers[number] = Sleeper(until: until, waking: waking)
                    return nil
                }
                if let isCancelled { waking.resume(returning: isCancelled) }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                if let sleeper = state.sleepers.removeValue(forKey: number) { return sleeper }
                state.cancelled.insert(number)
                return nil
            }
            sleeper?.waking.resume(returning: true)
        }
        if isCancelled { throw CancellationError() }
    }

    /// How many sleep now.
    package var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Both clocks go on, in one step, as after a suspend.
    package func advance(milliseconds: UInt64) {
        let woken = state.withLock { state in
            state.boot += milliseconds
            state.wallMilliseconds += Int64(milliseconds)
            let due = state.sleepers.filter { $0.value.until <= state.boot }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.until < $1.until }
        }
        for sleeper in woken { sleeper.waking.resume(returning: false) }
    }

    package func advance(seconds: UInt64) { advance(milliseconds: seconds * 1000) }

    /// Somebody sets the wall clock; the boot clock does not notice.
    package func stepWall(seconds: Int64) {
        state.withLock { $0.wallMilliseconds += seconds * 1000 }
    }
}
