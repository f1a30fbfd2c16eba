// One question to a server on this machine, answered within a time or not at all: a GET over TCP or over a
// Unix socket. It follows nothing, keeps nothing, and needs neither names nor TLS.

import Configuration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why there was no answer.
enum LocalRequestError: Error {
    /// The system's error number.
    case system(Int32)
    case timedOut
    /// What came was no HTTP response.
    case noResponse

    var reason: String {
        switch self {
        case .system(let code): systemMessage(code).lowercased()
        case .timedOut: "no answer in time"
        case .noResponse: "what answers there is not this proxy"
        }
    }
}

struct LocalRequest {
    enum Place {
        case address(ListenAddress)
        case socketFile(path: String)
    }

    struct Answer {
        let status: Int
        let body: [UInt8]
    }

    private static let answerBytesMax = 1 << 20

    let place: Place
    let target: String
    let timeoutMilliseconds: Int

    /// Blocks for as long as the time-out at the most.
    func sendBlocking() throws(LocalRequestError) -> Answer {
        let deadline = Self.now() + timeoutMilliseconds
        let descriptor = try connected(until: deadline)
        defer { close(descriptor) }
        var port = ""
        if case .address(let address) = place { port = ":\(address.port)" }
        let request =
            "GET \(target) HTTP/1.1\r\nHost: localhost\(port)\r\nAccept: application/json\r\n"
            + "Connection: close\r\n\r\n"
        try send(Array(request.utf8), on: descriptor, until: deadline)
        return try Self.read(try receiveAll(on: descriptor, until: deadline))
    }

    // MARK: The socket

    private func connected(until deadline: Int) throws(LocalRequestError) -> Int32 {
        let address: [UInt8]
        let family: Int32
        switch place {
        case .address(let place): (family, address) = try Self.socketAddress(place)
        case .socketFile(let path): (family, address) = (AF_UNIX, try Self.socketAddress(path))
        }
        #if canImport(Glibc)
            let descriptor = socket(family, Int32(SOCK_STREAM.rawValue), 0)
        #else
            let descriptor = socket(family, SOCK_STREAM, 0)
        #endif
        guard descriptor >= 0 else { throw .system(errno) }
        do throws(LocalRequestError) {
            _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
            _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
            let result = address.withUnsafeBytes { bytes in
                connect(
                    descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(bytes.count))
            }
            if result != 0 {
                guard errno == EINPROGRESS else { throw .system(errno) }
                try wait(descriptor, POLLOUT, until: deadline)
                var code: Int32 = 0
                var size = socklen_t(MemoryLayout<Int32>.size)
                getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &size)
                guard code == 0 else { throw .system(code) }
            }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    private func send(
        _ bytes: [UInt8], on descriptor: Int32, until deadline: Int
    ) throws(LocalRequestError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { sendQuietly(descriptor, $0) }
            if count > 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                try wait(descriptor, POLLOUT, until: deadline)
            } else if errno != EINTR {
                throw .system(errno)
            }
        }
    }

    private func receiveAll(
        on descriptor: Int32, until deadline: Int
    ) throws(LocalRequestError) -> [UInt8] {
        var all: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16_384)
        while all.count < Self.answerBytesMax {
            let count = part.withUnsafeMutableBytes {
                recv(descriptor, $0.baseAddress, $0.count, 0)
            }
            if count > 0 {
                all += part[..<count]
            } else if count == 0 {
                break
            } else if errno == EAGAIN {
                try wait(descriptor, POLLIN, until: deadline)
            } else if errno != EINTR {
                throw .system(errno)
            }
        }
        return all
    }

    private func wait(
        _ descriptor: Int32, _ events: Int32, until deadline: Int
    ) throws(LocalRequestError) {
        var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
        while true {
            let left = deadline - Self.now()
            guard left > 0 else { throw .timedOut }
            if poll(&entry, 1, Int32(clamping: left)) > 0 { return }
        }
    }

    private static func now() -> Int {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int(time.tv_sec) * 1000 + Int(time.tv_nsec) / 1_000_000
    }

    // MARK: Bytes

    /// A wildcard is asked at this machine's own address.
    private static func socketAddress(
        _ address: ListenAddress
    ) throws(LocalRequestError) -> (Int32, [UInt8]) {
        let host = ["0.0.0.0": "127.0.0.1", "::": "::1"][address.host] ?? address.host
        var v4 = sockaddr_in()
        v4.sin_family = sa_family_t(AF_INET)
        v4.sin_port = address.port.bigEndian
        if inet_pton(AF_INET, host, &v4.sin_addr) == 1 {
            return (AF_INET, withUnsafeBytes(of: &v4, Array.init))
        }
        var v6 = sockaddr_in6()
        v6.sin6_family = sa_family_t(AF_INET6)
        v6.sin6_port = address.port.bigEndian
        guard inet_pton(AF_INET6, host, &v6.sin6_addr) == 1 else { throw .system(EINVAL) }
        return (AF_INET6, withUnsafeBytes(of: &v6, Array.init))
    }

    private static func socketAddress(_ path: String) throws(LocalRequestError) -> [UInt8] {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        let fits = withUnsafeMutableBytes(of: &address.sun_path) { target in
            guard bytes.count < target.count else { return false }
            target.copyBytes(from: bytes)
            return true
        }
        guard fits else { throw .system(ENAMETOOLONG) }
        return withUnsafeBytes(of: &address, Array.init)
    }

    private static func read(_ bytes: [UInt8]) throws(LocalRequestError) -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.utf8.firstRange(of: "\r\n\r\n".utf8) else { throw .noResponse }
        let words = text[..<end.lowerBound].split(separator: "\r\n")[0].split(separator: " ")
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .noResponse
        }
        return Answer(status: status, body: Array(text[end.upperBound...].utf8))
    }
}

/// A peer that has gone is an error code, never a signal.
private func sendQuietly(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Glibc)
        return send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
        return send(descriptor, bytes.baseAddress, bytes.count, 0)
    #endif
}
