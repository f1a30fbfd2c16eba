// Idle connections to upstreams, newest first, so that the ones least used age and go.

import Reactor

/// The idle connections of one worker. A connection is here or leased, never both.
struct UpstreamPool {
    // SAFETY: a connection removes itself before it closes, and lives until it is closed.
    private var idle: [[Unmanaged<UpstreamConnection>]] = []
    private let perUpstreamMax: Int
    var ageMax: UInt64

    init(perUpstreamMax: Int, ageMax: UInt64) {
        self.perUpstreamMax = perUpstreamMax
        self.ageMax = ageMax
    }

    var count: Int { idle.reduce(0) { $0 + $1.count } }

    /// Begins anew for a table of that many upstreams; what was idle for the old one is closed.
    mutating func reset(upstreams: Int) {
        let old = idle
        idle = Array(repeating: [], count: upstreams)
        for list in old { for connection in list { connection.takeUnretainedValue().close() } }
    }

    /// A connection that may still be alive. One that must not fail for want of a look is looked at
    /// first: a request that is not idempotent cannot be repeated when its connection was dead. On any other the
    /// connection itself tells what came before the request from what answers it.
    mutating func lease(
        _ upstream: Int, isIdempotent: Bool, now: UInt64
    ) -> UpstreamConnection? {
        while let candidate = idle[upstream].popLast() {
            let connection = candidate.takeUnretainedValue()
            let isTooOld = ageMax > 0 && now &- connection.openedAt > ageMax
            if isTooOld || (!isIdempotent && connection.hasUnreadInput) {
                connection.close()
                continue
            }
            if isIdempotent { connection.noteLeasedUnseen() }
            return connection
        }
        return nil
    }

    /// Keeps a connection for the next request; false when there is no room for it.
    mutating func keep(_ connection: UpstreamConnection) -> Bool {
        guard idle.indices.contains(connection.upstream),
            idle[connection.upstream].count < perUpstreamMax
        else { return false }
        // SAFETY: see `idle`.
        idle[connection.upstream].append(Unmanaged.passUnretained(connection))
        return true
    }

    /// An idle connection has ended.
    mutating func remove(_ connection: UpstreamConnection) {
        idle[connection.upstream].removeAll {
            // SAFETY: compared, never followed.
            $0.toOpaque() == Unmanaged.passUnretained(connection).toOpaque()
        }
    }
}
