// A worker's own table of credentials: what to copy into a head, and until when. Nothing in it is shared
// with another thread, so reading it takes no lock.

import Bytes
import Crossing
import Vocabulary

/// The newest credential of every slot.
struct CredentialView {
    private struct Entry {
        var generation = Generation.none
        var line: SecretBytes?
        var usableUntil: BootTime?
        /// Nil where it is sent without a proof.
        var maker: ProofMaker?
    }

    private var entries: [Entry] = []

    init(count: Int) {
        entries = Array(repeating: Entry(), count: count)
    }

    /// Makes room after a new configuration; slots keep what they hold.
    mutating func grow(to count: Int) {
        while entries.count < count { entries.append(Entry()) }
    }

    /// An update that is older than what is there changes nothing.
    mutating func install(_ update: CredentialUpdate) {
        guard entries.indices.contains(update.slot.index) else { return }
        guard update.generation >= entries[update.slot.index].generation else { return }
        var entry = Entry(
            generation: update.generation, line: update.line, usableUntil: update.usableUntil)
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
    }

    /// Makes the proofs that go with a credential; nil where it goes without.
    func maker(_ slot: CredentialSlot) -> ProofMaker? { entries[slot.index].maker }

    /// What a request may be sent with now.
    func offer(_ slot: CredentialSlot?, now: BootTime) -> Exchange.Offer {
        guard let slot else { return .noneNeeded }
        let entry = entries[slot.index]
        guard entry.line != nil else { return .missing(entry.generation) }
        if let usableUntil = entry.usableUntil, now >= usableUntil {
            return .missing(entry.generation)
        }
        return .usable(entry.generation)
    }

    func generation(_ slot: CredentialSlot) -> Generation { entries[slot.index].generation }

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
