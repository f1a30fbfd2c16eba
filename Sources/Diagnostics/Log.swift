// Log lines: a constant message and fields. A secret cannot be a field, since no field type holds one.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif
import Synchronization

/// Writes lines to a descriptor, whole or not at all.
package final class Log: Sendable {
    package enum Level: Int, Sendable, Comparable, CaseIterable {
        case debug, info, warning, error, off

        package init?(name: String) {
            guard let level = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
            self = level
        }

        package static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
    }

    /// How a line looks: for a person, or one JSON object.
    package enum Format: Sendable {
        case text, json
    }

    package enum Value: Sendable {
        case text(String)
        case number(Int64)
    }

    private let descriptor: Int32
    private let format: Format
    private let threshold: Atomic<Int>

    /// The descriptor stays the caller's. A reader that has gone is no error: the line is lost.
    package init(level: Level, format: Format, descriptor: Int32 = 2) {
        self.descriptor = descriptor
        self.format = format
        threshold = Atomic(level.rawValue)
    }

    package func isEnabled(_ level: Level) -> Bool {
        level.rawValue >= threshold.load(ordering: .relaxed)
    }

    package func setLevel(_ level: Level) {
        threshold.store(level.rawValue, ordering: .relaxed)
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
        var line = LogLine(format: format)
        line.begin(level: level, message: message)
        for (name, value) in fields { line.add(name, value) }
        line.end()
        line.bytes.withUnsafeBytes { writeWhole($0) }
    }

    /// Writes bytes that form whole lines, such as a batch of access lines.
    package func writeWhole(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let base = rest.baseAddress, rest.count > 0 {
            let written = unsafe_write(descriptor, base, rest.count)
            if written < 0 && errno == EINTR { continue }
            guard written > 0 else { return }
            rest = UnsafeRawBufferPointer(rebasing: rest[written...])
        }
    }
}

private func unsafe_write(_ descriptor: Int32, _ base: UnsafeRawPointer, _ count: Int) -> Int {
    #if canImport(Glibc)
        Glibc.write(descriptor, base, count)
    #else
        Darwin.write(descriptor, base, count)
    #endif
}
