// Connections to upstreams that many exchanges share, who waits for one, and what is known of which protocol an
// upstream speaks. It opens nothing by itself.

import HTTP2Wire
import Reactor
import Routing

/// The HTTP/2 connections of one worker.
struct MultiplexPool {
    /// What an exchange is to do for a way to its upstream.
    enum Answer {
        case stream(HTTP2Upstream)
        /// It was put into the queue; a connection is being made or one is full.
        case wait
        /// The same, and a connection is to be dialled for those who wait.
        case dial
        /// Too many wait already.
        case full
        /// The upstream speaks HTTP/1: as if this pool were not there.
        case none
    }

    private struct Slot {
        var connections: [HTTP2Upstream] = []
        // SAFETY: an exchange leaves the queue before it ends.
        var waiting: [Unmanaged<ClientExchange>] = []
        /// Connections that are being made for those who wait.
        var dials = 0
        var speaksHTTP1 = false
    }

    private var slots: [Slot] = []
    private let connectionsMax: Int
    private let waitingMax: Int
    var ageMax: UInt64
    private var waitingCount = 0

    init(connectionsMax: Int, waitingMax: Int, ageMax: UInt64) {
        self.connectionsMax = connectionsMax
        self.waitingMax = waitingMax
        self.ageMax = ageMax
    }

    var connections: [HTTP2Upstream] { slots.flatMap(\.connections) }

    /// Begins anew for a table of that many upstreams. Answers what was there: connections that are to go
    /// when their streams have ended, and exchanges that are to look again.
    mutating func reset(
        upstreams: Int
    ) -> (connections: [HTTP2Upstream], waiting: [Unmanaged<ClientExchange>]) {
        let old = slots
        slots = Array(repeating: Slot(), count: upstreams)
        waitingCount = 0
        return (old.flatMap(\.connections), old.flatMap(\.waiting))
    }

    /// A way for one exchange to an upstream of the current table.
    ///
    /// - Parameter mayReuse: whether a connection will do that has been idle.
    mutating func request(
        _ upstream: Int, for exchange: ClientExchange, mayReuse: Bool, isIdempotent: Bool,
        now: UInt64
    ) -> Answer {
        guard !slots[upstream].speaksHTTP1 else { return .none }
        for index in slots[upstream].connections.indices {
            let connection = slots[upstream].connections[index]
            guard connection.capacity > 0 else { continue }
            if ageMax > 0 && now &- connection.openedAt > ageMax {
                // It leaves this pool by itself.
                connection.wake()
                continue
            }
            if !mayReuse && connection.session.streamCount == 0 { continue }
            if !isIdempotent && connection.mayHaveEnded { continue }
            return .stream(connection)
        }
        guard waitingCount < waitingMax else { return .full }
        waitingCount += 1
        // SAFETY: see `Slot`.
        slots[upstream].waiting.append(Unmanaged.passUnretained(exchange))
        if slots[upstream].dials > 0 || slots[upstream].connections.count >= connectionsMax {
            return .wait
        }
        slots[upstream].dials += 1
        return .dial
    }

    /// The exchange waits no longer.
    mutating func forget(_ exchange: ClientExchange, _ upstream: Int) {
        guard slots.indices.contains(upstream) else { return }
        // SAFETY: compared, never followed.
        let identity = Unmanaged.passUnretained(exchange).toOpaque()
        let before = slots[upstream].waiting.count
        slots[upstream].waiting.removeAll { $0.toOpaque() == identity }
        waitingCount -= before - slots[upstream].waiting.count
    }

    /// A connection has come up.
    mutating func add(_ connection: HTTP2Upstream) {
        noteDialEnded(connection.upstream)
        slots[connection.upstream].connections.append(connection)
    }

    /// Whether somebody waits for whom nothing is being made and there is room; a dial is noted then.
    mutating func noteDialWanted(_ upstream: Int) -> Bool {
        guard slots.indices.contains(upstream), !slots[upstream].waiting.isEmpty,
            slots[upstream].dials == 0, slots[upstream].connections.count < connectionsMax
        else { return false }
        slots[upstream].dials += 1
        return true
    }

    mutating func noteDialEnded(_ upstream: Int) {
        slots[upstream].dials = max(0, slots[upstream].dials - 1)
    }

    /// The upstream has chosen HTTP/1.
    mutating func noteHTTP1(_ upstream: Int) { slots[upstream].speaksHTTP1 = true }

    mutating func remove(_ connection: HTTP2Upstream) {
        guard slots.indices.contains(connection.upstream) else { return }
        slots[connection.upstream].connections.removeAll { $0 === connection }
    }

    /// The one who waits longest.
    mutating func takeWaiting(_ upstream: Int) -> ClientExchange? {
        guard slots.indices.contains(upstream), !slots[upstream].waiting.isEmpty else { return nil }
        waitingCount -= 1
        return slots[upstream].waiting.removeFirst().takeUnretainedValue()
    }

    func hasWaiting(_ upstream: Int) -> Bool {
        slots.indices.contains(upstream) && !slots[upstream].waiting.isEmpty
    }
}
