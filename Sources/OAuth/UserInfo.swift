// What a provider tells of the person (OpenID Connect Core section 5.3): asked with the access token,
// and believed only when it speaks of the person of the ID token.

package import Bytes
import Crypto
package import Vocabulary

/// Why an answer is not used; the texts are cleaned for showing.
package enum UserInfoError: Error, Hashable, Sendable {
    /// `challenge` is the error code of a WWW-Authenticate field (RFC 6750 section 3.1).
    case refused(status: Int, challenge: String?)
    case unreadable
    /// Signed, but not so that we can believe it.
    case token(IDTokenError)
    case missingSubject
    /// Of another person (section 5.3.2): somebody's tokens were swapped.
    case otherSubject
}

package struct UserInfo: Sendable {
    /// Everything that was said, `sub` included.
    package let claims: JSONObject
    /// Whether it came as a JWT whose signature is the provider's.
    package let isSigned: Bool

    package static let bytesMax = 512 << 10

    /// RFC 6750 section 2.1; RFC 9449 section 7.1.
    ///
    /// - Parameter scheme: "Bearer", or "DPoP" for a request that gets a proof.
    package static func request(
        _ url: String, accessToken: SecretBytes, scheme: String = "Bearer"
    ) -> OutboundRequest {
        OutboundRequest(
            .get, url,
            fields: [
                .init("Accept", "application/json, application/jwt"),
                .init(
                    "Authorization", SecretBytes.joined([SecretBytes(scheme + " "), accessToken])),
            ], responseBytesMax: bytesMax)
    }

    /// Whether an answer is a JWT, for which `read` needs keys.
    package static func isToken(_ response: InboundResponse) -> Bool {
        mediaType(of: response) == "application/jwt"
    }

    /// Whether one of the keys made the signature of an answer that is a token.
    package static func isVerified(_ body: SecretBytes, by keys: JSONWebKeySet) -> Bool {
        (try? JSONWebToken(body)).map(keys.verifies) ?? false
    }

    /// - Parameters:
    ///   - subject: of the ID token; nil where there was none to compare with.
    ///   - policy: issuer, client, algorithms and keys count; nothing else of an ID token's checks
    ///     is asked for here.
    package static func read(
        _ response: InboundResponse, subject: String?, policy: IDTokenPolicy
    ) throws(UserInfoError) -> UserInfo {
        guard response.status == 200 else {
            throw .refused(status: response.status, challenge: challenge(in: response))
        }
        let isSigned = isToken(response)
        let claims = isSigned ? try claims(ofToken: response.body, policy) : try json(response)
        if let subject {
            guard let received = claims["sub"]?.asString else { throw .missingSubject }
            guard received.isIdentical(to: subject) else { throw .otherSubject }
        }
        return UserInfo(claims: claims, isSigned: isSigned)
    }

    private static func mediaType(of response: InboundResponse) -> String {
        let type = response.field("content-type") ?? ""
        return type.prefix { $0 != ";" }.lowercased().filter { !$0.isWhitespace }
    }

    private static func json(_ response: InboundResponse) throws(UserInfoError) -> JSONObject {
        guard let value = try? JSONReader.read(response.body, strings: .plain),
            let claims = value.asObject
        else { throw .unreadable }
        return claims
    }

    /// Section 5.3.2: `iss` and `aud` should be there, and are right where they are.
    private static func claims(
        ofToken body: SecretBytes, _ policy: IDTokenPolicy
    ) throws(UserInfoError) -> JSONObject {
        let token: JSONWebToken
        do throws(JSONWebTokenError) { token = try JSONWebToken(body) } catch {
            throw .token(error == .encrypted ? .encrypted : .unreadable(error))
        }
        guard token.algorithmName != "none" else { throw .token(.unsigned) }
        guard let algorithm = token.algorithm, policy.algorithms.contains(algorithm) else {
            throw .token(
                .algorithmNotAllowed(DisplayText.clean(token.algorithmName ?? "", lettersMax: 32)))
        }
        guard token.header["crit"] == nil else { throw .token(.criticalHeader) }
        // TLS to the endpoint may stand in where no keys are to be had, as for an ID token.
        if case .set(let keys) = policy.keys, !keys.verifies(token) {
            throw .token(keys.mayVerify(token) ? .badSignature : .unknownKey)
        }
        if let expected = policy.issuer, let issuer = token.claims["iss"],
            issuer.asString?.isIdentical(to: expected) != true
        {
            throw .token(
                .otherIssuer(
                    expected: expected, received: DisplayText.clean(issuer.asString ?? "")))
        }
        switch token.claims["aud"] {
        case nil: break
        case .string(let audience) where audience.isIdentical(to: policy.clientID): break
        case .array(let audiences) where audiences.contains(.string(policy.clientID)): break
        default: throw .token(.otherAudience)
        }
        return token.claims
    }

    /// The `error` of a Bearer or DPoP challenge, for a person.
    private static func challenge(in response: InboundResponse) -> String? {
        guard let value = response.field("www-authenticate"),
            let start = value.firstRange(of: "error=\"")
        else { return nil }
        let code = value[start.upperBound...].prefix { $0 != "\"" }
        return DisplayText.clean(String(code), lettersMax: 64)
    }
}

extension UserInfoError {
    /// One line for a person, without a full stop.
    package var text: String {
        switch self {
        case .refused(let status, let challenge):
            "the userinfo endpoint answered with status \(status)"
                + (challenge.map { " (\($0))" } ?? "")
        case .unreadable: "the userinfo endpoint's answer is no JSON object"
        case .token(let error): "the userinfo endpoint's token is not acceptable: \(error.text)"
        case .missingSubject: "the userinfo endpoint does not say whom it speaks of"
        case .otherSubject: "the userinfo endpoint speaks of another person than the ID token"
        }
    }
}
