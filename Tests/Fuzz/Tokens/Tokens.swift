// Feeds the readers of tokens, keys and userinfo what a provider, or somebody in its place, might send.
// They return or throw; and nothing that nobody signed is ever taken for signed.

import Bytes
import Crypto
import OAuth
import Vocabulary

/// The private halves of these are gone with this process.
private let published: JSONWebKeySet = {
    let keys = [JWSAlgorithm.es256, .rs256, .edDSA].map { algorithm -> JSONValue in
        let key = SigningKey.generate(algorithm)
        return .object(
            JSONObject(
                key.publicJWK.map { .init(name: $0.name, value: .string($0.value)) }
                    + [.init(name: "kid", value: .string(algorithm.rawValue))]))
    }
    return try! JSONWebKeySet(document: JSONObject([.init(name: "keys", value: .array(keys))]))
}()

private let now = WallTime(seconds: 1_700_000_000)

/// The first byte chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let kind = input.first else { return 0 }
    let bytes = SecretBytes(copying: UnsafeRawBufferPointer(rebasing: input[1...]))
    switch kind % 4 {
    case 0: token(bytes)
    case 1: keys(bytes)
    case 2: userInfo(bytes, type: "application/jwt")
    default: userInfo(bytes, type: "application/json")
    }
    return 0
}

private func token(_ bytes: SecretBytes) {
    _ = JSONWebToken.expiry(of: bytes)
    if let token = try? JSONWebToken(bytes) {
        precondition(!published.verifies(token), "nobody signed it")
    }
    guard let token = try? IDToken(bytes) else { return }
    var policy = IDTokenPolicy(issuer: nil, clientID: "cli", keys: .set(published))
    policy.vectorsOfTrust = ["Cl.Cm"]
    policy.maxAgeSeconds = 60
    policy.accessToken = SecretBytes("at")
    policy.earlier = token
    do throws(IDTokenError) {
        try token.validate(policy, now: now)
        preconditionFailure("nobody signed it")
    } catch {
        precondition(error.text.utf8.count < 1000, "one line")
    }
    policy.keys = .unavailable
    try? token.validate(policy, now: now)
}

private func keys(_ bytes: SecretBytes) {
    let response = InboundResponse(status: 200, body: bytes)
    guard let set = try? JSONWebKeySet.read(response) else { return }
    // What was read can be kept and read again.
    let again = try? JSONWebKeySet(document: set.document)
    precondition(again?.skipped == set.skipped, "the same keys")
    // A set that a stranger wrote verifies no token of another's.
    let token = try? JSONWebToken(
        SecretBytes("eyJhbGciOiJFUzI1NiJ9.e30." + String(repeating: "A", count: 86)))
    precondition(token.map(set.verifies) == false, "a signature of zeros")
}

private func userInfo(_ bytes: SecretBytes, type: String) {
    let response = InboundResponse(
        status: 200, fields: [("Content-Type", type)], body: bytes)
    let policy = IDTokenPolicy(
        issuer: "https://login.example.com", clientID: "cli", keys: .set(published))
    let info = try? UserInfo.read(response, subject: "u1", policy: policy)
    precondition(info?.isSigned != true, "nobody signed it")
    precondition(info.map { $0.claims["sub"] == "u1" } ?? true, "of that person")
}
