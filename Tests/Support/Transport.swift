// Bytes over a connected descriptor: plain here, TLS in TLSTransport. All waiting is poll(2) up to a
// deadline.

import Glibc

/// What SocketStream reads from and writes to.
protocol Transport: AnyObject {
    var descriptor: Int32 { get }
    /// At least one byte, or 0 at the end of the stream.
    func receive(_ target: UnsafeMutableRawBufferPointer, until deadline: Deadline) throws -> Int
    /// All bytes.
    func send(_ source: UnsafeRawBufferPointer, until deadline: Deadline) throws
    /// The end of what is sent; the other direction stays.
    func endSending(until deadline: Deadline) throws
}

final class PlainTransport: Transport {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    func receive(_ target: UnsafeMutableRawBufferPointer, until deadline: Deadline) throws -> Int {
        while true {
            let count = recv(descriptor, target.baseAddress, target.count, 0)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: try wait(descriptor, for: POLLIN, until: deadline, "bytes to arrive")
            case ECONNRESET: throw Failure.reset
            default: throw Failure.last("recv")
            }
        }
    }

    func send(_ source: UnsafeRawBufferPointer, until deadline: Deadline) throws {
        var rest = source
        while !rest.isEmpty {
            let count = Glibc.send(
                descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            if count >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                continue
            }
            switch errno {
            case EINTR: continue
            case EAGAIN: try wait(descriptor, for: POLLOUT, until: deadline, "room to write")
            case ECONNRESET, EPIPE: throw Failure.reset
            default: throw Failure.last("send")
            }
        }
    }

    func endSending(until deadline: Deadline) throws {
        guard shutdown(descriptor, Int32(SHUT_WR)) == 0 else { throw Failure.last("shutdown") }
    }
}

/// Waits until the descriptor is ready; a hang-up counts as ready, since the next call tells of it.
func wait(
    _ descriptor: Int32, for events: Int32, until deadline: Deadline, _ what: String
) throws {
    var entry = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    while true {
        let count = poll(&entry, 1, deadline.milliseconds)
        if count > 0 { return }
        if count < 0 && errno != EINTR { throw Failure.last("poll") }
        if deadline.hasPassed { throw Failure.deadline(what) }
    }
}
