// The lines that somebody types or pastes, one by one, for as long as they are wanted.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Lines without their ends, each at most `bytesMax` long; what is longer is cut, and can then only
/// fail its checks. Ends with the input, or when the reader stops listening: a thread that nobody
/// listens to does not steal the next line from the shell.
func linesTyped(on descriptor: Int32, bytesMax: Int = 65_536) -> AsyncStream<SecretBytes> {
    let (stream, continuation) = AsyncStream.makeStream(of: SecretBytes.self)
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else {
        continuation.finish()
        return stream
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let (stopReader, stopWriter) = (ends[0], ends[1])
    continuation.onTermination = { _ in
        // A byte, not only the end: a child process may hold a copy of the descriptor for a moment.
        var byte: UInt8 = 0
        _ = write(stopWriter, &byte, 1)
        close(stopWriter)
    }
    startThread {
        var line = LineUnderWay(bytesMax: bytesMax)
        while waitForInput(descriptor, orEndOf: stopReader) {
            var byte: UInt8 = 0
            let count = read(descriptor, &byte, 1)
            if count < 0 && (errno == EINTR || errno == EAGAIN) { continue }
            guard count > 0 else { break }
            if byte == ASCII.lineFeed {
                continuation.yield(line.take())
            } else {
                line.append(byte)
            }
        }
        if !line.isEmpty { continuation.yield(line.take()) }
        continuation.finish()
        close(stopReader)
    }
    return stream
}

/// Whether input is there; false once nobody wants it.
private func waitForInput(_ descriptor: Int32, orEndOf stopReader: Int32) -> Bool {
    var entries = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        pollfd(fd: stopReader, events: Int16(POLLIN), revents: 0),
    ]
    while true {
        let count = poll(&entries, 2, -1)
        if count < 0 && errno == EINTR { continue }
        return count > 0 && entries[1].revents == 0
    }
}

/// The bytes of a line that has not ended yet, wiped when it is taken.
private struct LineUnderWay {
    private let bytesMax: Int
    private var bytes: [UInt8]

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
        bytes = []
        // All at once: growing would leave copies behind.
        bytes.reserveCapacity(bytesMax)
    }

    var isEmpty: Bool { bytes.isEmpty }

    mutating func append(_ byte: UInt8) {
        if bytes.count < bytesMax { bytes.append(byte) }
    }

    mutating func take() -> SecretBytes {
        if bytes.last == ASCII.carriageReturn { bytes.removeLast() }
        let line = bytes.withUnsafeBytes { SecretBytes(copying: $0) }
        bytes.withUnsafeMutableBytes { wipe($0) }
        bytes.removeAll(keepingCapacity: true)
        return line
    }
}
