// What the kernel knows of the other end of a socket. It asks and judges nothing.

import CUV
import Glibc

package enum PeerFacts {
    /// An IPv4 or IPv6 literal.
    static func address(_ descriptor: Int32) -> String? {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            guard getpeername(descriptor, raw.assumingMemoryBound(to: sockaddr.self), &size) == 0
            else { return nil }
            return literal(&storage.pointee)
        }
    }

    /// The address of a socket address as text; nil for another family than IPv4 and IPv6.
    static func literal(_ storage: inout sockaddr_storage) -> String? {
        let family = Int32(storage.ss_family)
        return withUnsafeMutablePointer(to: &storage) { storage in
            let raw = UnsafeMutableRawPointer(storage)
            return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
                guard let base = text.baseAddress else { return nil }
                let result: Int32
                switch family {
                case AF_INET:
                    result = uv_ip4_name(raw.assumingMemoryBound(to: sockaddr_in.self), base, 64)
                case AF_INET6:
                    result = uv_ip6_name(raw.assumingMemoryBound(to: sockaddr_in6.self), base, 64)
                default: return nil
                }
                return result == 0 ? String(cString: base) : nil
            }
        }
    }

    static func isUnix(_ descriptor: Int32) -> Bool {
        var domain: Int32 = 0
        var size = socklen_t(MemoryLayout.size(ofValue: domain))
        return getsockopt(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &size) == 0
            && domain == AF_UNIX
    }

    /// The user of a Unix socket's peer.
    package static func user(_ descriptor: Int32) -> UInt32? {
        // struct ucred: process, user, group.
        var facts: (Int32, UInt32, UInt32) = (0, .max, .max)
        var size = socklen_t(MemoryLayout.size(ofValue: facts))
        guard getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &facts, &size) == 0,
            facts.0 != 0
        else { return nil }
        return facts.1
    }
}
