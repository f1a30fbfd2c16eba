// Writes the head that goes to the client: the upstream's status and fields, framing and connection
// made for this client.

package import Bytes
package import HTTPWire

/// What the client's side of an exchange asks of a response's head.
package struct ClientTerms {
    /// The minor version of the client's request.
    package var minorVersion: UInt8
    /// Whether the connection to the client ends with this response.
    package var closes: Bool
    /// Host and port as the client wrote them, for a rewritten Location; where it is empty such a
    /// Location becomes a path.
    package var authority: UnsafeRawBufferPointer
    /// The allowed origin whose page asked; empty for any other client.
    package var origin = UnsafeRawBufferPointer(start: nil, count: 0)
    /// Whether the client speaks TLS to us, so that its URLs begin with https.
    package var isSecure: Bool
    /// HTTP/2 frames messages by itself: no field of the head does.
    package var isMultiplexed: Bool
    /// Whether trailers that the head announces are wanted more than a length, beside which HTTP/1 has no place for
    /// them.
    package var prefersTrailers = false

    package init(
        minorVersion: UInt8 = 1, closes: Bool = false,
        authority: UnsafeRawBufferPointer = .init(start: nil, count: 0), isSecure: Bool = false,
        isMultiplexed: Bool = false
    ) {
        self.minorVersion = minorVersion
        self.closes = closes
        self.authority = authority
        self.isSecure = isSecure
        self.isMultiplexed = isMultiplexed
    }
}

extension HeaderPlan {
    /// Writes everything but the CR LF that ends the head, and says how the body goes to the client:
    /// `.untilClose` where the connection must end with it, which the head then announces.
    ///
    /// - Parameter framing: how the body comes from the upstream; `.none` for a response to HEAD,
    ///   whose Content-Length is kept (RFC 9110 section 9.3.2).
    package func writeResponse(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, framing: BodyFraming,
        client: ClientTerms, into output: inout ByteBuffer
    ) -> BodyFraming {
        let isInterim = head.status < 200
        var clientFraming = framing
        var keepsLength = false
        var isChunked = false
        switch framing {
        case .none:
            // RFC 9110 section 8.6: never with 1xx and 204.
            keepsLength = !isInterim && head.status != 204
        case .length:
            isChunked = client.prefersTrailers && head.present.contains(.trailer)
            keepsLength = !isChunked
            if isChunked { clientFraming = .chunked }
        case .chunked, .untilClose:
            isChunked = client.minorVersion > 0
            clientFraming = isChunked ? .chunked : .untilClose
        }
        var closes = client.closes
        if case .untilClose = clientFraming { closes = true }

        output.reserve(head.length + client.authority.count + 128)
        writeStatusLine(head, bytes, into: &output)
        let rewrites = head.present.intersects(changedURLs)
        let rewritesCookies = cookies != nil && head.present.contains(.setCookie)
        let speaksToPage = !client.origin.isEmpty && !isInterim
        if rewrites || rewritesCookies || speaksToPage {
            var drops = speaksToPage ? pageDrops : responseDrops
            if rewrites { drops.insertKnown(changedURLs) }
            if rewritesCookies { drops.insertKnown(.setCookie) }
            FieldCopy.write(
                head, bytes, dropping: drops, keepsLength: keepsLength, keepsTrailer: isChunked,
                into: &output)
        } else {
            FieldCopy.write(
                head, bytes, dropping: responseDrops, keepsLength: keepsLength,
                keepsTrailer: isChunked, into: &output)
        }
        if rewrites { writeURLs(head, bytes, client, into: &output) }
        if rewritesCookies { writeCookies(head, bytes, client, into: &output) }
        if isInterim { return .none }
        if speaksToPage { PageAccess.writeFields(client.origin, into: &output) }
        responseLines.withUnsafeBytes { output.append($0) }
        if client.isMultiplexed { return clientFraming }
        if case .length(let count) = clientFraming, !head.present.contains(.contentLength) {
            output.append("Content-Length: ")
            output.append(decimal: count)
            output.append("\r\n")
        }
        if isChunked { output.append("Transfer-Encoding: chunked\r\n") }
        if head.status == 426, client.minorVersion > 0 { writeUpgrades(head, bytes, into: &output) }
        if closes {
            output.append("Connection: close\r\n")
        } else if client.minorVersion == 0 {
            output.append("Connection: keep-alive\r\n")
        }
        return clientFraming
    }

    private func writeStatusLine(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer,
        into output: inout ByteBuffer
    ) {
        output.append("HTTP/1.1 ")
        let status = UInt16(truncatingIfNeeded: head.status)
        output.append(ASCII.zero &+ UInt8(truncatingIfNeeded: status / 100))
        output.append(ASCII.zero &+ UInt8(truncatingIfNeeded: status / 10 % 10))
        output.append(ASCII.zero &+ UInt8(truncatingIfNeeded: status % 10))
        output.append(ASCII.space)
        output.append(head.reason.bytes(in: bytes))
        output.append("\r\n")
    }

    private func writeURLs(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientTerms,
        into output: inout ByteBuffer
    ) {
        for index in 0..<head.fieldCount {
            let field = head.fields[index]
            guard changedURLs.contains(field.known), !field.isNamedByConnection,
                !responseDrops.known.contains(field.known)
            else { continue }
            var value = field.value.bytes(in: bytes)
            output.append(field.name.bytes(in: bytes))
            output.append(": ")
            if field.known == .location, let location {
                let end = value.firstIndex { $0 == ASCII.question || $0 == 0x23 } ?? value.count
                let place = UnsafeRawBufferPointer(rebasing: value[..<end])
                if location.write(
                    place, authority: client.authority, isSecure: client.isSecure, into: &output)
                {
                    value = UnsafeRawBufferPointer(rebasing: value[end...])
                }
            }
            if let parameter {
                parameter.write(urlsIn: value, into: &output)
            } else {
                output.append(value)
            }
            output.append("\r\n")
        }
    }

    /// The protocols without which the upstream does not answer, which it must name and a client must hear
    /// (RFC 9110 section 15.5.22).
    private func writeUpgrades(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer,
        into output: inout ByteBuffer
    ) {
        guard head.present.contains(.upgrade) else { return }
        for index in 0..<head.fieldCount where head.fields[index].known == .upgrade {
            HeadWriter.appendField(head.fields[index], in: bytes, into: &output)
        }
        HeadWriter.appendField("Connection", "upgrade", into: &output)
    }

    private func writeCookies(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, _ client: ClientTerms,
        into output: inout ByteBuffer
    ) {
        for index in 0..<head.fieldCount {
            let field = head.fields[index]
            guard field.known == .setCookie, !field.isNamedByConnection else { continue }
            let value = field.value.bytes(in: bytes)
            output.append(field.name.bytes(in: bytes))
            output.append(": ")
            if cookies?.write(value, isSecure: client.isSecure, into: &output) != true {
                output.append(value)
            }
            output.append("\r\n")
        }
    }

    /// Whether a response sets a cookie that `rewrite_cookies` had to leave as it is, for the log.
    package func hasFixedCookie(
        _ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer, isSecure: Bool
    ) -> Bool {
        guard let cookies, head.present.contains(.setCookie) else { return false }
        for index in 0..<head.fieldCount where head.fields[index].known == .setCookie {
            let value = head.fields[index].value.bytes(in: bytes)
            if !cookies.canRewrite(value, isSecure: isSecure) { return true }
        }
        return false
    }
}
