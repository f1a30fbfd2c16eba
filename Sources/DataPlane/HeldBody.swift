// The decoded body of a request as far as it has come, kept so that it can be sent a second time. Beyond
// its limits it is let go and the body only streams.

import Bytes

/// Bytes of a request's body, and how many of them the current upstream connection was given.
struct HeldBody: ~Copyable {
    private var bytes = ByteBuffer()
    private(set) var sent = 0
    /// Whether everything since the body's first byte is here.
    private(set) var isWhole = true

    var count: Int { bytes.count }
    var hasUnsent: Bool { sent < bytes.count }

    /// What the current connection has not been given yet.
    var unsent: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: bytes.bytes[sent...])
    }

    mutating func append(_ data: UnsafeRawBufferPointer) {
        precondition(isWhole, "a body with a hole cannot grow")
        bytes.append(data)
    }

    mutating func markSent() { sent = bytes.count }

    /// Another connection will get it all again.
    mutating func rewind() {
        precondition(isWhole, "a body with a hole cannot be sent again")
        sent = 0
    }

    /// Lets the bytes go once the connection has them; the body cannot be replayed from then on.
    mutating func release() {
        precondition(!hasUnsent, "letting go of bytes that nobody has")
        bytes = ByteBuffer()
        sent = 0
        isWhole = false
    }

    mutating func reset() {
        if bytes.capacity > 0 { bytes = ByteBuffer() }
        sent = 0
        isWhole = true
    }
}

/// How much the held bodies of one worker may take together.
struct ReplayBudget {
    let perRequestMax: Int
    let totalMax: Int
    private(set) var used = 0

    init(perRequestMax: Int, totalMax: Int) {
        self.perRequestMax = perRequestMax
        self.totalMax = totalMax
    }

    /// Whether a body that holds `count` bytes may hold `more`.
    func fits(_ more: Int, holding count: Int) -> Bool {
        count + more <= perRequestMax && used + more <= totalMax
    }

    /// The same; if so they are counted.
    mutating func reserve(_ more: Int, holding count: Int) -> Bool {
        guard fits(more, holding: count) else { return false }
        used += more
        return true
    }

    mutating func give(back count: Int) { used -= count }
}
