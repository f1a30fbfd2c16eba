// Writes heads and chunk framing into a buffer. It copies what it is given: whoever calls it vouches
// that names are tokens and that values hold no line break.

package import Bytes

/// The pieces of an HTTP/1.1 message, in the order in which they are written.
package enum HeadWriter {
    /// `method SP target SP HTTP/1.1` CR LF.
    package static func appendRequestLine(
        method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer,
        into output: inout ByteBuffer
    ) {
        output.reserve(method.count &+ target.count &+ 12)
        output.append(method)
        output.append(ASCII.space)
        output.append(target)
        output.append(" HTTP/1.1\r\n")
    }

    /// `HTTP/1.1 SP status SP reason` CR LF; an HTTP/1.1 sender says so to HTTP/1.0 clients as well
    /// (RFC 9110 section 2.5). The status has three digits.
    package static func appendStatusLine(
        _ status: Int, reason: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        output.reserve(reason.count &+ 15)
        output.append("HTTP/1.1 ")
        output.append(decimal: UInt64(truncatingIfNeeded: status))
        output.append(ASCII.space)
        output.append(reason)
        output.append("\r\n")
    }

    /// The same with the usual reason phrase.
    package static func appendStatusLine(_ status: Int, into output: inout ByteBuffer) {
        let reason = StatusReason.phrase(status)
        appendStatusLine(
            status,
            reason: UnsafeRawBufferPointer(
                start: reason.utf8Start, count: reason.utf8CodeUnitCount), into: &output)
    }

    /// `name: value` CR LF.
    package static func appendField(
        _ name: StaticString, _ value: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        output.append(name)
        output.append(": ")
        output.append(value)
        output.append("\r\n")
    }

    /// `name: value` CR LF for a value that is known beforehand.
    package static func appendField(
        _ name: StaticString, _ value: StaticString, into output: inout ByteBuffer
    ) {
        appendField(
            name,
            UnsafeRawBufferPointer(start: value.utf8Start, count: value.utf8CodeUnitCount),
            into: &output)
    }

    /// A field as it came, with its line made tight.
    package static func appendField(
        _ field: HeadField, in bytes: UnsafeRawBufferPointer, into output: inout ByteBuffer
    ) {
        if field.isTight {
            output.append(field.line.bytes(in: bytes))
        } else {
            output.append(field.name.bytes(in: bytes))
            output.append(": ")
            output.append(field.value.bytes(in: bytes))
            output.append("\r\n")
        }
    }

    /// The field that tells the framing of a body; nothing where the body has none or ends with the
    /// connection.
    package static func appendFraming(_ framing: BodyFraming, into output: inout ByteBuffer) {
        switch framing {
        case .none, .untilClose: break
        case .length(let length):
            output.append("Content-Length: ")
            output.append(decimal: length)
            output.append("\r\n")
        case .chunked: output.append("Transfer-Encoding: chunked\r\n")
        }
    }

    /// The empty line that ends a head.
    package static func appendEnd(into output: inout ByteBuffer) {
        output.append("\r\n")
    }

    /// The size line of a chunk. A chunk of size 0 would end the body: it must not be written.
    package static func appendChunkHead(size: Int, into output: inout ByteBuffer) {
        precondition(size > 0, "a chunk of size 0 ends the body")
        output.append(hexadecimal: UInt64(truncatingIfNeeded: size))
        output.append("\r\n")
    }

    /// The line end behind the data of a chunk.
    package static func appendChunkEnd(into output: inout ByteBuffer) {
        output.append("\r\n")
    }

    /// The last chunk with the trailer section; `trailers` are whole lines (`BodyReader.trailers`).
    package static func appendLastChunk(
        trailers: UnsafeRawBufferPointer = UnsafeRawBufferPointer(start: nil, count: 0),
        into output: inout ByteBuffer
    ) {
        output.append("0\r\n")
        output.append(trailers)
        output.append("\r\n")
    }
}
