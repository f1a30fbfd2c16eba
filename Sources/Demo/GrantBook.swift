// The memory of the demo's authorization server: codes, refresh token families and access tokens.
// It keeps digests only, reads no clock and draws no randomness of its own; every rule of rotation
// and reuse (RFC 9700 section 4.14.2) is here and nothing about HTTP.

import Bytes
import Crypto
import Vocabulary

/// Why the book gives nothing, in the words of RFC 6749 section 5.2.
enum GrantError: Error, Hashable {
    case invalidRequest(String)
    case invalidClient
    case invalidGrant(String)
    case invalidScope
    case unsupportedGrantType

    var code: String {
        switch self {
        case .invalidRequest: "invalid_request"
        case .invalidClient: "invalid_client"
        case .invalidGrant: "invalid_grant"
        case .invalidScope: "invalid_scope"
        case .unsupportedGrantType: "unsupported_grant_type"
        }
    }

    var explanation: String {
        switch self {
        case .invalidRequest(let text), .invalidGrant(let text): text
        case .invalidClient: "no such client"
        case .invalidScope: "more scopes than were granted"
        case .unsupportedGrantType: "only authorization_code and refresh_token"
        }
    }
}

/// What an API may know of a token.
enum TokenStanding: Hashable {
    case good(scopes: [String], secondsLeft: Int64)
    case expired
    case revoked
    case unknown
}

struct GrantBook {
    /// What the person allowed.
    struct Consent: Hashable {
        var clientID: String
        var redirectURI: String
        var scopes: [String]
        /// PKCE's S256 challenge.
        var challenge: String
        /// For the ID token.
        var nonce: String? = nil
    }

    /// A fresh pair, in clear for the last time.
    struct Tokens {
        var access: SecretBytes
        var refresh: SecretBytes
        var scopes: [String]
        /// Of the consent, with its code only.
        var nonce: String?
    }

    static let codeLifetimeMilliseconds: UInt64 = 60_000
    /// Spent refresh tokens that are remembered per family, and codes and access tokens in all; the
    /// oldest are forgotten first.
    static let rememberedMax = 1000

    let accessTokenLifetimeMilliseconds: UInt64
    private(set) var reusesDetected = 0

    private typealias Key = [UInt8]

    private struct Code {
        var consent: Consent
        var expiry: BootTime
        /// Set by the first exchange; a second one revokes it (RFC 6749 section 4.1.2).
        var family: Int?
    }

    private struct Family {
        var clientID: String
        var scopes: [String]
        var isRevoked = false
        var spent: [Key] = []
    }

    private struct AccessToken {
        var family: Int
        var scopes: [String]
        var expiry: BootTime
        var isRevoked = false
    }

    private var codes: Remembered<Code> = Remembered(max: rememberedMax)
    private var accessTokens: Remembered<AccessToken> = Remembered(max: rememberedMax)
    private var families: [Int: Family] = [:]
    private var refreshTokens: [Key: (family: Int, isSpent: Bool)] = [:]
    private var familyCount = 0

    init(accessTokenLifetimeMilliseconds: UInt64) {
        self.accessTokenLifetimeMilliseconds = accessTokenLifetimeMilliseconds
    }

    // MARK: Giving

    mutating func enter(_ consent: Consent, code: SecretBytes, now: BootTime) {
        codes[key(code)] = Code(
            consent: consent,
            expiry: now.advanced(byMilliseconds: GrantBook.codeLifetimeMilliseconds))
    }

    /// - Parameter fresh: the tokens to hand out if all is well.
    mutating func redeem(
        code: SecretBytes, clientID: String, redirectURI: String, verifier: SecretBytes,
        fresh: (access: SecretBytes, refresh: SecretBytes), now: BootTime
    ) throws(GrantError) -> Tokens {
        let key = key(code)
        guard let entry = codes[key] else { throw .invalidGrant("unknown code") }
        if let family = entry.family {
            revoke(family)
            throw .invalidGrant("this code was used before")
        }
        guard now < entry.expiry else { throw .invalidGrant("the code has expired") }
        guard entry.consent.clientID == clientID else {
            throw .invalidGrant("the code belongs to another client")
        }
        guard entry.consent.redirectURI.isIdentical(to: redirectURI) else {
            throw .invalidGrant("another redirect_uri than in the request")
        }
        let challenge = Base64.encode(verifier.withBytes { Digest.sha256($0) }, .url)
        guard challenge.isIdentical(to: entry.consent.challenge) else {
            throw .invalidGrant("code_verifier does not fit code_challenge")
        }
        familyCount += 1
        families[familyCount] = Family(clientID: clientID, scopes: entry.consent.scopes)
        codes[key]?.family = familyCount
        var tokens = give(fresh, in: familyCount, scopes: entry.consent.scopes, now: now)
        tokens.nonce = entry.consent.nonce
        return tokens
    }

