// Feeds a response's head through a route that rewrites cookies and locations. What goes to the client is read
// again: it must be one message, framed as was said, with every cookie's name and value as they came.

import Bytes
import HTTPWire
import Routing
import Vocabulary

private let plan: HeaderPlan = {
    do {
        var spec = RouteSpec(
            path: "/a", upstream: try UpstreamURL("https://upstream.example/base"))
        spec.rewritesCookies = true
        spec.removedResponseFields = ["X-Removed"]
        spec.setResponseFields = [("X-Set", "ours")]
        return try RouteTable([spec]).routes[0].plan
    } catch {
        preconditionFailure("the route is valid: \(error)")
    }
}()
private let origin = Array("http://page.example".utf8)
private let authority = Array("localhost:8080".utf8)

/// The first byte says what the client is and what it asked.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = UnsafeRawBufferPointer(start: start, count: count)
    guard let choice = input.first else { return 0 }
    let bytes = UnsafeRawBufferPointer(rebasing: input[1...])
    let method: Method = choice & 1 == 1 ? .head : .get
    var parser = HeadParser()
    var head = MessageHead()
    guard (try? parser.response(in: bytes, into: &head)) == .complete, head.status != 101,
        let framing = try? head.responseFraming(in: bytes, to: method)
    else { return 0 }
    authority.withUnsafeBytes { authority in
        origin.withUnsafeBytes { origin in
            var client = ClientTerms(
                minorVersion: choice & 2 == 2 ? 0 : 1, closes: choice & 4 == 4,
                authority: authority, isSecure: choice & 8 == 8)
            if choice & 16 == 16 { client.origin = origin }
            var output = ByteBuffer()
            let promised = plan.writeResponse(
                head, bytes, framing: framing, client: client, into: &output)
            output.append("\r\n")
            let seen = names(of: head, bytes)
            readAgain(output.bytes, method, promised, seen, client)
        }
    }
    return 0
}

private func readAgain(
    _ bytes: UnsafeRawBufferPointer, _ method: Method, _ promised: BodyFraming,
    _ cookies: [[UInt8]], _ client: ClientTerms
) {
    // The edits add a few lines of their own.
    var parser = HeadParser(limits: HeadLimits(headBytesMax: 1 << 20, fieldsMax: 200))
    var head = MessageHead(fieldsMax: 200)
    do throws(WireError) {
        let outcome = try parser.response(in: bytes, into: &head)
        precondition(outcome == .complete, "it ends")
        precondition(head.length == bytes.count, "it is one head and nothing more")
        let again = try head.responseFraming(in: bytes, to: method)
        precondition(again == promised || head.status < 200, "its body ends where we say")
    } catch {
        preconditionFailure("what we write we accept: \(error)")
    }
    let kept = names(of: head, bytes)
    precondition(kept == cookies, "no cookie changes its name or value, none is lost")
    var allowed = 0
    for index in 0..<head.fieldCount {
        let field = head.fields[index]
        let name = field.name.bytes(in: bytes)
        precondition(!ASCII.equalsIgnoringCase(name, "x-removed"), "a dropped field is dropped")
        if ASCII.equalsIgnoringCase(name, "access-control-allow-origin") { allowed += 1 }
        switch field.known {
        case .upgrade where head.status == 426: break
        case .proxyConnection, .upgrade, .http2Settings:
            preconditionFailure("a field of the upstream's connection goes no further")
        default: break
        }
    }
    precondition(client.origin.isEmpty || head.status < 200 || allowed == 1, "one word on origins")
}

/// What each Set-Cookie field has before its first semicolon.
private func names(
    of head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer
) -> [[UInt8]] {
    var found: [[UInt8]] = []
    for index in 0..<head.fieldCount {
        let field = head.fields[index]
        guard field.known == .setCookie, !field.isNamedByConnection else { continue }
        let pair = field.value.bytes(in: bytes).prefix { $0 != ASCII.semicolon }
        // Space around it is nobody's (RFC 6265 section 5.2).
        let isSpace = { (byte: UInt8) in byte == ASCII.space || byte == ASCII.tab }
        found.append(Array(pair.reversed().drop(while: isSpace).reversed()))
    }
    return found
}
