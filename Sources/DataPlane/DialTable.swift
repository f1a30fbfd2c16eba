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
    }

    private var dials: [Dial?] = []
    private var turns: [UInt32] = []
    private var free: [Int] = []
    private(set) var count = 0

    mutating func add(
        _ client: ClientExchange, upstream: Int, installed: InstalledTable
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
        let client = Unmanaged.passUnretained(client)
        dials[slot] = Dial(client: client, upstream: upstream, installed: installed)
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
