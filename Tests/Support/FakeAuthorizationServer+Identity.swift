// What the fake authorization server says of the person: signed ID tokens, the keys for them, and
// userinfo as JSON or as a signed token.

import Glibc
import Synchronization

extension FakeAuthorizationServer {
    /// Whom it speaks of, and how well.
    package struct IdentityPolicy: Sendable {
        /// The person; nil issues no ID token.
        package var subject: String?
        /// Whether refreshes bring one too.
        package var refreshesIDToken = true
        package var idTokenSeconds: Int64 = 300
        /// Whether answers hold an ID token alone, as those of Azure AD B2C.
        package var omitsAccessToken = false
        /// Claims of ID tokens as JSON texts by name, in place of the true ones or besides.
        package var claims: [String: String] = [:]
        package var signer = TokenSigner()
        /// Whose keys are published; nil are the signer's.
        package var published: [TokenSigner]?
        /// Answers of the endpoint of keys instead of the truth.
        package var keysAnswer: FakeResponse?
        /// Claims of userinfo as JSON texts by name, `sub` left to the server; nil has no endpoint.
        package var userInfo: [String: String]?
        /// Whether userinfo is a signed token.
        package var userInfoIsSigned = false
        package var userInfoSubject: String?

        package init() {}
    }

    /// How often the keys were asked for.
    package var keyRequests: Int { requests.count { $0.path == "/jwks" } }

    var identityMetadata: String {
        policy.identity.userInfo == nil ? "" : ",\n\"userinfo_endpoint\":\"\(origin)/userinfo\""
    }

    func keys() -> FakeResponse {
        let policy = policy.identity
        if let answer = policy.keysAnswer { return answer }
        let signers = policy.published ?? [policy.signer]
        guard let first = signers.first else { return .json("{\"keys\":[]}") }
        return .json(first.keySet(with: Array(signers.dropFirst())))
    }

    func userInfo(_ request: HTTPMessage) -> FakeResponse {
        let policy = policy
        guard let claims = policy.identity.userInfo else {
            return FakeResponse(404, body: "no such endpoint")
        }
        guard accepts(request) else { return .invalidToken }
        var members = claims
        let subject = policy.identity.userInfoSubject ?? policy.identity.subject
        if let subject { members["sub"] = jsonText(subject) }
        guard policy.identity.userInfoIsSigned else { return .json(object(members)) }
        members["iss"] = jsonText(policy.announcedIssuer ?? issuer)
        members["aud"] = jsonText(policy.clientID)
        return FakeResponse(
            fields: [("Content-Type", "application/jwt")],
            body: Octets(policy.identity.signer.token(object(members))))
    }

    /// Nil where there is no person, or nobody asked for an ID token.
    func idToken(_ family: FakeGrants.Family, _ policy: Policy) -> String? {
        guard let subject = policy.identity.subject, isOpenID(family.scope) else { return nil }
        if family.issued > 1, !policy.identity.refreshesIDToken { return nil }
        let now = Int64(time(nil))
        var claims = [
            "iss": jsonText(policy.announcedIssuer ?? origin + policy.issuerPath),
            "sub": jsonText(subject), "aud": jsonText(policy.clientID),
            "exp": String(now + policy.identity.idTokenSeconds), "iat": String(now),
        ]
        if let nonce = family.nonce, family.issued == 1 { claims["nonce"] = jsonText(nonce) }
        claims.merge(policy.identity.claims) { $1 }
        return policy.identity.signer.token(object(claims))
    }

    private func isOpenID(_ scope: String) -> Bool {
        scope.split(separator: " ").contains("openid")
    }

    private func object(_ members: [String: String]) -> String {
        let texts = members.sorted { $0.key < $1.key }.map { "\(jsonText($0.key)):\($0.value)" }
        return "{\(texts.joined(separator: ","))}"
    }
}
