// A client that only wants to do harm: it sends rounds of bytes at a pace, reads nothing, and comes back
// whenever it is thrown out.

import Glibc
import Support
import Synchronization

/// Runs until `stop`.
final class Attack: Sendable {
    struct Tally {
        var rounds = 0
        var connections = 0
    }

    private struct State {
        var tally = Tally()
        var isStopped = false
        var hasEnded = false
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - opening: what each connection begins with.
    ///   - perSecond: how many rounds are sent.
    ///   - round: bytes of a round; they get a number that grows with each on a connection.
    init(
        on port: UInt16, opening: Octets = HTTP2Frame.preface + HTTP2Frame.settings(),
        perSecond: Int, round: @escaping @Sendable (UInt32) -> Octets
    ) {
        OwnThread.start { [self] in
            let start = ContinuousClock.now
            while !isStopped { attack(port, opening, perSecond, since: start, round) }
            state.withLock { $0.hasEnded = true }
        }
    }

    private var isStopped: Bool { state.withLock { $0.isStopped } }

    private func attack(
        _ port: UInt16, _ opening: Octets, _ perSecond: Int, since start: ContinuousClock.Instant,
        _ round: (UInt32) -> Octets
    ) {
        do {
            let stream = try SocketStream.connect(to: port)
            state.withLock { $0.tally.connections += 1 }
            try stream.write(opening)
            var number: UInt32 = 0
            while !isStopped {
                let elapsed = (ContinuousClock.now - start) / .milliseconds(1)
                let due = Int(elapsed * Double(perSecond) / 1000) - tally.rounds
                guard due > 0 else {
                    usleep(2000)
                    continue
                }
                var bytes = Octets("")
                let count = min(due, 100)
                for _ in 0..<count {
                    bytes += round(number)
                    number += 1
                }
                state.withLock { $0.tally.rounds += count }
                try stream.write(bytes, within: .milliseconds(300))
            }
        } catch {
            // Thrown out, or not read any longer: it begins anew.
        }
    }

    var tally: Tally { state.withLock { $0.tally } }

    func stop() throws {
        state.withLock { $0.isStopped = true }
        try waited(for: "the attacker to end") { state.withLock { $0.hasEnded } ? () : nil }
    }
}
