// How long a body is (RFC 9112 section 6.3). Where two readers could disagree there is no answer, only
// an error: a proxy that attaches credentials must never guess.

import Bytes

/// Where a body ends.
@usableFromInline
@frozen
package enum BodyFraming: Hashable, Sendable {
    case none
    /// That many bytes; at most `Int64.max`.
    case length(UInt64)
    case chunked
    /// Responses only: until the peer closes.
    case untilClose
}

extension MessageHead {
    private static var framingFields: KnownFieldSet { [.contentLength, .transferEncoding] }

    /// The framing of a request's body. Content-Length and Transfer-Encoding together are refused,
    /// although section 6.1 would allow to prefer the latter.
    package func requestFraming(
        in bytes: UnsafeRawBufferPointer
    ) throws(WireError) -> BodyFraming {
        guard present.intersects(Self.framingFields) else { return .none }
        guard present.contains(.transferEncoding) else {
            return .length(try contentLength(in: bytes) ?? 0)
        }
        if present.contains(.contentLength) { throw .contentLengthWithTransferEncoding }
        try checkTransferEncoding(in: bytes)
        return .chunked
    }

    /// The framing of the body of a response to a request of that method. 1xx, 204 and 304 and every
    /// answer to HEAD have none, whatever their fields say. What follows a 101 or an answer to
    /// CONNECT is no body and not framed here.
    ///
    /// Of Content-Length and Transfer-Encoding together the latter holds, since servers do send both;
    /// `persists` is then false, and the Content-Length must not be passed on.
    package func responseFraming(
        in bytes: UnsafeRawBufferPointer, to request: Method
    ) throws(WireError) -> BodyFraming {
        if status < 200 || status == 204 { return .none }
        guard request != .head, status != 304 else {
            _ = try contentLength(in: bytes)
            return .none
        }
        guard present.intersects(Self.framingFields) else { return .untilClose }
        if present.contains(.transferEncoding) {
            try checkTransferEncoding(in: bytes)
            return .chunked
        }
        return .length(try contentLength(in: bytes) ?? 0)
    }

    /// What Content-Length says, even where it is not the length of a body, as in an answer to HEAD.
    package func contentLength(in bytes: UnsafeRawBufferPointer) throws(WireError) -> UInt64? {
        guard let value = value(of: .contentLength, in: bytes) else { return nil }
        if repeated.contains(.contentLength) { throw .duplicateContentLength }
        // Nineteen digits cannot overflow 64 bits without sign.
        guard !value.isEmpty, value.count <= 19 || value.contains(ASCII.comma) else {
            throw .invalidContentLength
        }
        var length: UInt64 = 0
        for byte in value {
            guard ASCII.isDigit(byte) else {
                throw byte == ASCII.comma ? .duplicateContentLength : .invalidContentLength
            }
            length = length &* 10 &+ UInt64(byte &- ASCII.zero)
        }
        guard length <= UInt64(Int64.max) else { throw .invalidContentLength }
        return length
    }

    /// Only one field that says `chunked` in any case is understood. `gzip, chunked` would be legal;
    /// we never ask for it (RFC 9110 section 10.1.4) and could not pass it on.
    private func checkTransferEncoding(in bytes: UnsafeRawBufferPointer) throws(WireError) {
        if minorVersion == 0 { throw .transferEncodingInHTTP10 }
        guard !repeated.contains(.transferEncoding),
            let value = value(of: .transferEncoding, in: bytes),
            ASCII.equalsIgnoringCase(value, "chunked")
        else { throw .unsupportedTransferEncoding }
    }
}
