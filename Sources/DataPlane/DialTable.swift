// Connections that were asked for. An answer finds its question by place and turn, so one that comes late
// can never be taken for another's.

import Reactor

/// The dials of one worker that are under way.
struct DialTable {
    struct Dial {
        // SAFETY: a client forgets its dial before it closes.
        var client: Unmanaged<ClientExchange>?
        var upstream: Int
        /// The table that names the upstream; another may be installed by the time of the answer.
        var installed: InstalledTable
        /// For all who wait for a stream, rather than for one client.
        var isShared: Bool
        /// The client can do nothing with a connection of HTTP/2.
        var needsHTTP1: Bool
    }

    private var dials: [Dial?] = []
    private var turns: [UInt32] = []
    private var free: [Int] = []
    private(set) var count = 0

    mutating func add(
        _ client: ClientExchange?, upstream: Int, installed: InstalledTable
    ) -> (slot: Int, turn: UInt32) {
        let slot: Int
        if let last = free.popLast() {
            slot = last
        } else {
            slot = dials.count
            dials.append(nil)
            turns.append(0)
        }
        turns[slot] &+= 1
        count += 1
        // SAFETY: see `Dial`.
        dials[slot] = Dial(
            client: client.map(Unmanaged.passUnretained), upstream: upstream,
            installed: installed, isShared: client == nil,
            needsHTTP1: client?.needsHTTP1 ?? false)
        return (slot, turns[slot])
    }

    /// The client has gone; the connection is still wanted.
    mutating func forget(_ slot: Int) { dials[slot]?.client = nil }

    /// The dial that an answer belongs to.
    mutating func take(_ slot: Int, turn: UInt32) -> Dial? {
        guard dials.indices.contains(slot), turns[slot] == turn, let dial = dials[slot] else {
            return nil
        }
        dials[slot] = nil
        free.append(slot)
        count -= 1
        return dial
    }
}
