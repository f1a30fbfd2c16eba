// What a browser is told when one of the allowed origins calls (Fetch standard, section 3.2). The proxy
// speaks for itself: what an upstream says of origins means its own address, and is replaced.

package import Bytes
package import HTTPWire

package enum PageAccess {
    /// Whether a request is a browser's question, which never carries a credential or a local secret and
    /// so can only be answered by ourselves.
    package static func isPreflight(_ head: borrowing MessageHead) -> Bool {
        head.method == .options && head.present.contains(.origin)
            && head.present.contains(.accessControlRequestMethod)
    }

    /// For how long a browser may remember the answer to a preflight, in seconds.
    private static let maxAge: StaticString = "600"

    /// The whole answer to the preflight of an allowed origin: whatever it asks for may be sent, since
    /// routes and rules are judged when it is.
    package static func writePreflightAnswer(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, closes: Bool,
        into output: inout ByteBuffer
    ) {
        HeadWriter.appendStatusLine(204, into: &output)
        if let origin = head.value(of: .origin, in: bytes) { writeFields(origin, into: &output) }
        if let method = head.value(of: .accessControlRequestMethod, in: bytes) {
            HeadWriter.appendField("Access-Control-Allow-Methods", method, into: &output)
        }
        if let names = head.value(of: .accessControlRequestHeaders, in: bytes) {
            HeadWriter.appendField("Access-Control-Allow-Headers", names, into: &output)
        }
        if head.present.contains(.accessControlRequestPrivateNetwork) {
            HeadWriter.appendField("Access-Control-Allow-Private-Network", "true", into: &output)
        }
        HeadWriter.appendField("Access-Control-Max-Age", maxAge, into: &output)
        if closes { HeadWriter.appendField("Connection", "close", into: &output) }
        output.append("\r\n")
    }

    /// The fields that let a page of that origin read an answer. Never a wildcard: with credentials it
    /// would mean every page there is.
    package static func writeFields(
        _ origin: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        HeadWriter.appendField("Access-Control-Allow-Origin", origin, into: &output)
        output.append("Access-Control-Allow-Credentials: true\r\nVary: Origin\r\n")
    }

    /// What an upstream says of origins.
    static let replacedFields: [FieldName] = [
        "Access-Control-Allow-Origin", "Access-Control-Allow-Credentials",
    ].compactMap(FieldName.init)
}
