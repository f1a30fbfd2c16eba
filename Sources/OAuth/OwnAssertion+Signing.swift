// The statement that a client makes for the JWT bearer grant (RFC 7523 sections 2.1 and 3), and the
// key files from which cloud providers let it be made. One statement serves one request.

package import Bytes
package import Crypto
package import Vocabulary

/// Who says what to whom.
package struct GrantAssertion: Sendable {
    /// RFC 7523 leaves it open; cloud providers refuse more than an hour.
    package static let lifetimeSecondsMax: Int64 = 3600

    package var issuer: String
    /// Nil leaves the claim out, as key files of clients that act for nobody want it.
    package var subject: String?
    package var audience: String
    /// As a claim, where the server reads it there.
    package var scopes: [String]
    package var lifetimeSeconds: Int64
    package var claims: [(name: String, value: String)]

    package init(
        issuer: String, subject: String?, audience: String, scopes: [String] = [],
        lifetimeSeconds: Int64, claims: [(name: String, value: String)] = []
    ) {
        self.issuer = issuer
        self.subject = subject
        self.audience = audience
        self.scopes = scopes
        self.lifetimeSeconds = lifetimeSeconds
        self.claims = claims
    }

    /// Another one with each call.
    package func token(signedBy signer: JSONWebSigner, now: WallTime) -> SecretBytes {
        let lifetime = min(max(lifetimeSeconds, 1), GrantAssertion.lifetimeSecondsMax)
        var object = JSONObject()
        for claim in claims { object[claim.name] = .string(claim.value) }
        object["iss"] = .string(issuer)
        object["sub"] = subject.map { .string($0) }
        object["aud"] = .string(audience)
        if !scopes.isEmpty { object["scope"] = .string(scopes.joined(separator: " ")) }
        object["jti"] = .string(Nonce.fresh())
        object["iat"] = .number(JSONNumber(now.seconds))
        object["exp"] = .number(JSONNumber(now.advanced(by: lifetime).seconds))
        return JSONWebToken.signed(object, by: signer)
    }
}

/// A key file: JSON of which only these members are read.
package struct ServiceAccount: Sendable {
    package enum Problem: Error, Hashable, Sendable {
        case notJSON
        case missing(member: String)
        /// A file for another server than the configured one.
        case otherServer(String)
        case key(KeyError)
    }

    package let email: String
    package let key: SigningKey
    package let keyID: String?
    /// The token endpoint and the audience at once; nil where the file is silent.
    package let tokenURI: String?

    package init(_ file: SecretBytes) throws(Problem) {
        guard let object = (try? JSONReader.read(file, strings: .secret))?.asObject else {
            throw .notJSON
        }
        guard let email = object["client_email"]?.asRevealedString, !email.isEmpty else {
            throw .missing(member: "client_email")
        }
        guard let pem = object["private_key"]?.asSecret, !pem.isEmpty else {
            throw .missing(member: "private_key")
        }
        do throws(KeyError) {
            key = try SigningKey(pem: pem)
        } catch {
            throw .key(error)
        }
        self.email = email
        keyID = object["private_key_id"]?.asRevealedString
        tokenURI = object["token_uri"]?.asRevealedString
    }

    /// Google's key files sign with RS256, whatever the key could do besides.
    ///
    /// - Parameter endpoint: where the request goes; a file must not send it elsewhere.
    package func assertion(
        to endpoint: String, subject: String?, scopes: [String], now: WallTime
    ) throws(Problem) -> SecretBytes {
        if let tokenURI, !tokenURI.isIdentical(to: endpoint) {
            throw .otherServer(DisplayText.clean(tokenURI))
        }
        guard let signer = JSONWebSigner(key, keyID: keyID) else {
            throw .key(.unsupportedKind("none"))
        }
        return GrantAssertion(
            issuer: email, subject: subject, audience: endpoint, scopes: scopes,
            lifetimeSeconds: GrantAssertion.lifetimeSecondsMax
        ).token(signedBy: signer, now: now)
    }
}

extension ServiceAccount.Problem {
    /// One line for a person, without a full stop.
    package var reason: String {
        switch self {
        case .notJSON: "it is no JSON object"
        case .missing(let member): "it has no \"\(member)\""
        case .otherServer(let url):
            "it is made for \"\(url)\", and the requests go elsewhere; write token_endpoint: \(url)"
        case .key(let error): error.reason
        }
    }
}
