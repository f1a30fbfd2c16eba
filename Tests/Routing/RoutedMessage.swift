// Parses a message written in a test and shows what the rules under test make of it, as text.

import Bytes
import HTTPWire
import Routing
import Testing
import Vocabulary

/// Lends a parsed request to the body. A request in a test ends its lines with LF only.
func withRequest<Result>(
    _ text: String,
    _ body: (borrowing MessageHead, RequestTarget, UnsafeRawBufferPointer) throws -> Result
) throws -> Result {
    let bytes = wireBytes(text)
    var head = MessageHead()
    var parser = HeadParser()
    return try bytes.withUnsafeBytes { bytes in
        let outcome = try parser.request(in: bytes, into: &head)
        try #require(outcome == .complete)
        return try body(head, head.requestTarget(in: bytes), bytes)
    }
}

/// The bytes of a head: each line ended with CR LF, and an empty line behind the last. Letters from
/// U+0080 to U+00FF stand for single bytes.
func wireBytes(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    for scalar in text.unicodeScalars {
        if scalar == "\n" { bytes.append(0x0D) }
        bytes.append(UInt8(scalar.value))
    }
    return bytes + [0x0D, 0x0A, 0x0D, 0x0A]
}

/// The other way round.
func wireText(_ bytes: UnsafeRawBufferPointer) -> String {
    var text = ""
    for byte in bytes where byte != 0x0D { text.unicodeScalars.append(Unicode.Scalar(byte)) }
    return text
}

extension RouteSpec {
    /// A route with a credential in Authorization.
    static func to(
        _ upstream: String, path: String = "", host: String? = nil,
        credential: RouteCredential? = RouteCredential(slot: CredentialSlot(0))
    ) throws -> RouteSpec {
        RouteSpec(
            host: host, path: path, upstream: try UpstreamURL(upstream), credential: credential)
    }
}

/// The head that the only route of a table sends upstream, with the framing that came.
func upstreamHead(
    of text: String, through spec: RouteSpec, consumedFields: [String] = [],
    framing: BodyFraming? = nil, forwardsExpect: Bool = false
) throws -> String {
    let table = try RouteTable([spec], consumedFields: consumedFields)
    return try withRequest(text) { head, target, bytes in
        var output = ByteBuffer()
        table.routes[0].plan.writeRequest(
            head, target, bytes, framing: try framing ?? head.requestFraming(in: bytes),
            forwardsExpect: forwardsExpect, into: &output)
        return wireText(output.bytes)
    }
}

/// The head that goes to the client, and how the body follows it.
func clientHead(
    of text: String, through spec: RouteSpec, method: HTTPWire.Method = .get,
    minorVersion: UInt8 = 1, closes: Bool = false, authority: String = "localhost:8080"
) throws -> (text: String, framing: BodyFraming) {
    let table = try RouteTable([spec])
    let bytes = wireBytes(text)
    var head = MessageHead()
    var parser = HeadParser()
    return try bytes.withUnsafeBytes { bytes in
        let outcome = try parser.response(in: bytes, into: &head)
        try #require(outcome == .complete)
        var output = ByteBuffer()
        let framing = try head.responseFraming(in: bytes, to: method)
        let sent = Array(authority.utf8).withUnsafeBytes { authority in
            table.routes[0].plan.writeResponse(
                head, bytes, framing: framing,
                client: ClientTerms(
                    minorVersion: minorVersion, closes: closes, authority: authority),
                into: &output)
        }
        return (wireText(output.bytes), sent)
    }
}
