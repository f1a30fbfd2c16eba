// The few socket calls that the server makes, with their differences between systems. Codes come back
// as the system gives them.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Storage for an address of either family.
struct SocketAddress {
    private var storage = sockaddr_storage()
    private var size: socklen_t

    init() {
        size = socklen_t(MemoryLayout<sockaddr_storage>.size)
    }

    init(loopbackV6 isV6: Bool, port: UInt16) {
        if isV6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_addr = in6addr_loopback
            size = socklen_t(MemoryLayout<sockaddr_in6>.size)
            withUnsafeMutableBytes(of: &storage) { storage in
                withUnsafeBytes(of: &address) { storage.copyMemory(from: $0) }
            }
        } else {
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr = in_addr(s_addr: UInt32(0x7F00_0001).bigEndian)
            size = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutableBytes(of: &storage) { storage in
                withUnsafeBytes(of: &address) { storage.copyMemory(from: $0) }
            }
        }
        #if canImport(Darwin)
            storage.ss_len = UInt8(size)
        #endif
    }

    /// Both kinds of address have their port behind two bytes.
    var port: UInt16 {
        withUnsafeBytes(of: storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
    }

    mutating func withPointer<Result>(
        _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        let size = size
        return withUnsafePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    /// Lets a call fill the address in.
    mutating func read<Result>(
        _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> Result
    ) -> Result {
        size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        return withUnsafeMutablePointer(to: &storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &size) }
        }
    }
}

func openStreamSocket(_ family: Int32) -> Int32 {
    #if canImport(Glibc)
        let flags = SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue
        return socket(family, Int32(flags), 0)
    #else
        let descriptor = socket(family, SOCK_STREAM, 0)
        if descriptor >= 0 { makePrivate(descriptor) }
        return descriptor
    #endif
}

/// A connection of the listening socket's, not blocking; -1 with `errno` when there is none.
///
/// accept4(2) is not visible to Swift, so a child that is started between the two calls could inherit
/// the socket. `closeConnection` makes that harmless.
func acceptConnection(_ listener: Int32, _ peer: inout SocketAddress) -> Int32 {
    let descriptor = peer.read { accept(listener, $0, &$1) }
    guard descriptor >= 0 else { return -1 }
    makePrivate(descriptor)
    #if canImport(Darwin)
        _ = setOption(descriptor, SOL_SOCKET, SO_NOSIGPIPE)
    #endif
    _ = setOption(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY)
    return descriptor
}

/// Ends a connection for the peer, whoever else may hold a copy of its socket.
func closeConnection(_ descriptor: Int32) {
    _ = shutdown(descriptor, Int32(SHUT_RDWR))
    closeDescriptor(descriptor)
}

/// A pipe whose reading end wakes a poll. Both ends are private and do not block.
func openWakePipe() -> (reading: Int32, writing: Int32)? {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { return nil }
    makePrivate(ends[0])
    makePrivate(ends[1])
    return (ends[0], ends[1])
}

func setOption(_ descriptor: Int32, _ level: Int32, _ name: Int32) -> Bool {
    var value: Int32 = 1
    return setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0
}

/// A peer that has gone is an error code, never a signal.
func sendBytes(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
        return send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
        return send(descriptor, bytes.baseAddress, bytes.count, 0)
    #endif
}

func systemListen(_ descriptor: Int32, _ backlog: Int32) -> Int32 { listen(descriptor, backlog) }

func duplicateDescriptor(_ descriptor: Int32) -> Int32 { fcntl(descriptor, F_DUPFD_CLOEXEC, 0) }

func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

func shutDownWriting(_ descriptor: Int32) { _ = shutdown(descriptor, Int32(SHUT_WR)) }

/// Milliseconds that neither stop in suspend nor step.
func bootMilliseconds() -> UInt64 {
    var time = timespec()
    #if canImport(Glibc)
        clock_gettime(CLOCK_BOOTTIME, &time)
    #else
        clock_gettime(CLOCK_MONOTONIC, &time)
    #endif
    return UInt64(time.tv_sec) * 1000 + UInt64(time.tv_nsec) / 1_000_000
}

/// Not blocking, and not inherited by children.
private func makePrivate(_ descriptor: Int32) {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
}