    /// Spends a refresh token; spending one twice ends its whole family.
    mutating func refresh(
        token: SecretBytes, clientID: String, scopes: [String]?,
        fresh: (access: SecretBytes, refresh: SecretBytes), now: BootTime
    ) throws(GrantError) -> Tokens {
        let key = key(token)
        guard let entry = refreshTokens[key], let family = families[entry.family] else {
            throw .invalidGrant("unknown refresh token")
        }
        guard family.clientID == clientID else {
            throw .invalidGrant("the refresh token belongs to another client")
        }
        guard !family.isRevoked else { throw .invalidGrant("the grant was revoked") }
        guard !entry.isSpent else {
            reusesDetected += 1
            revoke(entry.family)
            throw .invalidGrant("the refresh token was used before; the grant is revoked")
        }
        if let scopes, !Set(scopes).isSubset(of: family.scopes) { throw .invalidScope }
        spend(key, of: entry.family)
        return give(fresh, in: entry.family, scopes: scopes ?? family.scopes, now: now)
    }

    // MARK: Judging

    func standing(of token: SecretBytes, now: BootTime) -> TokenStanding {
        guard let entry = accessTokens[key(token)] else { return .unknown }
        guard !entry.isRevoked else { return .revoked }
        guard now < entry.expiry else { return .expired }
        let left = (entry.expiry.milliseconds - now.milliseconds + 999) / 1000
        return .good(scopes: entry.scopes, secondsLeft: Int64(left))
    }

    // MARK: Taking back

    /// Every access token that was given so far; the refresh tokens stay good.
    mutating func revokeAccessTokens() {
        accessTokens.changeAll { $0.isRevoked = true }
    }

    /// Every refresh token that was given so far; access tokens live on until they expire.
    mutating func killRefreshTokens() {
        for family in families.keys { families[family]?.isRevoked = true }
    }

    /// RFC 7009 section 2.1: a refresh token takes its family along, an access token goes alone, an
    /// unknown one is no error.
    mutating func revoke(token: SecretBytes, clientID: String) {
        let key = key(token)
        if let entry = refreshTokens[key], families[entry.family]?.clientID == clientID {
            revoke(entry.family)
        } else if let entry = accessTokens[key], families[entry.family]?.clientID == clientID {
            accessTokens[key]?.isRevoked = true
        }
    }

    // MARK: Inside

    private func key(_ secret: SecretBytes) -> Key { secret.withBytes { Digest.sha256($0) } }

    private mutating func give(
        _ fresh: (access: SecretBytes, refresh: SecretBytes), in family: Int, scopes: [String],
        now: BootTime
    ) -> Tokens {
        let expiry = now.advanced(byMilliseconds: accessTokenLifetimeMilliseconds)
        accessTokens[key(fresh.access)] = AccessToken(
            family: family, scopes: scopes, expiry: expiry)
        refreshTokens[key(fresh.refresh)] = (family, false)
        return Tokens(access: fresh.access, refresh: fresh.refresh, scopes: scopes)
    }

    private mutating func spend(_ key: Key, of family: Int) {
        refreshTokens[key]?.isSpent = true
        families[family]?.spent.append(key)
        guard let spent = families[family]?.spent, spent.count > GrantBook.rememberedMax else {
            return
        }
        refreshTokens[spent[0]] = nil
        families[family]?.spent.removeFirst()
    }

    private mutating func revoke(_ family: Int) {
        families[family]?.isRevoked = true
        accessTokens.changeAll { if $0.family == family { $0.isRevoked = true } }
    }
}

/// A table that forgets its oldest entry when it is full.
private struct Remembered<Value> {
    private let max: Int
    private var values: [[UInt8]: Value] = [:]
    private var order: [[UInt8]] = []

    init(max: Int) { self.max = max }

    subscript(key: [UInt8]) -> Value? {
        get { values[key] }
        set {
            if values[key] == nil, newValue != nil {
                order.append(key)
                if order.count > max { values[order.removeFirst()] = nil }
            }
            values[key] = newValue
        }
    }

    mutating func changeAll(_ change: (inout Value) -> Void) {
        for key in order {
            if var value = values[key] {
                change(&value)
                values[key] = value
            }
        }
    }
}
