// A bound, listening socket, made before any worker runs so that a port in use is known at once. It never
// falls back to another address or port, and never shares its port with another process.

import CUV
import Glibc

/// A listening socket that workers share; it stays open until `close`.
package struct ListenSocket: Sendable {
    package let descriptor: Int32
    /// The port that it got; the one asked for unless that was 0. 0 for a Unix socket.
    package let port: UInt16
    /// The address literal it is bound to, without brackets, or the path of a Unix socket.
    package let address: String
    package let isUnix: Bool
    /// The socket file that is ours to remove.
    let file: FileIdentity?
    /// Whether a service manager has opened it, and keeps it when we go.
    package var isInherited = false

    /// Whether only this machine can reach it.
    package var isLocal: Bool { isUnix || address == "::1" || address.hasPrefix("127.") }

    package static let backlog: Int32 = 1024

    /// Binds an IPv4 or IPv6 address literal (tcp(7), ipv6(7)); an IPv6 one takes no IPv4.
    package static func bind(address: String, port: UInt16) throws(ReactorError) -> ListenSocket {
        var storage = sockaddr_storage()
        let isV6 = address.contains(":")
        try withUnsafeMutablePointer(to: &storage) { storage throws(ReactorError) in
            let raw = UnsafeMutableRawPointer(storage)
            if isV6 {
                try check(
                    uv_ip6_addr(
                        address, Int32(port), raw.assumingMemoryBound(to: sockaddr_in6.self)))
            } else {
                try check(
                    uv_ip4_addr(address, Int32(port), raw.assumingMemoryBound(to: sockaddr_in.self))
                )
            }
        }
        let type =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(isV6 ? AF_INET6 : AF_INET, type, 0)
        guard descriptor >= 0 else { throw ReactorError(code: -errno) }
        do throws(ReactorError) {
            try setOption(descriptor, SOL_SOCKET, SO_REUSEADDR, 1)
            if isV6 { try setOption(descriptor, Int32(IPPROTO_IPV6), IPV6_V6ONLY, 1) }
            var size = socklen_t(
                isV6 ? MemoryLayout<sockaddr_in6>.size : MemoryLayout<sockaddr_in>.size)
            let bound = withSocketAddress(&storage) { Glibc.bind(descriptor, $0, size) }
            guard bound == 0, listen(descriptor, backlog) == 0 else {
                throw ReactorError(code: -errno)
            }
            size = socklen_t(MemoryLayout<sockaddr_storage>.size)
            guard withSocketAddress(&storage, { getsockname(descriptor, $0, &size) }) == 0 else {
                throw ReactorError(code: -errno)
            }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        // The port has the same place in both kinds of address.
        let actual = withUnsafeBytes(of: &storage) { bytes in
            UInt16(bytes[2]) << 8 | UInt16(bytes[3])
        }
        return ListenSocket(
            descriptor: descriptor, port: actual, address: address, isUnix: false, file: nil)
    }

    /// Removes a socket file too, unless another has taken its path by now.
    package func close() {
        if let file, FileIdentity(address) == file { unlink(address) }
        Glibc.close(descriptor)
    }
}

private func setOption(
    _ descriptor: Int32, _ level: Int32, _ name: Int32, _ value: Int32
) throws(ReactorError) {
    var value = value
    let size = socklen_t(MemoryLayout<Int32>.size)
    guard setsockopt(descriptor, level, name, &value, size) == 0 else {
        throw ReactorError(code: -errno)
    }
}

private func withSocketAddress(
    _ storage: inout sockaddr_storage, _ body: (UnsafeMutablePointer<sockaddr>) -> Int32
) -> Int32 {
    withUnsafeMutablePointer(to: &storage) {
        body(UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self))
    }
}
