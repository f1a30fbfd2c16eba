// The parts of a request's target that routes are about. Nothing is decoded, and no part of a target
// ever says where a request goes: that is the route's to say.

import Bytes
import HTTPWire

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension RequestTarget {
    /// The path without its query.
    @inline(__always)
    package func pathAlone(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        let whole = path.bytes(in: bytes)
        guard let base = whole.baseAddress,
            let query = memchr(base, Int32(ASCII.question), whole.count)
        else { return whole }
        return UnsafeRawBufferPointer(start: base, count: UnsafeRawPointer(query) - base)
    }

    /// The port that an authority without one means: https differs from http by one letter.
    var defaultPort: UInt16 { scheme.count == 5 ? 443 : 80 }
}
