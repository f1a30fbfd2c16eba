// What one stream may do in a turn of its loop before the others of the turn come: a peer that sends without a
// pause, or in pieces of a byte, takes its own time and not theirs.

/// Sums up what one turn brings.
struct SharedTurn {
    private var turn = UInt64.max
    private var sum = 0

    /// Bytes that are read of a stream before it waits for the next turn.
    static let readBytesMax = 256 * 1024
    /// Writes that go out as they come. Ordinary messages make one or two in a turn.
    static let writesMax = 8

    /// The sum of the turn.
    mutating func add(_ amount: Int, in present: UInt64) -> Int {
        if turn != present {
            turn = present
            sum = 0
        }
        sum += amount
        return sum
    }
}
