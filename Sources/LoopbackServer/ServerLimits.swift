// What one client, and all of them together, may cost the server.

package import HTTPWire

/// Sizes in bytes, times in milliseconds.
package struct ServerLimits: Sendable {
    package var head: HeadLimits
    package var bodyBytesMax: Int
    /// Beyond it the connection that has kept silent for the longest makes room.
    package var connectionsMax: Int
    /// From the accept, or from the first byte of a later request, to the end of its head.
    package var headMilliseconds: UInt64
    /// From the end of the head to the end of the body.
    package var bodyMilliseconds: UInt64
    /// Between two requests.
    package var idleMilliseconds: UInt64
    /// Without the client taking a byte of its answer.
    package var writeMilliseconds: UInt64
    /// How long a closing connection is read and ignored, so that the client gets its last answer.
    package var lingerMilliseconds: UInt64

    package init(
        head: HeadLimits = .standard, bodyBytesMax: Int = 1 << 20, connectionsMax: Int = 128,
        headMilliseconds: UInt64 = 10_000, bodyMilliseconds: UInt64 = 30_000,
        idleMilliseconds: UInt64 = 60_000, writeMilliseconds: UInt64 = 30_000,
        lingerMilliseconds: UInt64 = 1000
    ) {
        self.head = head
        self.bodyBytesMax = bodyBytesMax
        self.connectionsMax = connectionsMax
        self.headMilliseconds = headMilliseconds
        self.bodyMilliseconds = bodyMilliseconds
        self.idleMilliseconds = idleMilliseconds
        self.writeMilliseconds = writeMilliseconds
        self.lingerMilliseconds = lingerMilliseconds
    }

    package static let standard = ServerLimits()
}
