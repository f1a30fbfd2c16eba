// When to renew, when to try again and when to leave it: arithmetic without a clock of its own.

import Vocabulary

/// Renewal ahead of expiry.
enum RefreshAhead {
    /// How long before expiry a renewal starts at the earliest: min(60 s, 10 % of the lifetime) unless
    /// configured, and never more than half the lifetime.
    static func leadMilliseconds(lifetime: UInt64, configuredSeconds: Int64?) -> UInt64 {
        let wanted =
            configuredSeconds.map { UInt64(clamping: $0).multipliedClamping(by: 1000) }
            ?? min(60_000, lifetime / 10)
        return min(wanted, lifetime / 2)
    }

    /// When to renew; nil where the expiry is unknown. Several proxies with one login spread over a
    /// tenth of the lead.
    ///
    /// - Parameter chance: in 0..<1.
    static func due(_ token: Token, configuredSeconds: Int64?, chance: Double) -> BootTime? {
        guard let usableUntil = token.usableUntil, let lifetime = token.lifetimeMilliseconds else {
            return token.renewBy
        }
        let lead = Double(
            leadMilliseconds(lifetime: lifetime, configuredSeconds: configuredSeconds))
        let early = UInt64(lead * (1 - chance / 10))
        let due = BootTime(
            milliseconds: usableUntil.milliseconds - min(early, usableUntil.milliseconds))
        return token.renewBy.map { min($0, due) } ?? due
    }
}

/// How long to leave a failing token endpoint alone.
struct Backoff: Sendable {
    static let firstMilliseconds: UInt64 = 1000
    static let lastMilliseconds: UInt64 = 30_000
    /// After a refusal that only another configuration or another secret can cure. Not at once so
    /// long: a secret that is being rotated is wrong for a moment only.
    static let misconfiguredMilliseconds: UInt64 = 300_000
    static let firstMisconfiguredMilliseconds: UInt64 = 5000

    fileprivate(set) var failures = 0
    /// Refusals of the client in a row. Either kind of failure ends the other's row.
    private var refusals = 0

    /// The pause after one more failure: doubled each time, at least half of it by chance, and never
    /// less than the server asks for.
    mutating func next(retryAfterSeconds: Int64?, chance: Double) -> UInt64 {
        let whole = min(Self.lastMilliseconds, Self.firstMilliseconds << UInt64(min(failures, 16)))
        failures += 1
        refusals = 0
        let pause = whole / 2 + UInt64(Double(whole / 2) * chance)
        return max(pause, UInt64(clamping: retryAfterSeconds ?? 0).multipliedClamping(by: 1000))
    }

    /// The pause after one more refusal of that kind: doubled each time.
    mutating func nextOfMisconfigured() -> UInt64 {
        let pause = Self.firstMisconfiguredMilliseconds << UInt64(min(refusals, 16))
        refusals += 1
        failures = 0
        return min(Self.misconfiguredMilliseconds, pause)
    }
}

/// How often a token that is not expired may be replaced because an upstream refused it. An upstream
/// that refuses every token would otherwise cause a renewal with every request.
struct RejectionBudget: Sendable {
    static let burst = 2
    static let refillMilliseconds: UInt64 = 15_000
    /// While each new token is refused like the one before.
    static let lastRefillMilliseconds: UInt64 = 120_000

    private var spent: (since: BootTime, count: Int)?
    private var refill = refillMilliseconds
    /// What the last renewal brought was refused as well.
    private var wasUseless = false

    mutating func take(at now: BootTime) -> Bool {
        if let spent, now < spent.since.advanced(byMilliseconds: refill) {
            guard spent.count < Self.burst else { return false }
            self.spent = (spent.since, spent.count + 1)
        } else {
            refill =
                wasUseless
                ? min(refill * 2, Self.lastRefillMilliseconds) : Self.refillMilliseconds
            spent = (now, 1)
        }
        wasUseless = false
        return true
    }

    mutating func noteUselessRenewal() { wasUseless = true }
}

extension UInt64 {
    func multipliedClamping(by factor: UInt64) -> UInt64 {
        let (product, overflow) = multipliedReportingOverflow(by: factor)
        return overflow ? .max : product
    }
}
