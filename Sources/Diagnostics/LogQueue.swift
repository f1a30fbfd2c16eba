// Lines on their way to whoever reads them. A reader that is slow, stopped or gone, and a disk that is full or
// hangs, delay one thread that does nothing else: everybody else copies lines into memory of a fixed size
// and goes on. Lines that find no room are dropped, whole, and their number is told when there is room.

import Bytes
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Takes lines from any thread for one that runs `run`.
package final class LogQueue: Sendable {
    // SAFETY: the buffer owns its memory, and nobody reaches it but through the lock.
    private struct State: ~Copyable, @unchecked Sendable {
        var filling = ByteBuffer()
        var isClosed = false
        /// Lines that found no room and were not told of yet, and all of them.
        var untold: UInt64 = 0
        var lost: UInt64 = 0
    }

    private let state = Mutex(State())
    private let bytesMax: Int
    private let line: LogLine
    /// Pipes: one byte says that there is something to do; the end of the other that all is done.
    private let work: (reader: Int32, writer: Int32)
    private let done: (reader: Int32, writer: Int32)

    /// How long a failed write is not tried again.
    private static let pauseMilliseconds: Int32 = 1000

    /// Nil where the process has no descriptors left.
    ///
    /// - Parameter bytesMax: what waits for the reader at the most; as much again is being written.
    package init?(_ format: Log.Format, bytesMax: Int = 1 << 20) {
        guard let work = Self.makePipe() else { return nil }
        guard let done = Self.makePipe() else {
            close(work.reader)
            close(work.writer)
            return nil
        }
        (self.work, self.done) = (work, done)
        self.bytesMax = bytesMax
        line = LogLine(format)
    }

    deinit {
        close(work.reader)
        close(work.writer)
        close(done.reader)
        if !state.withLock({ $0.isClosed }) { close(done.writer) }
    }

    private static func makePipe() -> (reader: Int32, writer: Int32)? {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return nil }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, fcntl(end, F_GETFL) | O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }

    /// Lines that were dropped so far.
    package var lost: UInt64 { state.withLock { $0.lost } }

    /// Takes whole lines, all of them or none; never waits for the reader.
    package func append(_ bytes: UnsafeRawBufferPointer, lines: Int) {
        let mustWake = state.withLock { state in
            guard bytes.count <= bytesMax - state.filling.count, !state.isClosed else {
                state.untold &+= UInt64(lines)
                state.lost &+= UInt64(lines)
                return false
            }
            state.filling.append(bytes)
            return state.filling.count == bytes.count
        }
        if mustWake { wake() }
    }

    /// A pipe that is full has woken the writer already.
    private func wake() {
        var byte: UInt8 = 0
        _ = write(work.writer, &byte, 1)
    }

    /// Ends `run` once everything is written, and waits for that so long; what is not written by then
    /// is lost.
    package func finish(waitingMilliseconds: Int32) {
        let wasOpen = state.withLock { state in
            defer { state.isClosed = true }
            return !state.isClosed
        }
        guard wasOpen else { return }
        wake()
        var end = pollfd(fd: done.reader, events: Int16(POLLIN), revents: 0)
        _ = poll(&end, 1, waitingMilliseconds)
    }

    /// Writes what comes until `finish`; for a thread of its own.
    package func run(writingTo descriptor: Int32) {
        var writing = ByteBuffer()
        while true {
            if writing.isEmpty, !take(&writing) { break }
            let (written, error) = writeAll(writing.bytes, to: descriptor)
            writing.consume(written)
            if error == 0 { continue }
            // Without a reader nobody misses it; of everything else it may recover.
            if error == EPIPE { drop(&writing) }
            if state.withLock({ $0.isClosed }) { break }
            waitForWork(milliseconds: Self.pauseMilliseconds)
        }
        close(done.writer)
    }

    /// Waits for lines and takes all there are; false when there will be none.
    private func take(_ writing: inout ByteBuffer) -> Bool {
        while true {
            let isClosed = state.withLock { state in
                swap(&state.filling, &writing)
                if state.untold > 0 {
                    line.begin(
                        .warning, "log lines were lost", at: wallMilliseconds(), into: &writing)
                    line.add("lines", Int64(clamping: state.untold), into: &writing)
                    line.end(into: &writing)
                    state.untold = 0
                }
                return state.isClosed
            }
            if !writing.isEmpty { return true }
            if isClosed { return false }
            waitForWork(milliseconds: -1)
        }
    }

    private func waitForWork(milliseconds: Int32) {
        var reader = pollfd(fd: work.reader, events: Int16(POLLIN), revents: 0)
        _ = poll(&reader, 1, milliseconds)
        var bytes: (UInt64, UInt64) = (0, 0)
        _ = read(work.reader, &bytes, 16)
    }

    private func drop(_ writing: inout ByteBuffer) {
        let lines = writing.bytes.reduce(into: UInt64(0)) { if $1 == 0x0A { $0 &+= 1 } }
        writing.removeAll()
        state.withLock { $0.lost &+= lines }
    }
}
