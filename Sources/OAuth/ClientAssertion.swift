// A client's proof that it holds a key or a secret (RFC 7523 sections 2.2 and 3; OpenID Connect Core
// section 9). One token serves one request: it lives for a minute and names one server.

package import Bytes
import Crypto
package import Vocabulary

package struct ClientAssertion: Sendable {
    /// `client_assertion_type`.
    package static let type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
    /// Servers refuse what holds much longer.
    package static let lifetimeSecondsMax: Int64 = 300

    package var clientID: String
    /// One text, not a list of one: the issuer, unless the server insists on its token endpoint.
    package var audience: String
    package var signer: JSONWebSigner
    /// Cut to `lifetimeSecondsMax`.
    package var lifetimeSeconds: Int64
    /// Header members that one provider asks for: `x5t#S256` for one.
    package var header: JSONObject

    package init(
        clientID: String, audience: String, signer: JSONWebSigner, lifetimeSeconds: Int64 = 60,
        header: JSONObject = JSONObject()
    ) {
        self.clientID = clientID
        self.audience = audience
        self.signer = signer
        self.lifetimeSeconds = lifetimeSeconds
        self.header = header
    }

    /// `client_assertion`; another one with each call.
    package func token(now: WallTime) -> SecretBytes {
        let lifetime = min(max(lifetimeSeconds, 1), ClientAssertion.lifetimeSecondsMax)
        let claims = JSONObject([
            .init(name: "iss", value: .string(clientID)),
            .init(name: "sub", value: .string(clientID)),
            .init(name: "aud", value: .string(audience)),
            .init(name: "jti", value: .string(Base64.encode(RandomBytes.make(16), .url))),
            .init(name: "iat", value: .number(JSONNumber(now.seconds))),
            .init(name: "exp", value: .number(JSONNumber(now.advanced(by: lifetime).seconds))),
        ])
        return JSONWebToken.signed(claims, by: signer, header: header)
    }
}
