// What a test asks a provider behind the proxy's back: introspection (RFC 7662), revocation (RFC 7009),
// the token endpoint. It decides nothing.

import Bytes
import Crypto
import Support
import Testing
import Vocabulary

extension Provider {
    /// Authgent makes up its clients' names; its script keeps what it answered.
    func registration(of client: Client) throws -> JSONObject {
        try Self.object(try file("\(client.rawValue).json"))
    }

    /// What the provider knows of a token. Asked by a client that may: its own, or any at servers
    /// that do not mind. `issuer` is one of Glewlwyd's others.
    func introspect(
        _ token: String, as client: Client, issuer: String = "oidc"
    ) throws -> JSONObject {
        let path = kind == .glewlwyd ? "/api/\(issuer)/introspect" : kind.introspectionPath
        let answer = try post([("token", token)], to: path, as: client)
        try #require(answer.status == 200, "introspection answered \(answer)")
        return try Self.object(answer.body)
    }

    func isActive(_ token: String, as client: Client) throws -> Bool {
        try introspect(token, as: client)["active"]?.asBool ?? false
    }

    /// Revokes a token.
    func revoke(_ token: String, as client: Client) throws {
        let answer = try post([("token", token)], to: kind.revocationPath, as: client)
        guard answer.status == 200 else {
            throw Failure.malformed("revocation answered \(answer.status)")
        }
    }

    /// The status that a refresh with this token gets.
    func statusOfRefresh(_ token: String, as client: Client) throws -> Int {
        let form = [("grant_type", "refresh_token"), ("refresh_token", token)]
        return try post(form, to: kind.tokenPath, as: client).status
    }

    /// A form, by a client that shows who it is.
    func post(
        _ parameters: [(String, String)], to path: String, as client: Client
    ) throws -> HTTPMessage {
        var form = FormText(parameters.map { (name: $0.0, value: $0.1) })
        var fields = [("Content-Type", "application/x-www-form-urlencoded")]
        let name = try name(of: client)
        let secret = try secret(of: client)
        switch (client.method, secret) {
        case ("client_secret_basic", let secret?):
            let pair = name + ":" + secret
            fields.append(("Authorization", "Basic " + Base64.encode(Array(pair.utf8), .standard)))
        case (_, let secret?):
            form.pairs += [("client_id", name), ("client_secret", secret)]
        default:
            form.pairs.append(("client_id", name))
        }
        return try RawClient(to: port).exchange(
            "POST", path, fields: fields, body: Octets(form.encoded.utf8))
    }

    static func object(_ octets: Octets) throws -> JSONObject {
        let value = try JSONReader.read(SecretBytes(octets.bytes), strings: .plain)
        return try #require(value.asObject)
    }
}
