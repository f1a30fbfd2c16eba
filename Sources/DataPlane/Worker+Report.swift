// What a worker tells of its requests: it counts each at its end, remembers the newest, writes a line for those
// that are to have one, and copies its numbers when the control plane asks. A request that succeeds costs a
// few additions and no clock: all times are those that the loop has read anyway, in milliseconds.

import Bytes
import Crossing
import Diagnostics
import Reactor
import Vocabulary

/// The wall clock without asking it for each request: its distance from the loop's clock, looked at once
/// a second at the most.
struct WallClock {
    private var distance: Int64 = 0
    private var readAt: UInt64?

    private static let ageMax: UInt64 = 1000

    /// Milliseconds since 1970-01-01 UTC at the loop's time `now`.
    mutating func time(at now: UInt64) -> Int64 {
        if readAt.map({ now &- $0 >= Self.ageMax }) ?? true {
            readAt = now
            distance = SystemTime().wallMilliseconds() &- Int64(truncatingIfNeeded: now)
        }
        return distance &+ Int64(truncatingIfNeeded: now)
    }
}

extension Worker {
    /// A request is over, whatever became of it. Called once for each that has begun.
    func requestEnded(_ record: inout RequestRecord) {
        guard record.isOpen else { return }
        record.close()
        let now = loop.now
        let wall = wallClock.time(at: now)
        tally.end(record, now: now)
        recent.add(record, endedAt: wall, milliseconds: now &- record.startedAt)
        guard record.isLogged(as: settings.loggedRequests) else { return }
        record.writeAccessLine(
            log.line, route: tally.names[record.row], now: now, wall: wall, into: &accessLines)
        accessLineCount += 1
        if accessLines.count > Self.accessBytesMax { flushAccessLines() }
        loop.requestCallAfterTurn()
    }

    private static let accessBytesMax = 32 * 1024

    /// All lines of one turn leave together.
    func flushAccessLines() {
        guard accessLineCount > 0 else { return }
        if log.isEnabled(.error) { log.writeWhole(accessLines.bytes, lines: accessLineCount) }
        accessLines.removeAll()
        accessLineCount = 0
    }

    /// All that this worker knows of its traffic.
    func report() -> TrafficReport {
        var report = tally.report()
        report.parked = UInt64(waiting.count)
        report.idleUpstreams = UInt64(pool.count)
        report.recent = recent.report(tally.names)
        return report
    }
}
