// The client's end of an HTTP/2 connection: requests go out, responses come in.

import CNGHTTP2
import HTTPWire

/// A connection to a server that speaks HTTP/2. It never lets the server push.
package final class ClientSession: Session {
    /// The server has said that it will take no more streams.
    package private(set) var isGoingAway = false

    package init(_ limits: SessionLimits = SessionLimits()) {
        super.init(limits, isServer: false)
        submitSettings([
            (NGHTTP2_SETTINGS_ENABLE_PUSH, 0),
            (NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, limits.streamWindow),
            (NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, limits.head.headBytesMax),
        ])
    }

    /// How many more streams may be begun now. The server's limit and ours both count.
    package var capacity: Int {
        guard !isGoingAway, !isOver, nghttp2_session_check_request_allowed(handle) != 0 else {
            return 0
        }
        let theirs = nghttp2_session_get_remote_settings(
            handle, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
        return max(0, min(Int(theirs), limits.streamsMax) - streamCount)
    }

    /// Begins a request; `text` is the head of an HTTP/1.1 request, whose bytes are changed. Unless that
    /// ends it, `send` and `finish` follow. Nil when the connection takes none.
    ///
    /// - Parameter secretsFrom: where in `text` lines begin that are kept out of the compression table
    ///   (RFC 7541 section 7.1.3), as Authorization and DPoP are anywhere, and `neverIndexed`.
    package func request(
        _ text: UnsafeMutableRawBufferPointer, isSecure: Bool, endsStream: Bool,
        secretsFrom: Int = .max, neverIndexed: NeverIndexed = NeverIndexed()
    ) -> SessionStream? {
        guard
            fields.readRequest(
                text, isSecure: isSecure, secretsFrom: secretsFrom, neverIndexed)
        else { return nil }
        let stream = SessionStream(id: 0)
        let id = fields.withFields { fields in
            withProvider(of: stream, endsStream) {
                nghttp2_submit_request(
                    handle, nil, fields.baseAddress, fields.count, $0, stream.address)
            }
        }
        guard id > 0 else { return nil }
        stream.id = id
        stream.isOutputWhole = endsStream
        open(stream)
        return stream
    }

    override func note(_ event: NotedEvent) {
        if event.kind == .goingAway { isGoingAway = true }
        super.note(event)
    }

    /// Nothing more is asked of the server, and what was asked is still taken: others than those who flood answer
    /// the requests of many on one connection. Unless it goes on.
    override func endStrain() {
        if strain.isFarTooMuch { return super.endStrain() }
        if !isGoingAway { note(NotedEvent(.goingAway, code: .enhanceYourCalm)) }
    }

    /// Tells the server that the connection ends.
    package func goAway() { terminate(.none) }
}
