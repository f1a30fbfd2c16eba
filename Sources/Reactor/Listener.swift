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
