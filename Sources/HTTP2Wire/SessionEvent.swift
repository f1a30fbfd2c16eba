// What a session tells of its peer's bytes.

package import HTTPWire

/// Something that happened, in order. Texts are ranges of `Session.text`; bytes and texts are lent for the
/// length of the delivery.
package enum SessionEvent {
    /// A request's head, or the final one of a response, as the text of an HTTP/1.1 head with its empty
    /// line. With a flaw the text is incomplete and the message must be refused.
    case head(SessionStream, Range<Int>, endsStream: Bool, flaw: WireError?)
    /// Client sessions: an interim response's head.
    case interim(SessionStream, Range<Int>)
    /// A piece of a body. The peer's window on this stream stays smaller by it until `consume`.
    case data(SessionStream, UnsafeRawBufferPointer, endsStream: Bool)
    /// The trailer section, as lines; it ends the message. Fields that it may not carry were left out.
    case trailers(SessionStream, Range<Int>)
    /// All that was given to the stream is in the session's frames, and more may be given.
    case drained(SessionStream)
    /// The last event of a stream.
    case closed(SessionStream, ErrorCode)
    /// The peer will open no more streams, or take no more of ours; or it is asked for no more.
    case goingAway(ErrorCode)
}
