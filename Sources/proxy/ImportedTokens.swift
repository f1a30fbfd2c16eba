// Tokens as somebody hands them over: the members of a token response (RFC 6749 section 5.1), but with
// an expiry that may be absolute, and long past.

import Bytes
import OAuth
import TokenStore
import Vocabulary

/// A JSON object with at least one token that could be sent.
struct ImportedTokens {
    private let object: JSONObject

    init(_ bytes: SecretBytes) throws(CommandFailure) {
        let value: JSONValue
        do throws(JSONError) {
            value = try JSONReader.read(bytes, strings: .secret)
        } catch {
            throw CommandFailure(.failure, "standard input is no JSON", hint: Self.example)
        }
        guard let object = value.asObject else {
            throw CommandFailure(.failure, "the JSON is no object", hint: Self.example)
        }
        self.object = object
    }

    private static let known: Set<String> = [
        "access_token", "refresh_token", "id_token", "token_type", "scope", "expires_in",
        "expires_at", "refresh_token_expires_in", "refresh_expires_in", "refresh_token_expires_at",
    ]
    /// Whom the tokens are of, where the configuration does not say.
    private static let origin: Set<String> = ["client_id", "issuer"]
    private static let example =
        "write it like {\"access_token\": \"...\", \"refresh_token\": \"...\", \"expires_in\": 3600}"

    private func clientID(_ settings: OAuthSettings) throws(CommandFailure) -> String {
        settings.clientID.isEmpty ? try needed("client_id") : settings.clientID
    }

    private func needed(_ name: String) throws(CommandFailure) -> String {
        if let text = try text(name), !text.isEmpty { return text }
        throw CommandFailure(
            .failure, "the tokens need the member \"\(name)\": the configuration leaves it open")
    }

    func login(_ settings: OAuthSettings, at now: WallTime) throws(CommandFailure) -> Login {
        guard !settings.requiresProof else {
            throw CommandFailure(
                .failure, "tokens that are bound to a key (\"dpop\") cannot be imported",
                hint: "run \"proxy login\": the key is made here and goes nowhere")
        }
        var login = Login(clientID: try clientID(settings), obtainedAt: now)
        switch settings.endpoints {
        case .issuer(let issuer): login.issuer = issuer
        case .fixed(_, _, let issuer): login.issuer = issuer
        case .discovered(let resource, let issuer):
            login.resource = resource
            if let issuer { login.issuer = issuer } else { login.issuer = try needed("issuer") }
        }
        login.tokenEndpoint = settings.tokenEndpointByHand
        login.accessToken = try token("access_token")
        login.refreshToken = try token("refresh_token")
        login.idToken = try token("id_token")
        guard login.accessToken != nil || login.refreshToken != nil else {
            throw CommandFailure(
                .failure, "there is neither an access_token nor a refresh_token",
                hint: Self.example)
        }
        if let type = try text("token_type") {
            guard type.lowercased() == "bearer" else {
                throw CommandFailure(.failure, "tokens of type \"\(type)\" are not supported")
            }
        }
        login.scope = try text("scope")
        login.expiresAt = try expiry(
            at: now, fallback: settings.fallbackLifetimeSeconds)
        if let end = try refreshExpiry(at: now) {
            (login.refreshExpiresAt, login.refreshObtainedAt) = (end, now)
        }
        for member in object.members
        where !Self.known.contains(member.name) && !Self.origin.contains(member.name) {
            login.extras[member.name] = member.value
        }
        return login
    }

    private func token(_ name: String) throws(CommandFailure) -> SecretBytes? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let secret = value.asSecret, !secret.isEmpty, isSendable(secret) else {
            throw CommandFailure(
                .failure, "\"\(name)\" is no token: visible ASCII without spaces is expected")
        }
        return secret
    }

    private func isSendable(_ secret: SecretBytes) -> Bool {
        secret.withBytes { bytes in bytes.allSatisfy { (0x21..<0x7F).contains($0) } }
    }

    private func text(_ name: String) throws(CommandFailure) -> String? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let text = value.asRevealedString else {
            throw CommandFailure(.failure, "\"\(name)\" is no string")
        }
        return text
    }

    private func expiry(at now: WallTime, fallback: Int64?) throws(CommandFailure) -> WallTime? {
        if let seconds = try seconds("expires_at") { return WallTime(seconds: seconds) }
        if let seconds = try seconds("expires_in") { return now.advanced(by: seconds) }
        return try token("access_token").flatMap { JSONWebToken.expiry(of: $0) }
            ?? fallback.map(now.advanced)
    }

    private func refreshExpiry(at now: WallTime) throws(CommandFailure) -> WallTime? {
        if let seconds = try seconds("refresh_token_expires_at") {
            return WallTime(seconds: seconds)
        }
        for name in ["refresh_token_expires_in", "refresh_expires_in"] {
            // 0 is Keycloak's "never".
            if let left = try seconds(name), left != 0 { return now.advanced(by: left) }
        }
        return nil
    }

    /// A number, or one in a string, as some servers write it.
    private func seconds(_ name: String) throws(CommandFailure) -> Int64? {
        guard let value = object[name], !value.isNull else { return nil }
        guard let number = TokenResponse.seconds(value) else {
            throw CommandFailure(.failure, "\"\(name)\" is no number of seconds")
        }
        return number
    }
}
