// Reads what somebody pipes in or pastes, into memory that is wiped. It sets a limit and knows nothing
// of what the bytes mean.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why there is nothing to work with.
enum InputError: Error, Equatable {
    case empty
    case tooLarge(limit: Int)
    case unreadable(Int32)
}

/// Everything up to the end of the descriptor; blocks until then.
func readAllBlocking(_ descriptor: Int32, bytesMax: Int) throws(InputError) -> SecretBytes {
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: bytesMax + 1, alignment: 1)
    defer {
        wipe(block)
        block.deallocate()
    }
    var filled = 0
    while filled < block.count {
        let count = read(descriptor, block.baseAddress! + filled, block.count - filled)
        if count < 0 && errno == EINTR { continue }
        guard count >= 0 else { throw .unreadable(errno) }
        if count == 0 { break }
        filled += count
    }
    guard filled <= bytesMax else { throw .tooLarge(limit: bytesMax) }
    guard filled > 0 else { throw .empty }
    return SecretBytes(copying: UnsafeRawBufferPointer(rebasing: block[..<filled]))
}
