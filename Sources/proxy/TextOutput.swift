// A descriptor that text is written to, whole. A write that fails is remembered, so that a command
// whose answer did not arrive does not end with success.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Bytes
import Synchronization

/// Standard output or standard error; the descriptor stays the process's.
final class TextOutput: Sendable {
    let isTerminal: Bool
    private let descriptor: Int32
    /// From the start: what takes the descriptor's number later is nobody who reads.
    private let isClosed: Bool
    private let firstFailure = Atomic<Int32>(0)

    init(descriptor: Int32, isTerminal: Bool) {
        self.descriptor = descriptor
        self.isTerminal = isTerminal
        isClosed = fcntl(descriptor, F_GETFD) < 0
    }

    convenience init(descriptor: Int32) {
        self.init(descriptor: descriptor, isTerminal: isatty(descriptor) == 1)
    }

    /// The `errno` of the first write that failed, or nil.
    var failure: Int32? {
        let code = firstFailure.load(ordering: .relaxed)
        return code == 0 ? nil : code
    }

    func write(_ text: String) {
        var text = text
        text.withUTF8 { write(UnsafeRawBufferPointer($0)) }
    }

    /// Writes the bytes of a secret that somebody asked for; no copy is made.
    func write(_ secret: SecretBytes) {
        secret.withBytes { write($0) }
    }

    private func write(_ bytes: UnsafeRawBufferPointer) {
        guard failure == nil else { return }
        if isClosed && !bytes.isEmpty { return firstFailure.store(EBADF, ordering: .relaxed) }
        var rest = bytes
        while let base = rest.baseAddress, rest.count > 0 {
            let written = writeSome(descriptor, base, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno == EAGAIN {
                // Somebody else made the shared descriptor non-blocking: wait until it takes more.
                var entry = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&entry, 1, -1)
            } else if errno != EINTR {
                firstFailure.store(errno, ordering: .relaxed)
                return
            }
        }
    }
}

private func writeSome(_ descriptor: Int32, _ base: UnsafeRawPointer, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.write(descriptor, base, count)
    #else
        Darwin.write(descriptor, base, count)
    #endif
}
