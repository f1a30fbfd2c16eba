// What is known of one login, and its form on disk. The form is JSON with a version; members that
// this release does not know are kept and written back, and a later version is refused.

package import Bytes
import Crypto
package import Vocabulary

/// One credential's tokens and where they came from.
package struct Login: Sendable {
    /// Why the grant is known to be dead. The tokens stay until a new login works.
    package struct Rejection: Hashable, Sendable {
        /// The provider's `error` code.
        package var code: String
        package var at: WallTime
        /// An upstream had refused the access token before: what is left of its time is worth nothing.
        package var tokenWasRefused: Bool

        package init(code: String, at: WallTime, tokenWasRefused: Bool = false) {
            self.code = code
            self.at = at
            self.tokenWasRefused = tokenWasRefused
        }
    }

    /// Counted by the store, one more with each save.
    package internal(set) var generation: Generation
    package var issuer: String?
    /// The upstream that it was got for, where that upstream's documents led to the issuer.
    package var resource: String?
    /// Where its tokens are from, where the configuration names that by hand.
    package var tokenEndpoint: String?
    package var clientID: String
    package var accessToken: SecretBytes?
    package var tokenType: String
    package var obtainedAt: WallTime
    /// Nil where nothing told; then it is good until a 401.
    package var expiresAt: WallTime?
    package var refreshToken: SecretBytes?
    /// When the refresh token itself ends; nil where nobody said, or never.
    package var refreshExpiresAt: WallTime?
    /// When the provider last said so.
    package var refreshObtainedAt: WallTime?
    package var idToken: SecretBytes?
    /// Counted by our clock from its arrival; nil where nobody counted.
    package var idTokenExpiresAt: WallTime?
    /// Whom the login is of, by an ID token that was believed.
    package var subject: String?
    /// The scope that was granted, as the provider wrote it.
    package var scope: String?
    /// The scope that was asked for, where the login knows.
    package var requestedScope: String?
    /// Who the provider was told would log in; sent again with the next login.
    package var loginHint: String?
    package var rejection: Rejection?
    /// Names what a token was asked for where no person consented to it; nil in a person's login.
    package var purpose: String?
    /// The key that the tokens are bound to (RFC 9449), as its maker stores it. It is written to the
    /// record and nowhere else.
    package var dpopKey: SecretBytes?
    /// The newest nonces of the servers that see its proofs.
    package var dpopNonces: JSONObject
    /// Members of the token response that nobody here understands (RFC 6749 section 5.1).
    package var extras: JSONObject
    /// Members of the record that a later release of the same version may have written.
    var unknown: JSONObject

    package init(clientID: String, obtainedAt: WallTime) {
        generation = .none
        issuer = nil
        resource = nil
        tokenEndpoint = nil
        self.clientID = clientID
        accessToken = nil
        tokenType = "Bearer"
        self.obtainedAt = obtainedAt
        expiresAt = nil
        refreshToken = nil
        refreshExpiresAt = nil
        refreshObtainedAt = nil
        idToken = nil
        idTokenExpiresAt = nil
        subject = nil
        scope = nil
        requestedScope = nil
        loginHint = nil
        rejection = nil
        purpose = nil
        dpopKey = nil
        dpopNonces = JSONObject()
        extras = JSONObject()
        unknown = JSONObject()
    }
}

extension Login {
    static let version: Int64 = 1
    /// Far above what providers send; a larger file is not ours.
    static let bytesMax = 1 << 20

    private enum Member: String, CaseIterable {
        case version, generation, issuer, resource, scope, rejected, purpose, extras
        case tokenEndpoint = "token_endpoint"
        case clientID = "client_id"
        case accessToken = "access_token"
        case tokenType = "token_type"
        case obtainedAt = "obtained_at"
        case expiresAt = "expires_at"
        case refreshToken = "refresh_token"
        case refreshExpiresAt = "refresh_expires_at"
        case refreshObtainedAt = "refresh_obtained_at"
        case idToken = "id_token"
        case dpopKey = "dpop_key"
        case dpopNonces = "dpop_nonces"
        case idTokenExpiresAt = "id_token_expires_at"
        case subject
        case requestedScope = "requested_scope"
        case loginHint = "login_hint"
    }

