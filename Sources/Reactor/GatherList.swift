// The pieces of one write, in order. Pieces are borrowed: they must stay as they are until the stream
// has taken them, which happens in the same turn.

import CUV

/// At most eight pieces for one writev(2).
struct GatherList: ~Copyable {
    static let piecesMax = 8
    private let pieces = UnsafeMutablePointer<uv_buf_t>.allocate(capacity: piecesMax)
    private(set) var count = 0
    private(set) var byteCount = 0

    deinit { pieces.deallocate() }

    mutating func add(_ bytes: UnsafeRawBufferPointer) {
        guard let base = bytes.baseAddress, bytes.count > 0 else { return }
        precondition(count < Self.piecesMax, "a write has at most \(Self.piecesMax) pieces")
        pieces[count] = uv_buf_t(
            base: UnsafeMutablePointer(mutating: base.assumingMemoryBound(to: CChar.self)),
            len: bytes.count)
        count &+= 1
        byteCount &+= bytes.count
    }

    mutating func removeAll() {
        count = 0
        byteCount = 0
    }

    /// Drops bytes from the front, after a partial write.
    mutating func consume(_ bytes: Int) {
        byteCount &-= bytes
        var rest = bytes
        var first = 0
        while rest > 0 && rest >= pieces[first].len {
            rest -= pieces[first].len
            first += 1
        }
        if rest > 0 {
            let piece = pieces + first
            piece.pointee.base += rest
            piece.pointee.len -= rest
        }
        for index in first..<count { pieces[index - first] = pieces[index] }
        count -= first
    }

    func withPieces<Result>(_ body: (UnsafeMutablePointer<uv_buf_t>, UInt32) -> Result) -> Result {
        body(pieces, UInt32(count))
    }

    subscript(index: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: pieces[index].base, count: pieces[index].len)
    }
}
