// What can be wrong with an HTTP/1 message. Facts only: which status answers an error, and whether a
// person is told, is decided where the connection is known.

/// Why bytes are no HTTP/1 message that may be passed on. After any of these, save those of
/// challenges, the connection cannot be read further, since where the next message starts is
/// unknown.
@usableFromInline
package enum WireError: Error, Hashable, Sendable {
    // The head as a whole.
    case headTooLarge(limit: Int)
    case tooManyFields(limit: Int)
    case tooManyConnectionOptions(limit: Int)
    /// A CR without its LF, or a LF without its CR (RFC 9112 section 2.2).
    case bareLineBreak
    /// A control byte other than a tab, NUL included (RFC 9110 section 5.5).
    case controlByte

    // The first line.
    case invalidRequestLine
    case invalidMethod
    case invalidTarget
    case invalidStatusLine
    case invalidStatus
    /// It is HTTP by its looks, but not HTTP/1.0 or HTTP/1.1.
    case unsupportedVersion

    // Field lines.
    case invalidFieldName
    /// A line that continues the one before (RFC 9112 section 5.2).
    case obsoleteFold
    case missingHost
    case duplicateHost
    /// HTTP/2: Host and :authority name different servers (RFC 9113 section 8.3.1).
    case authorityMismatch

    // The length of the body.
    case contentLengthWithTransferEncoding
    case invalidContentLength
    /// Two Content-Length fields or a list, whether or not the values agree.
    case duplicateContentLength
    /// Anything but one field that says exactly `chunked`.
    case unsupportedTransferEncoding
    case transferEncodingInHTTP10

    // The body.
    case invalidChunkSize
    case invalidChunkExtension
    case invalidChunkEnd
    case chunkLineTooLong(limit: Int)
    case trailersTooLarge(limit: Int)
    /// The peer closed before the message was whole.
    case truncated

    // Challenges; they leave the connection sound.
    case tooManyChallengeParts(limit: Int)
    /// A WWW-Authenticate or Proxy-Authenticate value that cannot be read.
    case invalidChallenge
}

extension WireError {
    /// Whether a limit of ours was met, rather than a rule of the protocol's broken.
    package var isTooLarge: Bool {
        switch self {
        case .headTooLarge, .tooManyFields, .tooManyConnectionOptions, .chunkLineTooLong,
            .trailersTooLarge, .tooManyChallengeParts:
            true
        case .bareLineBreak, .controlByte, .invalidRequestLine, .invalidMethod, .invalidTarget,
            .invalidStatusLine, .invalidStatus, .unsupportedVersion, .invalidFieldName,
            .obsoleteFold, .missingHost, .duplicateHost, .authorityMismatch,
            .contentLengthWithTransferEncoding,
            .invalidContentLength, .duplicateContentLength, .unsupportedTransferEncoding,
            .transferEncodingInHTTP10, .invalidChunkSize, .invalidChunkExtension, .invalidChunkEnd,
            .truncated, .invalidChallenge:
            false
        }
    }
}
