// When a login ends by itself, as its refresh token does, and when it must be refreshed so that it
// does not. A refresh token whose time is over is still tried: the provider's word is the last one.

import TokenStore
import Vocabulary

extension Login {
    /// From when on the coming end is worth a warning: its last tenth, and no more than a week.
    var endWarningAt: WallTime? {
        guard refreshToken != nil, let end = refreshExpiresAt else { return nil }
        let (lifetime, overflow) = end.seconds.subtractingReportingOverflow(
            (refreshObtainedAt ?? obtainedAt).seconds)
        guard !overflow, lifetime > 0 else { return end }
        return end.advanced(by: -min(lifetime / 10, 7 * 86_400))
    }

    /// Whether nothing but the provider's leniency can renew it.
    func hasEnded(at now: WallTime) -> Bool { refreshExpiresAt.map { $0 <= now } ?? false }

    /// When a login that lies idle is refreshed all the same.
    ///
    /// However the wall clock is set, it is no later than the whole interval since we know the login.
    ///
    /// - Parameters:
    ///   - wall: the wall clock in milliseconds, and `boot` the other clock at the same moment.
    ///   - known: since when we know of its last refresh.
    func keepAliveDue(
        everySeconds: Int64?, wallMilliseconds wall: Int64, boot: BootTime,
        knownSince known: BootTime
    ) -> BootTime? {
        guard refreshToken != nil, let everySeconds else { return nil }
        let whole = UInt64(clamping: everySeconds).multipliedClamping(by: 1000)
        let (age, overflow) = wall.subtractingReportingOverflow(obtainedAt.milliseconds)
        let due = boot.advanced(
            byMilliseconds: whole - (overflow ? 0 : min(whole, UInt64(clamping: age))))
        return min(due, known.advanced(byMilliseconds: whole))
    }
}
