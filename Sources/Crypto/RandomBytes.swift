// Randomness that nobody can guess, straight from the kernel: it survives a fork, needs no seeding
// and no OpenSSL.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

package import Bytes

package enum RandomBytes {
    /// Overwrites all of `target`.
    package static func fill(_ target: UnsafeMutableRawBufferPointer) {
        // getentropy(3) gives at most 256 bytes a call.
        var start = 0
        while start < target.count {
            let count = min(256, target.count - start)
            guard getentropy(target.baseAddress! + start, count) == 0 else {
                fatalError("the system gives no randomness")
            }
            start += count
        }
    }

    package static func make(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { target, initialized in
            fill(UnsafeMutableRawBufferPointer(target))
            initialized = count
        }
    }

    package static func secret(_ count: Int) -> SecretBytes {
        SecretBytes(count: count) { fill($0) }
    }
}
