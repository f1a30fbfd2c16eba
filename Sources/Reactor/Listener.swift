// A worker's share in a listening socket: it accepts into streams that its owner makes.

import CUV
import Glibc

/// Accepts connections on one loop.
package final class Listener {
    private let handle: UnsafeMutablePointer<uv_tcp_t>
    private let makeStream: () -> ByteStream?
    private let onAccept: (ByteStream) -> Void
    private var isClosing = false

    /// `makeStream` gives the stream for the next connection, or nil to turn it away; `onAccept` gets it
    /// once it is connected. The socket is duplicated: closing one worker's share closes no other's.
    package init(
        on loop: EventLoop, _ socket: ListenSocket, makeStream: @escaping () -> ByteStream?,
        onAccept: @escaping (ByteStream) -> Void
    ) throws(ReactorError) {
        self.makeStream = makeStream
        self.onAccept = onAccept
        handle = .allocate(capacity: 1)
        let descriptor = fcntl(socket.descriptor, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else {
            handle.deallocate()
            throw ReactorError(code: -errno)
        }
        uv_tcp_init(loop.loop, handle)
        // SAFETY: released by the close callback.
        handle.pointee.data = Unmanaged.passRetained(self).toOpaque()
        var result = uv_tcp_open(handle, descriptor)
        if result < 0 { Glibc.close(descriptor) }
        if result == 0 { result = uv_listen(stream, ListenSocket.backlog, connectionArrived) }
        guard result == 0 else {
            close()
            throw ReactorError(code: result)
        }
    }

    /// Takes those that are connected already and wait to be accepted, before the socket goes and takes
    /// them along.
    package func acceptWaiting() {
        var descriptor: Int32 = -1
        let raw = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        guard !isClosing, uv_fileno(raw, &descriptor) == 0 else { return }
        for _ in 0..<ListenSocket.backlog {
            let taken = accept(descriptor, nil, nil)
            if taken < 0 {
                if errno == EINTR || errno == ECONNABORTED { continue }
                return
            }
            // Swift does not see accept4(2), which would do both at once.
            _ = fcntl(taken, F_SETFD, FD_CLOEXEC)
            _ = fcntl(taken, F_SETFL, fcntl(taken, F_GETFL) | O_NONBLOCK)
            guard let stream = makeStream() else {
                Glibc.close(taken)
                continue
            }
            do throws(ReactorError) {
                try stream.open(descriptor: taken)
                onAccept(stream)
            } catch {
                Glibc.close(taken)
                stream.close()
            }
        }
    }

    /// Accepts no more here; the socket itself stays open for others.
    package func close() {
        guard !isClosing else { return }
        isClosing = true
        let handle = UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_handle_t.self)
        uv_close(handle) { handle in
            // SAFETY: the reference that `init` took; libuv calls no other callback after this one.
            Unmanaged<Listener>.fromOpaque(handle!.pointee.data).release()
            handle!.deallocate()
        }
    }

    private var stream: UnsafeMutablePointer<uv_stream_t> {
        UnsafeMutableRawPointer(handle).assumingMemoryBound(to: uv_stream_t.self)
    }

    fileprivate func arrived(_ status: Int32) {
        // A failed accept (a client that left, or no descriptors) concerns that connection alone.
        guard status == 0, !isClosing else { return }
        guard let stream = makeStream() else { return turnAway() }
        do throws(ReactorError) {
            try stream.accept(from: self.stream)
            onAccept(stream)
        } catch {
            stream.close()
        }
    }

    /// Accepts and closes, so that the connection does not stay in libuv's hands and stop the accepting.
    private func turnAway() {
        let unwanted = UnsafeMutablePointer<uv_tcp_t>.allocate(capacity: 1)
        uv_tcp_init(handle.pointee.loop, unwanted)
        let raw = UnsafeMutableRawPointer(unwanted)
        uv_accept(stream, raw.assumingMemoryBound(to: uv_stream_t.self))
        uv_close(raw.assumingMemoryBound(to: uv_handle_t.self)) { $0?.deallocate() }
    }
}

private func connectionArrived(_ server: UnsafeMutablePointer<uv_stream_t>?, _ status: Int32) {
    // SAFETY: see Listener.init.
    Unmanaged<Listener>.fromOpaque(server!.pointee.data)._withUnsafeGuaranteedRef {
        $0.arrived(status)
    }
}
