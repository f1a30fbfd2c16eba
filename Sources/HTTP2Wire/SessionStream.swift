// One stream of a session: what waits to be sent on it, and how far it has come.

import Bytes
import HTTPWire

/// A stream. It outlives its closing for as long as somebody keeps it, and is then of no more use.
package final class SessionStream {
    /// Odd.
    package internal(set) var id: Int32
    /// Whoever uses the session may keep its own object for the stream here, until the stream is closed.
    package var owner: AnyObject?
    /// The peer can send no more, neither can we.
    package internal(set) var isClosed = false
    /// The peer has broken a rule on it, and it is about to be reset.
    package internal(set) var isBroken = false
    /// The peer has sent all that it will.
    package internal(set) var hasEnded = false
    /// The client asks for another protocol on this stream (RFC 8441); its head says `Upgrade`.
    package internal(set) var isTunnel = false
    /// Whether the frame that opens the stream has left the session.
    package internal(set) var isBegun = false

    /// What the peer has marked so in its heads and trailers.
    package internal(set) var neverIndexed = NeverIndexed()

    /// Data to be sent.
    var output = ByteBuffer()
    /// No more data follows what is in `output`.
    var isOutputWhole = false
    /// Lines `name: value` CR LF to be sent behind the data.
    var trailers = ByteBuffer()
    /// What of them is to be marked.
    var trailersNeverIndexed = NeverIndexed()
    /// The session has found `output` empty and will not look again before it is told to.
    var isPaused = false
    /// Data did not leave in one frame.
    var isHeldBack = false
    /// The last frame has left the session.
    var isSent = false
    /// Once everything is sent the peer is to send nothing more either.
    var resetsWhenSent = false
    /// The head that came was the final one.
    var hasHead = false

    /// Among the session's open streams.
    var place = 0

    init(id: Int32) { self.id = id }

    /// What nghttp2 knows this stream by.
    var address: UnsafeMutableRawPointer {
        // SAFETY: whoever gives it away keeps the stream for as long as it may come back.
        Unmanaged.passUnretained(self).toOpaque()
    }

    static func at(_ address: UnsafeMutableRawPointer) -> SessionStream {
        // SAFETY: see `address`.
        Unmanaged<SessionStream>.fromOpaque(address).takeUnretainedValue()
    }

    /// Bytes that wait here to be sent.
    package var unsentCount: Int { output.count }

    /// Whether bytes or the end wait here to be sent.
    package var hasUnsent: Bool { !isSent && (isOutputWhole || !output.isEmpty) }
}
