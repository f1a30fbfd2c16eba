// Feeds a request head through access rules, routes and edits. What goes upstream is read again: it
// must be one message, framed as it came, with one Host and nothing that was to be dropped.

import Bytes
import HTTPWire
import Routing
import Vocabulary

private let table: RouteTable = {
    do {
        let credential = RouteCredential(slot: CredentialSlot(0))
        var first = RouteSpec(
            path: "/a", upstream: try UpstreamURL("https://upstream.example/base"),
            credential: credential)
        first.removedFields = ["X-Removed"]
        first.setFields = [("X-Set", "ours")]
        let second = RouteSpec(
            upstream: try UpstreamURL("http://localhost:3000"), credential: credential)
        return try RouteTable([first, second], consumedFields: ["X-Api-Key"])
    } catch {
        preconditionFailure("the routes are valid: \(error)")
    }
}()
private let access = AccessGuard(port: 8080)

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    var parser = HeadParser()
    var head = MessageHead()
    do throws(WireError) {
        guard case .complete = try parser.request(in: bytes, into: &head) else { return 0 }
        let framing = try head.requestFraming(in: bytes)
        let target = try head.requestTarget(in: bytes)
        guard access.judge(head, target, bytes) == nil,
            let route = table.match(head, target, bytes)
        else { return 0 }
        let plan = table.routes[route].plan
        guard case .forward = plan.judge(head, target, bytes) else { return 0 }
        var output = ByteBuffer()
        plan.writeRequest(head, target, bytes, framing: framing, into: &output)
        output.append("Authorization: ours\r\n\r\n")
        readAgain(output.bytes, framing: framing)
    } catch {
        return 0
    }
    return 0
}

private func readAgain(_ bytes: UnsafeRawBufferPointer, framing: BodyFraming) {
    // The edits add a few lines of their own.
    var parser = HeadParser(limits: HeadLimits(headBytesMax: 1 << 20, fieldsMax: 200))
    var head = MessageHead(fieldsMax: 200)
    do throws(WireError) {
        let outcome = try parser.request(in: bytes, into: &head)
        precondition(outcome == .complete, "it ends")
        precondition(head.length == bytes.count, "it is one head and nothing more")
        let again = try head.requestFraming(in: bytes)
        precondition(again == framing, "its body ends where the client's does")
    } catch {
        preconditionFailure("what we write we accept: \(error)")
    }
    var credentials = 0
    for index in 0..<head.fieldCount {
        let field = head.fields[index]
        switch field.known {
        case .authorization: credentials += 1
        case .connection:
            precondition(
                ASCII.equalsIgnoringCase(field.value.bytes(in: bytes), "TE"), "our own option")
        case .proxyConnection, .keepAlive, .upgrade, .http2Settings, .proxyAuthorization, .expect:
            preconditionFailure("a field of the client's connection goes no further")
        case .other:
            let name = field.name.bytes(in: bytes)
            precondition(
                !ASCII.equalsIgnoringCase(name, "x-api-key")
                    && !(ASCII.equalsIgnoringCase(name, "x-removed") && head.isBehindBase(bytes)),
                "a dropped field is dropped")
        default: break
        }
    }
    precondition(credentials == 1, "one credential, and it is ours")
}

extension MessageHead {
    /// Whether the first route wrote it, the one that removes a field.
    fileprivate func isBehindBase(_ bytes: UnsafeRawBufferPointer) -> Bool {
        value(of: .host, in: bytes).map { ASCII.equalsIgnoringCase($0, "upstream.example") }
            ?? false
    }
}
