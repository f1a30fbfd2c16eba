// Why a stream or a connection of HTTP/2 ends (RFC 9113 section 7).

/// An error code as it stands in RST_STREAM and GOAWAY; a peer may send others than these.
package struct ErrorCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static let none = ErrorCode(rawValue: 0)
    package static let protocolError = ErrorCode(rawValue: 1)
    package static let internalError = ErrorCode(rawValue: 2)
    package static let flowControlError = ErrorCode(rawValue: 3)
    package static let streamClosed = ErrorCode(rawValue: 5)
    package static let frameSizeError = ErrorCode(rawValue: 6)
    /// Nothing was done for the stream; the request may be sent again (section 8.7).
    package static let refusedStream = ErrorCode(rawValue: 7)
    package static let cancel = ErrorCode(rawValue: 8)
    package static let connectError = ErrorCode(rawValue: 10)
    package static let enhanceYourCalm = ErrorCode(rawValue: 11)
    package static let http11Required = ErrorCode(rawValue: 13)
}
