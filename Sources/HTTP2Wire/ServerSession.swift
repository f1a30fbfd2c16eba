// The server's end of an HTTP/2 connection: requests come in, responses go out.

import CNGHTTP2
import HTTPWire

/// A connection with a client that speaks HTTP/2. It expects the client's preface first.
package final class ServerSession: Session {
    package init(_ limits: SessionLimits = SessionLimits()) {
        super.init(limits, isServer: true)
        submitSettings([
            (NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, limits.streamsMax),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.head.headBytesMax),
            (NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1),
        ])
    }

    /// What every HTTP/2 connection of a client begins with (RFC 9113 section 3.4).
    package static let preface: StaticString = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

    /// Whether bytes from the beginning of a connection are, or may become, HTTP/2; nil while both are
    /// possible.
    package static func isPreface(_ bytes: UnsafeRawBufferPointer) -> Bool? {
        let count = min(bytes.count, preface.utf8CodeUnitCount)
        for index in 0..<count where bytes[index] != preface.utf8Start[index] { return false }
        return count == preface.utf8CodeUnitCount ? true : nil
    }

    /// Sends an interim response; `text` is the head of an HTTP/1.1 response, whose bytes are changed.
    package func sendInterim(
        _ text: UnsafeMutableRawBufferPointer, on stream: SessionStream,
        neverIndexed: NeverIndexed = NeverIndexed()
    ) {
        guard !stream.isClosed, fields.readResponse(text, neverIndexed) else { return }
        fields.withFields { fields in
            _ = nghttp2_submit_headers(
                handle, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), stream.id, nil,
                fields.baseAddress, fields.count, nil)
        }
    }

    /// Sends the head of a response; unless that ends the stream, `send` and `finish` follow.
    package func sendHead(
        _ text: UnsafeMutableRawBufferPointer, on stream: SessionStream, endsStream: Bool,
        neverIndexed: NeverIndexed = NeverIndexed()
    ) {
        guard !stream.isClosed, fields.readResponse(text, neverIndexed) else { return }
        if stream.isTunnel { fields.agreeToTunnel() }
        if endsStream { stream.isOutputWhole = true }
        fields.withFields { fields in
            withProvider(of: stream, endsStream) {
                _ = nghttp2_submit_response(handle, stream.id, fields.baseAddress, fields.count, $0)
            }
        }
    }

    /// The client need not go on with its request: once the response is out the stream is reset without an
    /// error (RFC 9113 section 8.1).
    package func stopRequest(_ stream: SessionStream) {
        guard !stream.hasEnded, !stream.isClosed else { return }
        stream.resetsWhenSent = true
        if stream.isSent { reset(stream, .none) }
    }

    /// Says that `goAway` will follow; streams are accepted until then (RFC 9113 section 6.8).
    package func announceEnd() { nghttp2_submit_shutdown_notice(handle) }

    /// No stream is accepted from now on; those that are open go on.
    package func goAway() {
        let last = nghttp2_session_get_last_proc_stream_id(handle)
        nghttp2_submit_goaway(
            handle, UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue), last,
            ErrorCode.none.rawValue, nil, 0)
    }
}

extension Session {
    /// What nghttp2 is told of a connection; to be freed when it knows.
    static func makeOptions(_ limits: SessionLimits, isServer: Bool) -> OpaquePointer {
        var made: OpaquePointer?
        guard nghttp2_option_new(&made) == 0, let options = made else {
            preconditionFailure("out of memory")
        }
        nghttp2_option_set_no_auto_window_update(options, 1)
        // Closed streams are of use to RFC 7540's priorities alone, which nobody uses.
        nghttp2_option_set_no_closed_streams(options, 1)
        // Resets are counted by Strain, with a clock that is given.
        nghttp2_option_set_stream_reset_rate_limit(options, 1 << 20, 1 << 20)
        // Heads of responses may be larger than nghttp2 thinks fit; ours are limited where they come from.
        nghttp2_option_set_max_send_header_block_length(options, 1 << 20)
        // A head within our limit comes in as many frames as its sender likes, within reason; nghttp2 would
        // have eight behind the first.
        nghttp2_option_set_max_continuations(options, 8 + limits.head.headBytesMax / 4096)
        guard !isServer else { return options }
        // Until the server has said how many streams it takes.
        nghttp2_option_set_peer_max_concurrent_streams(options, 100)
        // Servers do send blanks around values, which section 8.2.1 forbids and HTTP/1 removes.
        nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(options, 1)
        return options
    }

    func submitSettings(_ settings: [(id: nghttp2_settings_id, value: Int)]) {
        let entries = settings.map { setting in
            nghttp2_settings_entry(
                settings_id: Int32(bitPattern: setting.id.rawValue),
                value: UInt32(clamping: setting.value))
        }
        let flags = UInt8(truncatingIfNeeded: NGHTTP2_FLAG_NONE.rawValue)
        nghttp2_submit_settings(handle, flags, entries, entries.count)
        nghttp2_session_set_local_window_size(
            handle, flags, 0, Int32(clamping: limits.connectionWindow))
    }
}
