// A latch between threads: scripts wait at it until the test opens it.

import Glibc
import Synchronization

/// Closed at first; once open it stays open.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var arrivals = 0
    }

    private let state = Mutex(State())

    package init() {}

    package func open() {
        state.withLock { $0.isOpen = true }
    }

    package var isOpen: Bool { state.withLock { $0.isOpen } }

    /// How many have come to wait so far.
    package var arrivals: Int { state.withLock { $0.arrivals } }

    /// Waits until the gate opens.
    package func pass(within limit: Duration = .seconds(30)) throws {
        state.withLock { $0.arrivals += 1 }
        try waited(for: "a gate to open", within: limit) { isOpen ? () : nil }
    }

    /// Waits until that many have come.
    package func waitForArrivals(_ count: Int, within limit: Duration = .seconds(20)) throws {
        try waited(for: "\(count) arrivals at a gate", within: limit) {
            arrivals >= count ? () : nil
        }
    }
}
