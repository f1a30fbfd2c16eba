// How long a token is good for. What a server says in seconds is counted from the arrival of its
// answer; another machine's clock is believed only where nothing else is there.

import Bytes
import OAuth
import TokenStore
import Vocabulary

enum TokenLifetime {
    /// Seconds from the arrival on: `expires_in`; else the `exp` of a JWT; else the configured
    /// fallback; nil means until a 401. A lifetime that is over on arrival counts as unknown.
    static func seconds(
        of response: TokenResponse, arrivedAt: WallTime, fallbackSeconds: Int64?
    ) -> Int64? {
        if let seconds = response.expiresInSeconds, seconds > 0 { return seconds }
        return response.accessToken.flatMap { secondsOfJWT($0, arrivedAt: arrivedAt) }
            ?? fallbackSeconds
    }

    /// What `exp` says, with the difference between the two clocks taken out where `iat` allows it:
    /// the lesser of what is left by our clock and the whole lifetime by theirs.
    static func secondsOfJWT(_ token: SecretBytes, arrivedAt: WallTime) -> Int64? {
        guard let claims = (try? JSONWebToken(token))?.claims,
            let expiry = claims["exp"]?.asNumber?.truncated, expiry > 0
        else { return nil }
        let left = difference(expiry, arrivedAt.seconds)
        guard let issued = claims["iat"]?.asNumber?.truncated, issued > 0 else {
            return left > 0 ? left : nil
        }
        let whole = difference(expiry, issued)
        guard whole > 0 else { return left > 0 ? left : nil }
        return left > 0 ? min(left, whole) : whole
    }

    private static func difference(_ left: Int64, _ right: Int64) -> Int64 {
        let (value, overflow) = left.subtractingReportingOverflow(right)
        return overflow ? .max : min(value, TokenResponse.lifetimeSecondsMax)
    }
}

extension Login {
    /// The token that requests carry as the keeper wants it, counted from now; nil where there is
    /// none.
    ///
    /// What is left can be no more than the whole lifetime, so a clock that was set back in the
    /// meantime does not make a token live longer. The record counts in whole seconds, cut short; with
    /// a reading in milliseconds no other process can take a token for good that has just expired.
    func token(
        _ injected: InjectedToken = .accessToken, wallMilliseconds wall: Int64, boot: BootTime
    ) -> Token? {
        guard let secret = secret(injected) else { return nil }
        // Only access tokens are bound to a key.
        let proofKey = injected == .accessToken ? dpopKey : nil
        guard let expiresAt = expiry(injected) else {
            return Token(
                secret, usableUntil: nil, lifetimeMilliseconds: nil, proofKey: proofKey)
        }
        func span(_ from: Int64) -> UInt64 {
            let (left, overflow) = expiresAt.milliseconds.subtractingReportingOverflow(from)
            return overflow ? 0 : UInt64(clamping: left)
        }
        let lifetime = span(obtainedAt.milliseconds)
        let left = min(span(wall), lifetime)
        return Token(
            secret, usableUntil: boot.advanced(byMilliseconds: left),
            lifetimeMilliseconds: lifetime, proofKey: proofKey)
    }

    func secret(_ injected: InjectedToken) -> SecretBytes? {
        switch injected {
        case .accessToken: accessToken
        case .idToken: idToken
        }
    }

    /// When that token ends. Of an ID token that nobody counted from its arrival on, as of an
    /// imported one, the provider's own `exp` tells.
    func expiry(_ injected: InjectedToken) -> WallTime? {
        switch injected {
        case .accessToken: expiresAt
        case .idToken:
            idTokenExpiresAt ?? idToken.flatMap { try? IDToken($0) }?.expiry
        }
    }

    /// Whether two records hold the same grant, whatever else differs.
    func hasSameTokens(as other: Login) -> Bool {
        accessToken == other.accessToken && refreshToken == other.refreshToken
            && idToken == other.idToken
    }
}
