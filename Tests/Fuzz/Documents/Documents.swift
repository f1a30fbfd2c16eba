// Feeds the readers of everything else that a provider, a browser or a person with a clipboard hands to
// the OAuth room: JSON, redirects, metadata, ID tokens, URLs, dates. They return or throw, and what
// they read they can write again.

import Bytes
import OAuth
import Vocabulary

private let login = try! AuthorizationRequest.fresh(
    .init(
        endpoint: "https://login.example.com/authorize", clientID: "client",
        redirectURI: "http://127.0.0.1:1/callback", issuer: "https://login.example.com"))

/// The first byte chooses the reader.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let kind = input.first else { return 0 }
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    switch kind % 6 {
    case 0: json(bytes)
    case 1: redirect(bytes)
    case 2: metadata(bytes)
    case 3: token(bytes)
    case 4: url(String(decoding: bytes, as: UTF8.self))
    default:
        let seconds = RetryAfter.seconds(
            String(decoding: bytes, as: UTF8.self), now: WallTime(seconds: 1_000_000))
        precondition(seconds.map { (0...RetryAfter.secondsMax).contains($0) } ?? true)
    }
    return 0
}

private func json(_ bytes: UnsafeRawBufferPointer) {
    guard let value = try? JSONReader.read(bytes) else { return }
    for style in [JSONWriter.Style.compact, .indented] {
        let again = try? JSONReader.read(JSONWriter.write(value, style: style), strings: .plain)
        precondition(again == value, "what was read is written and read again")
    }
    let secret = try? JSONReader.read(bytes, strings: .secret)
    precondition(secret.map { JSONWriter.write($0) } == JSONWriter.write(value))
}

/// The input goes behind the right state, without which nothing else is looked at.
private func redirect(_ bytes: UnsafeRawBufferPointer) {
    let query = Array("state=\(login.state)&".utf8) + bytes
    _ = query.withUnsafeBytes { try? AuthorizationResponse.read(query: $0, for: login) }
    _ = try? AuthorizationResponse.read(
        pasted: String(decoding: bytes, as: UTF8.self), for: login)
}

private func metadata(_ bytes: UnsafeRawBufferPointer) {
    let response = InboundResponse(status: 200, body: SecretBytes(copying: bytes))
    let metadata = try? ServerMetadata.read(response, issuer: "https://login.example.com")
    guard let metadata else { return }
    for endpoint in ServerMetadata.Endpoint.allCases {
        guard let text = try? metadata.url(of: endpoint) else { continue }
        precondition(text.prefix(6).lowercased() == "https:", "only https")
    }
}

private func token(_ bytes: UnsafeRawBufferPointer) {
    let secret = SecretBytes(copying: bytes)
    _ = JSONWebToken.expiry(of: secret)
    guard let token = try? IDToken(secret) else { return }
    var policy = IDTokenPolicy(
        issuer: "https://login.example.com", clientID: "client", keys: .unavailable)
    policy.nonce = "n"
    try? token.validate(policy, now: WallTime(seconds: 1_700_000_000))
}

private func url(_ text: String) {
    _ = try? ServerMetadata.wellKnownURLs(for: text)
    guard let url = try? WebURL(text) else { return }
    let rest =
        url.path + (url.query.map { "?" + $0 } ?? "") + (url.fragment.map { "#" + $0 } ?? "")
    precondition(url.textBeforePath + rest == url.text, "nothing is lost")
}
