// What the fake authorization server has granted: codes, token families, and who spent what. It rotates
// refresh tokens and revokes a whole family when a spent one comes again (RFC 9700 section 4.14.2).

import Bytes
import Crypto

/// Changed only under FakeAuthorizationServer's lock.
struct FakeGrants: Sendable {
    struct Code: Sendable {
        let challenge: String
        let redirectURI: String
        let scope: String
        let nonce: String?
        /// `dpop_jkt`, or the key of a pushed request.
        let proofKey: String?
        var isSpent = false
    }

    struct AccessToken: Sendable {
        let family: Int
        let expiry: ContinuousClock.Instant
        var isRevoked = false
    }

    struct RefreshToken: Sendable {
        let family: Int
        var spent: ContinuousClock.Instant?
    }

    struct Family: Sendable {
        let scope: String
        let nonce: String?
        /// The thumbprint that its tokens are bound to.
        let proofKey: String?
        var isRevoked = false
        var issued = 0
    }

    /// What a token request asked for.
    enum Outcome: Sendable {
        /// `refresh` is nil when no new refresh token was made.
        case issued(access: String, refresh: String?, family: Int)
        case refused(status: Int, code: String)
    }

    private(set) var codes: [String: Code] = [:]
    private(set) var accessTokens: [String: AccessToken] = [:]
    private(set) var refreshTokens: [String: RefreshToken] = [:]
    private(set) var families: [Family] = []
    /// How often a spent refresh token came again.
    private(set) var reuses = 0
    /// How often a code came again.
    private(set) var codeReuses = 0
    /// The key of the request in hand.
    var proofKey: String?
    /// Everything made here that must never be printed.
    private(set) var secrets: Set<String> = []

    mutating func secret(_ kind: String, length: Int = 0) -> String {
        // Letters that survive every encoding, so that a search finds them in any of them.
        var text = "canary-\(kind)-"
        for _ in 0..<4 { text += String(UInt64.random(in: 1 << 60 ... .max), radix: 36) }
        while text.utf8.count < length { text += String(UInt64.random(in: 0 ... .max), radix: 36) }
        if length > 0 { text = String(text.prefix(length)) }
        secrets.insert(text)
        return text
    }

    mutating func noteSecret(_ text: String) { secrets.insert(text) }

    mutating func makeCode(_ query: FormText) -> String {
        let code = secret("code")
        codes[code] = Code(
            challenge: query["code_challenge"] ?? "", redirectURI: query["redirect_uri"] ?? "",
            scope: query["scope"] ?? "", nonce: query["nonce"], proofKey: query["dpop_jkt"])
        return code
    }

    /// A family that starts with tokens already made, as if by an earlier login.
    mutating func makeFamily(
        scope: String, nonce: String? = nil, policy: FakeAuthorizationServer.Policy
    ) -> Outcome {
        families.append(Family(scope: scope, nonce: nonce, proofKey: proofKey))
        return issue(in: families.count - 1, refreshes: policy.givesRefreshToken, policy)
    }

    private mutating func issue(
        in family: Int, refreshes: Bool, _ policy: FakeAuthorizationServer.Policy
    ) -> Outcome {
        families[family].issued += 1
        let access = secret("access-\(family)", length: policy.accessTokenLength)
        accessTokens[access] = AccessToken(
            family: family, expiry: .now + .seconds(policy.accessSeconds))
        var refresh: String?
        if refreshes {
            let made = secret("refresh-\(family)")
            refreshTokens[made] = RefreshToken(family: family)
            refresh = made
        }
        return .issued(access: access, refresh: refresh, family: family)
    }

    mutating func exchange(
        _ form: FormText, _ policy: FakeAuthorizationServer.Policy
    ) -> Outcome {
        guard let name = form["code"], var code = codes[name] else {
            return .refused(status: 400, code: "invalid_grant")
        }
        guard !code.isSpent else {
            codeReuses += 1
            return .refused(status: 400, code: "invalid_grant")
        }
        code.isSpent = true
        codes[name] = code
        let verifier = form["code_verifier"] ?? ""
        secrets.insert(verifier)
        let isProven =
            (43...128).contains(verifier.utf8.count)
            && Base64.encode(Digest.sha256(Array(verifier.utf8)), .url) == code.challenge
        guard code.proofKey == nil || code.proofKey == proofKey else {
            return .refused(status: 400, code: "invalid_grant")
        }
        guard isProven, form["redirect_uri"] == code.redirectURI else {
            return .refused(status: 400, code: "invalid_grant")
        }
        return makeFamily(scope: code.scope, nonce: code.nonce, policy: policy)
    }

    mutating func refresh(
        _ form: FormText, _ policy: FakeAuthorizationServer.Policy
    ) -> Outcome {
        guard let name = form["refresh_token"], var token = refreshTokens[name] else {
            return .refused(status: 400, code: "invalid_grant")
        }
        if let spent = token.spent, ContinuousClock.now > spent + policy.reuseTolerance {
            reuses += 1
            if policy.revokesFamilyOnReuse { revokeFamily(token.family) }
            return .refused(status: 400, code: "invalid_grant")
        }
        guard !families[token.family].isRevoked, families[token.family].proofKey == proofKey else {
            return .refused(status: 400, code: "invalid_grant")
        }
        if policy.rotates {
            token.spent = token.spent ?? .now
            refreshTokens[name] = token
        }
        if policy.refreshRevokesAccessTokens { revokeAccessTokens(of: token.family) }
        return issue(
            in: token.family, refreshes: policy.rotates && policy.givesRefreshToken, policy)
    }

    /// As if the request had been granted and its answer lost.
    mutating func spend(_ form: FormText) {
        if let name = form["code"] { codes[name]?.isSpent = true }
        if let name = form["refresh_token"] {
            let spent = refreshTokens[name]?.spent
            refreshTokens[name]?.spent = spent ?? .now
        }
    }

    func thumbprint(of accessToken: String) -> String? {
        accessTokens[accessToken].flatMap { families[$0.family].proofKey }
    }

    mutating func revokeFamily(_ family: Int) {
        families[family].isRevoked = true
        revokeAccessTokens(of: family)
    }

    mutating func revokeAllFamilies() {
        for family in families.indices { revokeFamily(family) }
    }

    /// Refresh tokens stop working; access tokens live on.
    mutating func revokeAllRefreshTokens() {
        for family in families.indices { families[family].isRevoked = true }
    }

    mutating func revokeAllAccessTokens() {
        for name in accessTokens.keys { accessTokens[name]!.isRevoked = true }
    }

    private mutating func revokeAccessTokens(of family: Int) {
        for (name, token) in accessTokens where token.family == family {
            accessTokens[name]!.isRevoked = true
        }
    }

    /// A refresh token ends its family, an access token only itself (RFC 7009 section 2.1).
    mutating func revoke(_ name: String) {
        if let token = refreshTokens[name] { revokeFamily(token.family) }
        accessTokens[name]?.isRevoked = true
    }

    func accepts(refreshToken name: String) -> Bool {
        guard let token = refreshTokens[name] else { return false }
        return token.spent == nil && !families[token.family].isRevoked
    }

    /// Refresh tokens that would be taken now.
    var liveRefreshTokens: Set<String> {
        Set(refreshTokens.keys.filter { accepts(refreshToken: $0) })
    }

    func accepts(accessToken name: String) -> Bool {
        guard let token = accessTokens[name] else { return false }
        return !token.isRevoked && token.expiry > .now
    }
}
