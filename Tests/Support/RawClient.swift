// A client that sends exactly the bytes it is told to, and reads with deadlines.

package import Crypto
import Glibc

extension SocketStream {
    /// Takes over a connected socket.
    package convenience init(adopting descriptor: Int32) {
        self.init(PlainTransport(descriptor))
    }

    /// Connects to a port of loopback. A small receive buffer makes back-pressure visible early.
    package static func connect(
        to port: UInt16, host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil,
        within limit: Duration = patience
    ) throws -> SocketStream {
        let address = try SocketAddress(host: host, port: port)
        let flags =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(address.family, flags, 0)
        guard descriptor >= 0 else { throw Failure.last("socket") }
        if var bytes = receiveBufferBytes {
            setsockopt(
                descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var on: Int32 = 1
        setsockopt(
            descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
        let stream = SocketStream(PlainTransport(descriptor))
        if address.withPointer({ Glibc.connect(descriptor, $0, $1) }) != 0 {
            guard errno == EINPROGRESS else { throw Failure.last("connect") }
            try Support.wait(descriptor, for: POLLOUT, until: .after(limit), "a connection")
            var code: Int32 = 0
            var length = socklen_t(MemoryLayout<Int32>.size)
            getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length)
            guard code == 0 else { throw Failure.system("connect", code) }
        }
        return stream
    }
}

extension SocketStream {
    /// Connects to a Unix socket.
    package static func connect(toUnix path: String) throws -> SocketStream {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.last("socket") }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        let result = withUnsafePointer(to: &address) {
            Glibc.connect(
                descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_un>.size))
        }
        guard result == 0 else {
            defer { Glibc.close(descriptor) }
            throw Failure.last("connect")
        }
        return SocketStream(PlainTransport(descriptor))
    }

    /// Connects to a port of loopback and speaks TLS as a client that trusts what the context trusts.
    package static func connect(
        to port: UInt16, secureWith context: TLSContext, host: String = "localhost"
    ) throws -> SocketStream {
        let address = try SocketAddress(host: "127.0.0.1", port: port)
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw Failure.last("socket") }
        guard address.withPointer({ Glibc.connect(descriptor, $0, $1) }) == 0 else {
            defer { Glibc.close(descriptor) }
            throw Failure.last("connect")
        }
        return SocketStream(try TLSTransport(descriptor, client: context, host: host))
    }
}

/// One connection to a proxy, and shorthands for common requests over it.
package final class RawClient {
    package let stream: SocketStream
    private let authority: String

    package init(
        to port: UInt16, host: String = "127.0.0.1", receiveBufferBytes: Int32? = nil
    ) throws {
        stream = try .connect(to: port, host: host, receiveBufferBytes: receiveBufferBytes)
        authority = "\(host.bracketedIfIPv6):\(port)"
    }

    /// The bytes of a request. `Host` is added unless it is among the fields, `Content-Length` where
    /// there is a body.
    package func request(
        _ method: String = "GET", _ target: String = "/", fields: [(String, String)] = [],
        body: Octets? = nil
    ) -> Octets {
        var lines = "\(method) \(target) HTTP/1.1\r\n"
        if !fields.contains(where: { $0.0.lowercased() == "host" }) {
            lines += "Host: \(authority)\r\n"
        }
        for (name, value) in fields { lines += "\(name): \(value)\r\n" }
        if let body { lines += "Content-Length: \(body.count)\r\n" }
        return Octets(lines + "\r\n") + (body ?? "")
    }

    package func send(_ octets: Octets) throws { try stream.write(octets) }

    /// Sends one request and reads its whole answer.
    @discardableResult
    package func exchange(
        _ method: String = "GET", _ target: String = "/", fields: [(String, String)] = [],
        body: Octets? = nil, within limit: Duration = SocketStream.patience
    ) throws -> HTTPMessage {
        try send(request(method, target, fields: fields, body: body))
        return try stream.readResponse(to: method, within: limit)
    }
}
