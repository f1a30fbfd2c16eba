// A listening TCP socket on loopback that another thread can close.

import Glibc
import Synchronization

/// Used by the accepting thread and by whoever stops it.
final class ListeningSocket: Sendable {
    let host: String
    let port: UInt16
    private let descriptor: Int32
    private let stopping: (reader: Int32, writer: Int32)
    private let isOpen = Mutex(true)

    /// Port 0 lets the kernel choose.
    init(host: String, port: UInt16) throws {
        let (listener, actualPort) = try Self.listen(host: host, port: port)
        let ends = try Descriptors.pipe()
        self.host = host
        self.port = actualPort
        descriptor = listener
        stopping = ends
    }

    private static func listen(host: String, port: UInt16) throws -> (Int32, UInt16) {
        let address = try SocketAddress(host: host, port: port)
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let descriptor = socket(address.family, kind, 0)
        guard descriptor >= 0 else { throw Failure.last("socket") }
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
        guard address.withPointer({ bind(descriptor, $0, $1) }) == 0 else {
            defer { Glibc.close(descriptor) }
            throw Failure.last("bind")
        }
        guard Glibc.listen(descriptor, 1024) == 0 else {
            defer { Glibc.close(descriptor) }
            throw Failure.last("listen")
        }
        return (descriptor, try SocketAddress.ofSocket(descriptor).port)
    }

    /// The next connection; nil once the socket is closed. The accepting thread gives the descriptor
    /// back, so that it cannot be reused under its feet.
    func accept() -> Int32? {
        while true {
            var entries = [
                pollfd(fd: stopping.reader, events: Int16(POLLIN), revents: 0),
                pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&entries, 2, -1)
            if count < 0 && errno == EINTR { continue }
            guard count > 0, entries[0].revents == 0 else { break }
            let connection = Glibc.accept(descriptor, nil, nil)
            if connection >= 0 {
                Descriptors.closeOnExec(connection)
                var on: Int32 = 1
                setsockopt(
                    connection, Int32(IPPROTO_TCP), TCP_NODELAY, &on,
                    socklen_t(MemoryLayout<Int32>.size))
                return connection
            }
        }
        Glibc.close(descriptor)
        Glibc.close(stopping.reader)
        return nil
    }

    func close() {
        isOpen.withLock { isOpen in
            guard isOpen else { return }
            isOpen = false
            // From here on the kernel refuses connections.
            shutdown(descriptor, Int32(SHUT_RDWR))
            Glibc.close(stopping.writer)
        }
    }
}

/// An IPv4 or IPv6 address literal and a port.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private let length: socklen_t

    var family: Int32 { Int32(storage.ss_family) }

    init(host: String, port: UInt16) throws {
        if host.unicodeScalars.contains(":") {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            guard inet_pton(AF_INET6, host, &address.sin6_addr) == 1 else {
                throw Failure.malformed("address \(host)")
            }
            length = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            guard inet_pton(AF_INET, host, &address.sin_addr) == 1 else {
                throw Failure.malformed("address \(host)")
            }
            length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) { target in
                withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
            }
        }
    }

    private init(_ storage: sockaddr_storage, _ length: socklen_t) {
        self.storage = storage
        self.length = length
    }

    static func ofSocket(_ descriptor: Int32) throws -> SocketAddress {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let code = withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                getsockname(descriptor, $0, &length)
            }
        }
        guard code == 0 else { throw Failure.last("getsockname") }
        return SocketAddress(storage, length)
    }

    /// Both families keep the port at the same place.
    var port: UInt16 {
        withUnsafeBytes(of: storage) {
            UInt16(bigEndian: $0.loadUnaligned(fromByteOffset: 2, as: UInt16.self))
        }
    }

    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }
}

extension String {
    /// The host as a URL writes it.
    package var bracketedIfIPv6: String { unicodeScalars.contains(":") ? "[\(self)]" : self }
}
