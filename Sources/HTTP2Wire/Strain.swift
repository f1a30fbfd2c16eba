// Counts what a peer does that costs us work and gets nothing done: resetting what it asked for, pings,
// settings, empty frames, window updates by the byte. Ordinary peers do each of these at times, floods do
// little else (CVE-2019-9511 to 9518, CVE-2023-44487, CVE-2025-8671).

/// A bucket that leaks: full means that the peer is to be let go.
struct Strain {
    private let capacity: Int
    private let perSecond: Int
    private var level = 0
    private var drainedAt: UInt64?
    // What our own frames have earned the peer.
    private var earnedUpdates = 0
    private var earnedPings = 0
    private var earnedResets = 0

    /// Window updates come with data: some clients send one for each quarter of a frame, and one more
    /// for the connection.
    private static let updatesPerDataFrame = 16
    private static let earnedMax = 4096

    init(_ limits: SessionLimits) {
        capacity = limits.strainMax
        perSecond = limits.strainPerSecond
    }

    var isTooMuch: Bool { level > capacity }

    /// Beyond what odd habits explain.
    var isFarTooMuch: Bool { level > 4 * capacity }

    /// - Parameter now: milliseconds of any steady clock.
    mutating func drain(now: UInt64) {
        guard let last = drainedAt else {
            drainedAt = now
            return
        }
        let units = Int(min(now &- last, 1 << 32)) * perSecond / 1000
        guard units > 0 else { return }
        level = max(0, level - units)
        drainedAt = now
    }

    mutating func add(_ units: Int = 1) { level += units }

    mutating func noteWindowUpdate() { if !Self.spend(&earnedUpdates) { add() } }
    mutating func notePings(_ count: Int) {
        let paid = min(count, earnedPings)
        earnedPings -= paid
        add(count - paid)
    }

    mutating func noteReset() { if !Self.spend(&earnedResets) { add() } }

    mutating func noteDataSent() {
        Self.earn(Self.updatesPerDataFrame, &earnedUpdates)
        Self.earn(1, &earnedPings)
    }

    /// Some peers measure the way by a PING for each frame of a message, gRPC's among them.
    mutating func noteHeadSent() { Self.earn(1, &earnedPings) }

    /// A server may end a request that it has answered by a reset (RFC 9113 section 8.1).
    mutating func noteStreamBegun() { Self.earn(1, &earnedResets) }

    /// False where nothing is left to spend.
    private static func spend(_ earned: inout Int) -> Bool {
        if earned == 0 { return false }
        earned -= 1
        return true
    }

    private static func earn(_ count: Int, _ earned: inout Int) {
        earned = min(earnedMax, earned + count)
    }
}
