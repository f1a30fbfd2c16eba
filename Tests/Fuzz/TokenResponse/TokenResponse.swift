// Feeds the reader of token responses, which must take whatever a token endpoint or a stray web page
// answers: it returns a response or throws a `TokenFailure` that repeats no secret of the request.

import Bytes
import OAuth
import Vocabulary

private let statuses = [200, 201, 302, 400, 401, 403, 404, 429, 500, 503]
private let mediaTypes = [
    "application/json", "application/json; charset=utf-8", "application/x-www-form-urlencoded",
    "text/html", "text/plain", "",
]
private let secret = "s3cr3t-r3fr3sh-t0k3n"

/// The first byte chooses the status, the second the media type.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard input.count >= 2 else { return 0 }
    let response = InboundResponse(
        status: statuses[Int(input[0]) % statuses.count],
        fields: [
            ("Content-Type", mediaTypes[Int(input[1]) % mediaTypes.count]),
            ("Retry-After", "17"),
        ],
        body: SecretBytes(copying: UnsafeRawBufferPointer(rebasing: input[2...])))
    let request = TokenRequest(
        endpoint: "https://login.example.com/token", grant: .refresh(SecretBytes(secret)),
        client: .none(clientID: "client"))
    do throws(TokenFailure) {
        let token = try TokenResponse.read(response, to: request, now: WallTime(seconds: 1_000_000))
        let fits = token.accessToken?.withBytes { bytes in
            !bytes.isEmpty && bytes.allSatisfy { (0x21...0x7E).contains($0) }
        }
        precondition(fits == true, "a token fits the value of a field")
    } catch {
        precondition(!"\(error)".contains(secret), "a failure prints no secret")
    }
    return 0
}
