// Many connections at once, each no more than a descriptor: thousands of streams with buffers would weigh more
// than the proxy that is under test.

import Glibc
import Support

/// Connections to a port of loopback, closed with their owner. Calls block for up to twenty seconds.
final class Crowd {
    private(set) var members: [Int32] = []

    deinit { for member in members { close(member) } }

    /// Lets this process have that many connections, where the system allows it at all.
    static func allow(_ count: Int) throws {
        var limit = rlimit()
        let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        guard getrlimit(files, &limit) == 0, limit.rlim_max >= count else {
            throw Failure.malformed("no \(count) descriptors are to be had here")
        }
        limit.rlim_cur = max(limit.rlim_cur, rlim_t(count))
        guard setrlimit(files, &limit) == 0 else { throw Failure.system("setrlimit", errno) }
    }

    /// - Parameter receiveBufferBytes: nil for the system's own.
    func join(_ port: UInt16, receiveBufferBytes: Int32? = nil) throws {
        let member = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard member >= 0 else { throw Failure.system("socket", errno) }
        members.append(member)
        var patience = timeval(tv_sec: 20, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(
                member, SOL_SOCKET, option, &patience, socklen_t(MemoryLayout<timeval>.size))
        }
        if var bytes = receiveBufferBytes {
            setsockopt(member, SOL_SOCKET, SO_RCVBUF, &bytes, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let result = withUnsafeBytes(of: &address) {
            connect(
                member, $0.baseAddress!.assumingMemoryBound(to: sockaddr.self), socklen_t($0.count))
        }
        guard result == 0 else { throw Failure.system("connect", errno) }
    }

    func send(_ octets: Octets, from index: Int) throws {
        let sent = octets.bytes.withUnsafeBytes {
            Glibc.send(members[index], $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        guard sent == octets.count else { throw Failure.system("send", errno) }
    }

    /// Reads until what came ends with the text; what came before the end of the connection otherwise.
    func receive(upTo end: Octets, at index: Int) throws -> Octets {
        var received = Octets("")
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while !received.hasEnding(end) {
            let count = recv(members[index], &buffer, buffer.count, 0)
            if count == 0 { break }
            guard count > 0 else { throw Failure.system("recv", errno) }
            received += Octets(Array(buffer[..<count]))
        }
        return received
    }
}

extension Octets {
    fileprivate func hasEnding(_ end: Octets) -> Bool { count >= end.count && hasSuffix(end) }
}
