// Storage for buffers that come and go with each request, so that a busy worker allocates nothing and an
// idle connection holds nothing.

/// Keeps storage of emptied buffers for the next user. One thread at a time.
package struct BlockPool: ~Copyable {
    private var blocks: [UnsafeMutableRawPointer] = []
    private let blockBytes: Int
    private let blocksMax: Int

    /// At most `blocksMax` blocks of `blockBytes` are kept.
    package init(blockBytes: Int, blocksMax: Int) {
        self.blockBytes = blockBytes
        self.blocksMax = blocksMax
        blocks.reserveCapacity(blocksMax)
    }

    deinit { for block in blocks { block.deallocate() } }

    /// An empty buffer with room for a block.
    package mutating func take() -> ByteBuffer {
        guard let block = blocks.popLast() else { return ByteBuffer(capacity: blockBytes) }
        return ByteBuffer(adopting: block, capacity: blockBytes)
    }

    /// Takes a buffer's storage back; one that has grown is freed instead.
    package mutating func give(_ buffer: consuming ByteBuffer) {
        guard buffer.capacity == blockBytes, blocks.count < blocksMax else { return }
        blocks.append(buffer.relinquish())
    }
}

extension ByteBuffer {
    init(adopting block: UnsafeMutableRawPointer, capacity: Int) {
        self.init()
        base = block
        self.capacity = capacity
    }

    /// Its storage, which is the caller's to free from here on.
    consuming func relinquish() -> UnsafeMutableRawPointer {
        let block = base
        base = Self.nowhere
        capacity = 0
        return block
    }
}
