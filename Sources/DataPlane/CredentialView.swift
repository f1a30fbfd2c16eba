// A worker's own table of credentials: what to copy into a head, and until when. Nothing in it is shared
// with another thread, so reading it takes no lock.

import Bytes
import Crossing
import Vocabulary

/// The newest credential of every slot. It cannot be copied, so that to ask it counts no references.
struct CredentialView: ~Copyable {
    /// What goes with a request.
    private struct Entry {
        var line: SecretBytes?
        /// Nil where it is sent without a proof.
        var maker: ProofMaker?
    }

    /// What each request asks first; apart from `Entry`, so that to copy it counts no references.
    private struct Standing {
        var generation = Generation.none
        var isThere = false
        var isProven = false
        var usableUntil: BootTime?
    }

    private var entries: [Entry] = []
    private var standings: [Standing] = []

    init(count: Int) {
        grow(to: count)
    }

    /// Makes room after a new configuration; slots keep what they hold.
    mutating func grow(to count: Int) {
        while entries.count < count {
            entries.append(Entry())
            standings.append(Standing())
        }
    }

    /// An update that is older than what is there changes nothing.
    mutating func install(_ update: CredentialUpdate) {
        guard entries.indices.contains(update.slot.index) else { return }
        guard update.generation >= standings[update.slot.index].generation else { return }
        var entry = Entry(line: update.line)
        if let binding = update.binding {
            // Nonces live as long as the key: they may be of one account.
            if let maker = entries[update.slot.index].maker, maker.renew(binding) {
                entry.maker = maker
            } else if let maker = ProofMaker(binding) {
                entry.maker = maker
            } else {
                entry.line = nil
            }
        }
        entries[update.slot.index] = entry
        standings[update.slot.index] = Standing(
            generation: update.generation, isThere: entry.line != nil,
            isProven: entry.maker != nil, usableUntil: update.usableUntil)
    }

    /// Makes the proofs that go with a credential; nil where it goes without.
    func maker(_ slot: CredentialSlot) -> ProofMaker? {
        standings[slot.index].isProven ? entries[slot.index].maker : nil
    }

    /// What a request may be sent with now.
    func offer(_ slot: CredentialSlot?, now: BootTime) -> Exchange.Offer {
        guard let slot else { return .noneNeeded }
        let standing = standings[slot.index]
        guard standing.isThere else { return .missing(standing.generation) }
        if let usableUntil = standing.usableUntil, now >= usableUntil {
            return .missing(standing.generation)
        }
        return .usable(standing.generation)
    }

    func generation(_ slot: CredentialSlot) -> Generation { standings[slot.index].generation }

    /// Lends the field line with its CR LF; empty where there is none.
    func withLine<Result>(_ slot: CredentialSlot, _ body: (UnsafeRawBufferPointer) -> Result)
        -> Result
    {
        guard let line = entries[slot.index].line else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return line.withBytes(body)
    }
}
