// A body that may be a token, gathered without leaving copies behind.

import Bytes

/// Grows up to a limit; storage that it leaves is wiped.
struct SecretCollector: ~Copyable {
    private var storage: UnsafeMutableRawBufferPointer
    private var count = 0
    private let limit: Int

    init(limit: Int) {
        storage = .allocate(byteCount: 0, alignment: 1)
        self.limit = limit
    }

    deinit {
        wipe(storage)
        storage.deallocate()
    }

    /// False when the bytes would go beyond the limit; nothing is kept of them then.
    mutating func append(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.count <= limit - count else { return false }
        if bytes.count > storage.count - count {
            let larger = UnsafeMutableRawBufferPointer.allocate(
                byteCount: max(4096, storage.count * 2, count + bytes.count), alignment: 1)
            larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: storage[..<count]))
            wipe(storage)
            storage.deallocate()
            storage = larger
        }
        UnsafeMutableRawBufferPointer(rebasing: storage[count...]).copyMemory(from: bytes)
        count += bytes.count
        return true
    }

    /// A copy of what was gathered.
    var secret: SecretBytes {
        SecretBytes(copying: UnsafeRawBufferPointer(rebasing: storage[..<count]))
    }
}
