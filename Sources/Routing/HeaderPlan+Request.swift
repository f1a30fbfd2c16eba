// Writes the head that goes upstream: request line, the upstream's Host, the client's fields, the
// framing made anew.

package import Bytes
package import HTTPWire

extension HeaderPlan {
    /// Writes everything but the credential's line and the CR LF that ends the head.
    ///
    /// - Parameters:
    ///   - framing: how the body goes upstream, which need not be how it came.
    ///   - forwardsExpect: whether to ask the upstream for a 100 before the body
    ///     (RFC 9110 section 10.1.1).
    package func writeRequest(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
        framing: BodyFraming, forwardsExpect: Bool = false, into output: inout ByteBuffer
    ) {
        output.reserve(head.length + requestLines.count + basePath.count + 160)
        output.append(head.methodBytes.bytes(in: bytes))
        output.append(ASCII.space)
        writeTarget(head, target, bytes, into: &output)
        output.append(" HTTP/1.1\r\n")
        requestLines.withUnsafeBytes { output.append($0) }

        var keepsLength = false
        var isChunked = false
        var length: UInt64?
        switch framing {
        case .none, .untilClose: break
        case .chunked: isChunked = true
        case .length(let count):
            keepsLength = head.present.contains(.contentLength)
            length = count
        }
        if dropsProof(head, bytes) {
            FieldCopy.write(
                head, bytes, dropping: requestDrops.with(.dpop, true), keepsLength: keepsLength,
                keepsTrailer: isChunked, into: &output)
        } else {
            FieldCopy.write(
                head, bytes, dropping: requestDrops, keepsLength: keepsLength,
                keepsTrailer: isChunked, into: &output)
        }

        if let length, !keepsLength {
            output.append("Content-Length: ")
            output.append(decimal: length)
            output.append("\r\n")
        }
        if isChunked { output.append("Transfer-Encoding: chunked\r\n") }
        // TE is for one connection, so it is named by Connection (RFC 9110 section 10.1.4).
        if head.present.contains(.te), FieldCopy.asksForTrailers(head, bytes) {
            output.append("TE: trailers\r\nConnection: TE\r\n")
        }
        if forwardsExpect { output.append("Expect: 100-continue\r\n") }
    }

    /// The base path and what the prefix leaves, octet for octet.
    private func writeTarget(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
        into output: inout ByteBuffer
    ) {
        // `OPTIONS http://host` asks for the server as `OPTIONS *` does (RFC 9112 section 3.2.4).
        let isWholeServer =
            head.method == .options && target.form == .absolute && target.path.isEmpty
            && basePath.isEmpty
        if target.form == .asterisk || isWholeServer {
            output.append(0x2A)
            return
        }
        let rest = rest(of: target, bytes)
        if basePath.isEmpty {
            if rest.path.isEmpty { output.append(ASCII.slash) }
        } else {
            basePath.withUnsafeBytes { output.append($0) }
        }
        output.append(rest.whole)
    }
}
