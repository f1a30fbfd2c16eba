// Finds the DATA frames in what a peer sends (RFC 9113 section 4.1). nghttp2 drops those on streams that are
// closed and tells nobody; by comparing what came with what nghttp2 began, they are noticed all the same. Heads
// on streams that are refused are dropped as well, and so are frames of unknown kinds: both are noted here too.

/// Walks over the frames of a connection by their lengths; holds no payload.
struct DataFrames {
    /// Bytes before the next header.
    private var skipped: Int
    /// How much of a header has come.
    private var headerCount = 0
    private var length = 0
    private var kind: UInt8 = 0
    private var stream: UInt32 = 0
    /// Streams of DATA frames that nghttp2 has not begun.
    private var coming: [Int32] = []
    /// Of those, where the next is that it may begin.
    private var next = 0
    private(set) var dropped: [Int32] = []
    /// Frames of kinds that RFC 9113 does not know. nghttp2 skips them and tells nobody.
    private var unknownCount = 0

    private static let headerBytes = 9

    /// - Parameter preface: how many bytes come before the first frame.
    init(behind preface: Int) { skipped = preface }

    /// Looks at bytes that nghttp2 is about to read.
    mutating func read(_ bytes: UnsafeRawBufferPointer, noting history: inout StreamHistory) {
        var offset = 0
        while offset < bytes.count {
            if skipped > 0 {
                let step = min(skipped, bytes.count - offset)
                skipped -= step
                offset += step
                continue
            }
            take(bytes[offset], &history)
            offset += 1
        }
    }

    private mutating func take(_ byte: UInt8, _ history: inout StreamHistory) {
        switch headerCount {
        case 0: length = Int(byte)
        case 1, 2: length = length &<< 8 | Int(byte)
        case 3: kind = byte
        case 4: stream = 0
        default: stream = stream &<< 8 | UInt32(byte)
        }
        headerCount += 1
        guard headerCount == Self.headerBytes else { return }
        headerCount = 0
        skipped = length
        let id = Int32(bitPattern: stream & 0x7FFF_FFFF)
        switch kind {
        case 0: coming.append(id)
        case 1: history.noteHeaders(id)
        case 10...: unknownCount += 1
        default: break
        }
    }

    /// nghttp2 begins a DATA frame; those before it that it has not begun were dropped.
    mutating func begin(_ id: Int32) {
        while next < coming.count {
            next += 1
            if coming[next - 1] == id { return }
            dropped.append(coming[next - 1])
        }
    }

    /// nghttp2 has read everything that was looked at: what it has not begun by now it has dropped.
    mutating func settle() {
        if next < coming.count { dropped += coming[next...] }
        coming.removeAll(keepingCapacity: coming.count <= 64)
        next = 0
    }

    mutating func forgetDropped() { dropped.removeAll() }

    /// How many there were since the last call.
    mutating func takeUnknown() -> Int {
        defer { unknownCount = 0 }
        return unknownCount
    }
}
