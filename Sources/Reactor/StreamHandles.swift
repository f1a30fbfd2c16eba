// Where libuv keeps what it knows of a stream. libuv holds on to these addresses until a handle is closed.

import CUV

/// libuv's structures and the deadline node: one allocation that never moves.
struct StreamHandles {
    let tcp: UnsafeMutablePointer<uv_tcp_t>
    let write: UnsafeMutablePointer<uv_write_t>
    let shutdown: UnsafeMutablePointer<uv_shutdown_t>
    let node: UnsafeMutablePointer<DeadlineNode>

    init() {
        func padded(_ size: Int) -> Int { (size + 15) & ~15 }
        let write = padded(MemoryLayout<uv_tcp_t>.size)
        let shutdown = write + padded(MemoryLayout<uv_write_t>.size)
        let node = shutdown + padded(MemoryLayout<uv_shutdown_t>.size)
        let block = UnsafeMutableRawPointer.allocate(
            byteCount: node + MemoryLayout<DeadlineNode>.size, alignment: 16)
        tcp = block.bindMemory(to: uv_tcp_t.self, capacity: 1)
        self.write = (block + write).bindMemory(to: uv_write_t.self, capacity: 1)
        self.shutdown = (block + shutdown).bindMemory(to: uv_shutdown_t.self, capacity: 1)
        self.node = (block + node).bindMemory(to: DeadlineNode.self, capacity: 1)
    }

    var stream: UnsafeMutablePointer<uv_stream_t> {
        UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_stream_t.self)
    }

    var handle: UnsafeMutablePointer<uv_handle_t> {
        UnsafeMutableRawPointer(tcp).assumingMemoryBound(to: uv_handle_t.self)
    }

    func deallocate() { UnsafeMutableRawPointer(tcp).deallocate() }
}
