// What one HTTP/2 connection may cost, by name.

package import HTTPWire

/// The limits that a session keeps its peer to. A peer learns the first four from our SETTINGS.
package struct SessionLimits: Hashable, Sendable {
    /// Streams that the peer may have open at once; more are refused unseen.
    package var streamsMax = 128
    /// Bytes of a body that the peer may send on one stream before we have taken any.
    package var streamWindow = 64 * 1024
    /// The same for all streams together. Bytes count here only until they are read off the connection, so
    /// that a stream whose body goes nowhere holds up no other.
    package var connectionWindow = 1 << 20
    /// Of a head: as text, and how many fields (RFC 9113 section 10.5.1).
    package var head = HeadLimits.standard
    package var trailerBytesMax = 16 * 1024
    /// What a peer may do without getting anything done, such as resets, pings and empty frames: that
    /// many at once, and so many more in each second.
    package var strainMax = 1000
    package var strainPerSecond = 100

    package init() {}
}