    /// Reads a record; `path` is for the error only.
    package init(_ bytes: SecretBytes, path: String) throws(StoreError) {
        guard !bytes.isEmpty else { throw .damaged(path: path, .empty) }
        var record: JSONObject
        do {
            guard let object = try JSONReader.read(bytes, strings: .secret).asObject else {
                throw StoreError.damaged(path: path, .notJSON(atByte: nil))
            }
            record = object
        } catch {
            throw .damaged(path: path, .notJSON(atByte: (error as? JSONError)?.offset))
        }
        func take(_ member: Member) -> JSONValue? {
            defer { record[member.rawValue] = nil }
            guard let value = record[member.rawValue], !value.isNull else { return nil }
            return value
        }
        /// A member that may be absent but not of another kind.
        func take<Value>(
            _ member: Member, as kind: (JSONValue) -> Value?
        ) throws(StoreError) -> Value? {
            guard let value = take(member) else { return nil }
            guard let value = kind(value) else {
                throw .damaged(path: path, .member(member.rawValue))
            }
            return value
        }
        func need<Value>(
            _ member: Member, as kind: (JSONValue) -> Value?
        ) throws(StoreError) -> Value {
            guard let value = try take(member, as: kind) else {
                throw .damaged(path: path, .member(member.rawValue))
            }
            return value
        }
        let integer: (JSONValue) -> Int64? = { $0.asNumber?.asInteger }
        let text: (JSONValue) -> String? = { $0.asRevealedString }
        let secret: (JSONValue) -> SecretBytes? = { $0.asSecret.flatMap { $0.isEmpty ? nil : $0 } }

        let version = try need(.version, as: integer)
        guard version <= Self.version else { throw .newerVersion(path: path, version: version) }
        guard version > 0 else { throw .damaged(path: path, .member(Member.version.rawValue)) }
        generation = Generation(
            try need(.generation, as: { integer($0).flatMap { UInt64(exactly: $0) } }))
        issuer = try take(.issuer, as: text)
        resource = try take(.resource, as: text)
        tokenEndpoint = try take(.tokenEndpoint, as: text)
        clientID = try need(.clientID, as: text)
        accessToken = try take(.accessToken, as: secret)
        tokenType = try take(.tokenType, as: text) ?? "Bearer"
        obtainedAt = WallTime(seconds: try need(.obtainedAt, as: integer))
        expiresAt = try take(.expiresAt, as: integer).map { WallTime(seconds: $0) }
        refreshToken = try take(.refreshToken, as: secret)
        refreshExpiresAt = try take(.refreshExpiresAt, as: integer).map { WallTime(seconds: $0) }
        refreshObtainedAt = try take(.refreshObtainedAt, as: integer).map { WallTime(seconds: $0) }
        idToken = try take(.idToken, as: secret)
        idTokenExpiresAt = try take(.idTokenExpiresAt, as: integer).map { WallTime(seconds: $0) }
        subject = try take(.subject, as: text)
        scope = try take(.scope, as: text)
        requestedScope = try take(.requestedScope, as: text)
        loginHint = try take(.loginHint, as: text)
        rejection = try take(.rejected, as: { Rejection($0) })
        purpose = try take(.purpose, as: text)
        dpopKey = try take(.dpopKey, as: { secret($0).flatMap(Self.decoded) })
        dpopNonces = try take(.dpopNonces, as: { $0.asObject }) ?? JSONObject()
        extras = try take(.extras, as: { $0.asObject }) ?? JSONObject()
        unknown = record
    }

    private static func decoded(_ text: SecretBytes) -> SecretBytes? {
        text.withBytes { Base64.decode($0, .url) }.map { SecretBytes($0) }
    }

    /// The record as it is written.
    package var document: JSONValue {
        var record = JSONObject()
        func put(_ member: Member, _ value: JSONValue?) { record[member.rawValue] = value }
        put(.version, .number(JSONNumber(Self.version)))
        put(.generation, .number(JSONNumber(Int64(clamping: generation.count))))
        put(.issuer, issuer.map { .string($0) })
        put(.resource, resource.map { .string($0) })
        put(.tokenEndpoint, tokenEndpoint.map { .string($0) })
        put(.clientID, .string(clientID))
        put(.accessToken, accessToken.map { .secret($0) })
        put(.tokenType, .string(tokenType))
        put(.obtainedAt, .number(JSONNumber(obtainedAt.seconds)))
        put(.expiresAt, expiresAt.map { .number(JSONNumber($0.seconds)) })
        put(.refreshToken, refreshToken.map { .secret($0) })
        put(.refreshExpiresAt, refreshExpiresAt.map { .number(JSONNumber($0.seconds)) })
        put(.refreshObtainedAt, refreshObtainedAt.map { .number(JSONNumber($0.seconds)) })
        put(.idToken, idToken.map { .secret($0) })
        put(.idTokenExpiresAt, idTokenExpiresAt.map { .number(JSONNumber($0.seconds)) })
        put(.subject, subject.map { .string($0) })
        put(.scope, scope.map { .string($0) })
        put(.requestedScope, requestedScope.map { .string($0) })
        put(.loginHint, loginHint.map { .string($0) })
        put(.rejected, rejection?.document)
        put(.purpose, purpose.map { .string($0) })
        put(.dpopKey, dpopKey.map { .secret(Base64.encode($0, .url)) })
        if !dpopNonces.members.isEmpty { put(.dpopNonces, .object(dpopNonces)) }
        if !extras.members.isEmpty { put(.extras, .object(extras)) }
        for member in unknown.members where record[member.name] == nil {
            record[member.name] = member.value
        }
        return .object(record)
    }
}

extension Login.Rejection {
    fileprivate init?(_ value: JSONValue) {
        guard let object = value.asObject, let code = object["code"]?.asRevealedString,
            let at = object["at"]?.asNumber?.asInteger
        else { return nil }
        self.init(
            code: code, at: WallTime(seconds: at),
            tokenWasRefused: object["token_refused"] == .bool(true))
    }

    fileprivate var document: JSONValue {
        var members = JSONObject([
            .init(name: "code", value: .string(code)),
            .init(name: "at", value: .number(JSONNumber(at.seconds))),
        ])
        if tokenWasRefused { members["token_refused"] = .bool(true) }
        return .object(members)
    }
}

extension JSONError {
    /// Where the document went wrong, where that is one place.
    fileprivate var offset: Int? {
        switch self {
        case .unexpectedByte(let offset), .invalidUTF8(let offset), .invalidEscape(let offset),
            .repeatedName(let offset), .trailingBytes(let offset):
            offset
        case .empty, .tooLarge, .tooDeep, .tooManyValues, .endsEarly: nil
        }
    }
}
