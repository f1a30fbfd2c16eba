// From a token response to a record: member by member, so that what an answer leaves out is kept
// (RFC 6749 sections 5.1 and 6).

import Bytes
import OAuth
import TokenStore
import Vocabulary

extension Login {
    /// A new grant.
    init(
        _ response: TokenResponse, clientID: String, issuer: String?, requestedScopes: [String],
        at now: WallTime, fallbackLifetimeSeconds: Int64?
    ) {
        self.init(clientID: clientID, obtainedAt: now)
        self.issuer = issuer
        scope = requestedScopes.isEmpty ? nil : requestedScopes.joined(separator: " ")
        requestedScope = scope
        take(response, at: now, fallbackLifetimeSeconds: fallbackLifetimeSeconds)
    }

    /// The same grant after a refresh.
    func renewed(
        by response: TokenResponse, at now: WallTime, fallbackLifetimeSeconds: Int64?
    ) -> Login {
        var login = self
        login.take(response, at: now, fallbackLifetimeSeconds: fallbackLifetimeSeconds)
        return login
    }

    /// The same grant with the refresh token of an answer that brought no other that is used.
    func rotated(to token: SecretBytes) -> Login {
        var login = self
        login.refreshToken = token
        // What was said of the old one's end says nothing of the new one's.
        (login.refreshExpiresAt, login.refreshObtainedAt) = (nil, nil)
        return login
    }

    private mutating func take(
        _ response: TokenResponse, at now: WallTime, fallbackLifetimeSeconds: Int64?
    ) {
        obtainedAt = now
        if let token = response.accessToken {
            accessToken = token
            tokenType = response.tokenType
            expiresAt = TokenLifetime.seconds(
                of: response, arrivedAt: now, fallbackSeconds: fallbackLifetimeSeconds
            ).map(now.advanced)
        }
        if let token = response.refreshToken {
            // What was said of the old one's end says nothing of the new one's.
            if token != refreshToken { (refreshExpiresAt, refreshObtainedAt) = (nil, nil) }
            refreshToken = token
        }
        if let end = response.refreshExpiresInSeconds.map(now.advanced) ?? response.refreshExpiresAt
        {
            (refreshExpiresAt, refreshObtainedAt) = (end, now)
        }
        if let token = response.idToken {
            idToken = token
            idTokenExpiresAt = TokenLifetime.secondsOfJWT(token, arrivedAt: now).map(now.advanced)
        }
        if let scopes = response.scopes { scope = scopes.joined(separator: " ") }
        for member in response.extras.members { extras[member.name] = member.value }
        rejection = nil
    }
}
