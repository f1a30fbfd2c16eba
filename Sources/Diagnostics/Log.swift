// Log lines: a constant message and fields. A secret cannot be a field, since no field type holds one.

import Bytes
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes lines, whole or not at all.
package final class Log: Sendable {
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error, off

        package init?(name: String) {
            guard let level = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
            self = level
        }

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// How a line looks.
    package enum Format: Hashable, Sendable {
        /// One JSON object.
        case json
        /// Time, level and message, then `name=value`.
        case text
        /// The same for somebody who watches: with the local time of day.
        case terminal(colours: Bool)
    }

    package enum Value: Sendable {
        case text(String)
        case number(Int64)
    }

    /// Where lines go.
    package enum Sink: Sendable {
        /// At once; whoever writes waits for as long as the reader likes. The descriptor stays the
        /// caller's.
        case descriptor(Int32)
        /// To a thread that writes them; nobody else waits.
        case queue(LogQueue)
    }

    /// The shape of its lines, for those who write their own.
    package let line: LogLine
    private let sink: Sink
    private let threshold: Atomic<Int>

    package init(level: Level, format: Format, to sink: Sink = .descriptor(2)) {
        line = LogLine(format)
        self.sink = sink
        threshold = Atomic(level.rawValue)
    }

    package func isEnabled(_ level: Level) -> Bool {
        level.rawValue >= threshold.load(ordering: .relaxed)
    }

    package func setLevel(_ level: Level) {
        threshold.store(level.rawValue, ordering: .relaxed)
    }

    /// Lines that were dropped since nobody took them.
    package var lostLines: UInt64 {
        switch sink {
        case .descriptor: 0
        case .queue(let queue): queue.lost
        }
    }

    package func debug(_ message: StaticString, _ fields: (StaticString, Value)...) {
        write(.debug, message, fields)
    }

    package func info(_ message: StaticString, _ fields: (StaticString, Value)...) {
        write(.info, message, fields)
    }

    package func warning(_ message: StaticString, _ fields: (StaticString, Value)...) {
        write(.warning, message, fields)
    }

    package func error(_ message: StaticString, _ fields: (StaticString, Value)...) {
        write(.error, message, fields)
    }

    private func write(
        _ level: Level, _ message: StaticString, _ fields: [(StaticString, Value)]
    ) {
        guard isEnabled(level) else { return }
        var buffer = ByteBuffer(capacity: 256)
        line.begin(level, message, at: wallMilliseconds(), into: &buffer)
        for (name, value) in fields { line.add(name, value, into: &buffer) }
        line.end(into: &buffer)
        writeWhole(buffer.bytes)
    }

    /// Writes bytes that form whole lines, such as a batch of access lines. The level does not matter.
    ///
    /// - Parameter lines: how many they are.
    package func writeWhole(_ bytes: UnsafeRawBufferPointer, lines: Int = 1) {
        switch sink {
        case .descriptor(let descriptor): _ = writeAll(bytes, to: descriptor)
        case .queue(let queue): queue.append(bytes, lines: lines)
        }
    }
}

func wallMilliseconds() -> Int64 {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
}

/// Writes to a descriptor until all is written or it fails; answers how much was, and why no more
/// (errno(3)), 0 where all was.
func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: Int32
) -> (written: Int, error: Int32) {
    var rest = bytes
    while let base = rest.baseAddress, rest.count > 0 {
        let written = write(descriptor, base, rest.count)
        if written > 0 {
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        } else if written < 0 && errno == EINTR {
            continue
        } else if written < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) {
            // Somebody who shares the terminal or the pipe has made it non-blocking.
            var wait = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            _ = poll(&wait, 1, -1)
        } else {
            return (bytes.count - rest.count, written < 0 ? errno : EIO)
        }
    }
    return (bytes.count, 0)
}
