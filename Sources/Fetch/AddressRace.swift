// One connection for a name of several addresses. libcurl races the two families and otherwise waits for
// half of the time that is left before it gives up an address that answers nothing; here the next address
// is tried beside it after a quarter of a second (RFC 8305 section 5), whatever its family.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What the attempts of one transfer share, each a handle of its own. Belongs to the driver's thread.
final class AddressRace {
    /// The "Connection Attempt Delay" of RFC 8305 section 8.
    private static let delay: Duration = .milliseconds(250)
    private static let attemptsMax = 8

    private let begun = ContinuousClock.now
    private var attempts = 1
    private var tried: [(address: [UInt8], descriptor: Int32)] = []
    private var triedAt: ContinuousClock.Instant?
    /// Whether an address was tried since the newest attempt began. Else there is no other one left.
    private var isOpen = false
    /// The handle that may send the request. All others come too late.
    private(set) weak var winner: EasyHandle?

    func hasTried(_ address: UnsafeRawBufferPointer) -> Bool {
        tried.contains { $0.address.elementsEqual(address) }
    }

    func trying(_ address: UnsafeRawBufferPointer, with descriptor: Int32) {
        tried.append((Array(address), descriptor))
        triedAt = .now
        isOpen = true
    }

    /// False when another attempt was first.
    func isWon(by handle: EasyHandle) -> Bool {
        if winner == nil { winner = handle }
        return winner === handle
    }

    /// Whether it is time for another attempt; the caller makes it.
    func wantsAnother() -> Bool {
        guard isOpen, winner == nil, attempts < Self.attemptsMax, let triedAt,
            triedAt.duration(to: .now) >= Self.delay, !hasAnswer
        else { return false }
        attempts += 1
        isOpen = false
        return true
    }

    /// What is left of a limit that counts from the first attempt on, at least 1.
    func left(ofMilliseconds limit: Int) -> Int {
        let passed = begun.duration(to: .now).components
        return max(
            1, limit - Int(passed.seconds * 1000 + passed.attoseconds / 1_000_000_000_000_000))
    }

    /// Whether some address has answered, and TLS, which takes its time, is under way there. libcurl
    /// does not tell. A descriptor that it has closed is nobody's, or leads somewhere else.
    private var hasAnswer: Bool {
        tried.contains { address, descriptor in
            var peer = sockaddr_storage()
            var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
            let isConnected = withUnsafeMutablePointer(to: &peer) { peer in
                peer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    getpeername(descriptor, $0, &length) == 0
                }
            }
            return isConnected
                && withUnsafeBytes(of: peer) { $0.prefix(Int(length)).elementsEqual(address) }
        }
    }
}
