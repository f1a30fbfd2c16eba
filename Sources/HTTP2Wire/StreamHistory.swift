// What is remembered of a peer's streams that are over. nghttp2 ignores what comes on them, since a peer may
// not know yet that we have ended one; what a peer sends on a stream that it has ended itself is its own
// fault (RFC 9113 sections 5.1 and 5.1.1).

/// The last streams that a peer has ended, and numbers that it has passed over. Bounded: of what is long ago
/// nothing is known, and nothing said.
struct StreamHistory {
    private static let endedMax = 128
    private static let gapsMax = 16

    private var ended: [Int32] = []
    private var oldest = 0
    private var newestEnded: Int32 = 0
    private var gaps: [ClosedRange<Int32>] = []
    private var last: Int32 = -1

    /// A frame that may open a stream.
    mutating func noteHeaders(_ id: Int32) {
        guard id > last, id & 1 == 1 else { return }
        if id > last + 2 {
            if gaps.count == Self.gapsMax { gaps.removeFirst() }
            gaps.append((last + 2)...(id - 2))
        }
        last = id
    }

    /// A stream that the peer had ended or reset is closed.
    mutating func noteEnded(_ id: Int32) {
        newestEnded = max(newestEnded, id)
        if ended.count < Self.endedMax {
            ended.append(id)
        } else {
            ended[oldest] = id
            oldest = (oldest + 1) % Self.endedMax
        }
    }

    /// What is wrong with HEADERS or DATA on a stream that is not open; nil when nothing is, or when we
    /// cannot know.
    func judge(_ id: Int32) -> ErrorCode? {
        if gaps.contains(where: { $0.contains(id) }) { return .protocolError }
        // Streams that are about to be opened are newer than all that have ended, as a rule.
        return id <= newestEnded && ended.contains(id) ? .streamClosed : nil
    }
}
