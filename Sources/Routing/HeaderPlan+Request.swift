// Writes the head that goes upstream: request line, the upstream's Host, the client's fields, the
// framing made anew.

package import Bytes
package import HTTPWire

extension HeaderPlan {
    /// Writes everything but the credential's line and the CR LF that ends the head.
    ///
    /// - Parameters:
    ///   - framing: how the body goes upstream, which need not be how it came.
    ///   - caller: who asks, where `tellsCaller`.
    ///   - forwardsExpect: whether to ask the upstream for a 100 before the body
    ///     (RFC 9110 section 10.1.1).
    package func writeRequest(
        _ head: borrowing MessageHead, _ target: RequestTarget, _ bytes: UnsafeRawBufferPointer,
        framing: BodyFraming, forwardsExpect: Bool = false, caller: Caller? = nil,
        into output: inout ByteBuffer
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
        let forwards = head.forwardsLeft(in: bytes)
        if forwards != nil || dropsProof(head, bytes) {
            var drops = requestDrops
            if forwards != nil { drops.insertKnown(.maxForwards) }
            if dropsProof(head, bytes) { drops.insertKnown(.dpop) }
            FieldCopy.write(
                head, bytes, dropping: drops, keepsLength: keepsLength,
                keepsTrailer: isChunked, into: &output)
        } else {
            FieldCopy.write(
                head, bytes, dropping: requestDrops, keepsLength: keepsLength,
                keepsTrailer: isChunked, into: &output)
        }

        if let forwards {
            output.append("Max-Forwards: ")
            output.append(decimal: max(forwards, 1) - 1)
            output.append("\r\n")
        }
        if let caller { writeCaller(caller, head, target, bytes, into: &output) }
        if let length, !keepsLength {
            output.append("Content-Length: ")
            output.append(decimal: length)
            output.append("\r\n")
        }
        if isChunked { output.append("Transfer-Encoding: chunked\r\n") }
        // TE is for one connection, so it is named by Connection (RFC 9110 section 10.1.4).
        if head.asksForTrailers(in: bytes) {
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
        var rest = rest(of: target, bytes)
        if rootIsBasePath, rest.path.count == 1 {
            rest.path = UnsafeRawBufferPointer(rebasing: rest.path[1...])
            rest.whole = UnsafeRawBufferPointer(rebasing: rest.whole[1...])
        }
        if basePath.isEmpty {
            if rest.path.isEmpty { output.append(ASCII.slash) }
        } else {
            basePath.withUnsafeBytes { output.append($0) }
        }
        guard let parameter, rest.path.count < rest.whole.count else {
            output.append(rest.whole)
            return
        }
        output.append(rest.path)
        parameter.write(
            UnsafeRawBufferPointer(rebasing: rest.whole[(rest.path.count + 1)...]), into: &output)
    }

    /// Whether the credential stands in the target, and `split` says where.
    package var injectsIntoTarget: Bool { parameter != nil }

    /// A head of this plan's, cut where the credential's parameter goes, and what stands before it. Nil
    /// for `*`, which has no place for one.
    package func split(
        _ written: UnsafeRawBufferPointer
    ) -> (before: UnsafeRawBufferPointer, separator: UInt8?, behind: UnsafeRawBufferPointer)? {
        guard let lineEnd = written.firstIndex(of: ASCII.carriageReturn),
            let start = written.firstIndex(of: ASCII.space)
        else { return nil }
        // The line ends with " HTTP/1.1".
        let end = lineEnd - 9
        let target = UnsafeRawBufferPointer(rebasing: written[(start + 1)..<end])
        guard target.first == ASCII.slash else { return nil }
        return (
            UnsafeRawBufferPointer(rebasing: written[..<end]),
            QueryParameter.separator(behind: target),
            UnsafeRawBufferPointer(rebasing: written[end...])
        )
    }
}

/// Who sent a request, for fields that tell the upstream.
package struct Caller {
    /// An address literal without brackets; "unknown" on a Unix socket (RFC 7239 section 6.2).
    package var address: String
    /// Whether the client spoke TLS to us.
    package var isSecure: Bool

    package init(address: String, isSecure: Bool) {
        self.address = address
        self.isSecure = isSecure
    }
}

extension HeaderPlan {
    /// Whether `writeRequest` wants to know the caller.
    package var tellsCaller: Bool { !callerFields.isEmpty }

    private func writeCaller(
        _ caller: Caller, _ head: borrowing MessageHead, _ target: RequestTarget,
        _ bytes: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        let authority =
            target.form == .absolute
            ? target.authority.bytes(in: bytes)
            : head.value(of: .host, in: bytes) ?? UnsafeRawBufferPointer(start: nil, count: 0)
        let scheme: StaticString = caller.isSecure ? "https" : "http"
        for field in callerFields {
            switch field {
            case .xForwardedFor:
                output.append(text: "X-Forwarded-For: \(caller.address)\r\n")
            case .xForwardedHost:
                if authority.isEmpty { continue }
                HeadWriter.appendField("X-Forwarded-Host", authority, into: &output)
            case .xForwardedProto:
                HeadWriter.appendField("X-Forwarded-Proto", scheme, into: &output)
            case .forwarded:
                // An IPv6 address needs brackets and so quotes (RFC 7239 section 6).
                let isV6 = caller.address.contains(":")
                output.append("Forwarded: for=")
                output.append(text: isV6 ? "\"[\(caller.address)]\"" : caller.address)
                if !authority.isEmpty {
                    output.append(";host=\"")
                    output.append(authority)
                    output.append("\"")
                }
                output.append(";proto=")
                output.append(scheme)
                output.append("\r\n")
            case .via: output.append("Via: 1.1 credential-proxy\r\n")
            }
        }
    }
}

extension MessageHead {
    /// How often an OPTIONS request may still be forwarded (RFC 9110 section 7.6.2); nil where it does not say.
    package func forwardsLeft(in bytes: UnsafeRawBufferPointer) -> UInt64? {
        guard method == .options, let value = value(of: .maxForwards, in: bytes), !value.isEmpty,
            value.allSatisfy(ASCII.isDigit)
        else { return nil }
        // More than anybody could mean is what we take for the most (the same section).
        return value.reduce(0) { min($0 * 10 + UInt64($1 &- ASCII.zero), 1000) }
    }

    /// What stands behind the question mark of the target; nil without one.
    func query(in bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        let text = target.bytes(in: bytes)
        guard let question = text.firstIndex(of: ASCII.question) else { return nil }
        return UnsafeRawBufferPointer(rebasing: text[(question + 1)...])
    }
}
