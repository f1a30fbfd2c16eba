// Who waits for which credential, and what the control plane was asked for.

import Reactor
import Vocabulary

/// The parked clients of one worker, by credential.
struct WaitingRoom {
    private struct Slot {
        // SAFETY: a client leaves before it closes.
        var clients: [Unmanaged<ClientExchange>] = []
        /// The newest generation that an unanswered question named.
        var asked: Generation?
    }

    private var slots: [Slot]
    private let max: Int
    private(set) var count = 0

    init(slots: Int, max: Int) {
        self.slots = Array(repeating: Slot(), count: slots)
        self.max = max
    }

    mutating func grow(to count: Int) {
        while slots.count < count { slots.append(Slot()) }
    }

    /// False when the room is full.
    mutating func add(_ client: ClientExchange, _ slot: CredentialSlot) -> Bool {
        guard count < max else { return false }
        // SAFETY: see `Slot`.
        slots[slot.index].clients.append(Unmanaged.passUnretained(client))
        count += 1
        return true
    }

    mutating func remove(_ client: ClientExchange, _ slot: CredentialSlot) {
        // SAFETY: compared, never followed.
        let identity = Unmanaged.passUnretained(client).toOpaque()
        guard let place = slots[slot.index].clients.firstIndex(where: { $0.toOpaque() == identity })
        else { return }
        slots[slot.index].clients.remove(at: place)
        count -= 1
    }

    /// Whether the question is new.
    mutating func noteAsked(_ slot: CredentialSlot, newerThan generation: Generation) -> Bool {
        if let asked = slots[slot.index].asked, asked >= generation { return false }
        slots[slot.index].asked = generation
        return true
    }

    /// Those who wait for more than a generation up to this one; the question about it is answered.
    mutating func take(
        _ slot: CredentialSlot, upTo generation: Generation
    ) -> [Unmanaged<ClientExchange>] {
        guard slots.indices.contains(slot.index) else { return [] }
        if let asked = slots[slot.index].asked, asked <= generation {
            slots[slot.index].asked = nil
        }
        var answered: [Unmanaged<ClientExchange>] = []
        slots[slot.index].clients.removeAll { client in
            guard let rejected = client.takeUnretainedValue().exchange.awaitedGeneration,
                rejected > generation
            else {
                answered.append(client)
                return true
            }
            return false
        }
        count -= answered.count
        return answered
    }
}
