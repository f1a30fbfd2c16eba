// The shapes of a log line: one JSON object, or words and fields for a person. Text that a peer chose is
// escaped, so one line stays one line, moves no cursor and is valid UTF-8.

package import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes lines of one shape: `begin`, any number of `add`, `end`.
package struct LogLine: Sendable {
    package let format: Log.Format

    package init(_ format: Log.Format) { self.format = format }

    /// - Parameter time: milliseconds since 1970-01-01 UTC.
    package func begin(
        _ level: Log.Level, _ message: StaticString, at time: Int64, into line: inout ByteBuffer
    ) {
        switch format {
        case .json:
            line.append("{\"time\":\"")
            Timestamp.writeUTC(time, into: &line)
            line.append("\",\"level\":\"")
            line.append(level.name)
            line.append("\",\"message\":\"")
            line.append(message)
            line.append("\"")
        case .text:
            Timestamp.writeUTC(time, into: &line)
            line.append(" ")
            line.append(level.name)
            line.append(" ")
            line.append(message)
        case .terminal(let colours):
            Timestamp.writeLocal(time, into: &line)
            line.append(colours ? level.coloured : level.padded)
            line.append(message)
        }
    }

    package func add(_ name: StaticString, _ value: Log.Value, into line: inout ByteBuffer) {
        switch value {
        case .number(let number): add(name, number, into: &line)
        case .text(var text):
            text.withUTF8 { add(name, UnsafeRawBufferPointer($0), into: &line) }
        }
    }

    package func add(_ name: StaticString, _ number: Int64, into line: inout ByteBuffer) {
        begin(name, into: &line)
        if number < 0 { line.append("-") }
        line.append(decimal: number.magnitude)
    }

    package func add(_ name: StaticString, _ text: StaticString, into line: inout ByteBuffer) {
        let bytes = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        add(name, bytes, into: &line)
    }

    /// - Parameter text: UTF-8; what is not is replaced.
    package func add(
        _ name: StaticString, _ text: UnsafeRawBufferPointer, into line: inout ByteBuffer
    ) {
        begin(name, into: &line)
        if format != .json, !text.isEmpty, text.allSatisfy(Self.isBare) {
            line.append(text)
        } else {
            quote(text, into: &line)
        }
    }

    package func end(into line: inout ByteBuffer) {
        line.append(format == .json ? "}\n" : "\n")
    }

    private func begin(_ name: StaticString, into line: inout ByteBuffer) {
        switch format {
        case .json:
            line.append(",\"")
            line.append(name)
            line.append("\":")
        case .text, .terminal:
            line.append(" ")
            line.append(name)
            line.append("=")
        }
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C && byte != 0x3D
    }

    /// A JSON string (RFC 8259 section 7); the other formats use the same form.
    private func quote(_ text: UnsafeRawBufferPointer, into line: inout ByteBuffer) {
        line.append("\"")
        if text.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && $0 != 0x22 && $0 != 0x5C }) {
            line.append(text)
        } else {
            for scalar in String(decoding: text, as: UTF8.self).unicodeScalars {
                escape(scalar, into: &line)
            }
        }
        line.append("\"")
    }

    private func escape(_ scalar: Unicode.Scalar, into line: inout ByteBuffer) {
        switch scalar.value {
        case 0x22: line.append("\\\"")
        case 0x5C: line.append("\\\\")
        case 0x0A: line.append("\\n")
        case 0x00..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069:
            // Controls, separators of lines, and the marks that turn writing around.
            line.append("\\u")
            for shift in [12, 8, 4, 0] {
                line.append(hexadecimal: UInt64(scalar.value >> UInt32(shift)) & 15)
            }
        default: line.append(text: String(scalar))
        }
    }
}

/// Times as lines begin with.
enum Timestamp {
    /// RFC 3339 in UTC with milliseconds.
    static func writeUTC(_ time: Int64, into line: inout ByteBuffer) {
        var seconds = time_t(time.flooredQuotient(1000))
        var parts = tm()
        gmtime_r(&seconds, &parts)
        write(Int64(parts.tm_year) + 1900, 4, into: &line)
        line.append("-")
        write(Int64(parts.tm_mon) + 1, 2, into: &line)
        line.append("-")
        write(Int64(parts.tm_mday), 2, into: &line)
        line.append("T")
        writeClock(parts, into: &line)
        line.append(".")
        write(time - time.flooredQuotient(1000) * 1000, 3, into: &line)
        line.append("Z")
    }

    /// Hours, minutes and seconds where the reader is.
    static func writeLocal(_ time: Int64, into line: inout ByteBuffer) {
        var seconds = time_t(time.flooredQuotient(1000))
        var parts = tm()
        localtime_r(&seconds, &parts)
        writeClock(parts, into: &line)
    }

    private static func writeClock(_ parts: tm, into line: inout ByteBuffer) {
        write(Int64(parts.tm_hour), 2, into: &line)
        line.append(":")
        write(Int64(parts.tm_min), 2, into: &line)
        line.append(":")
        write(Int64(parts.tm_sec), 2, into: &line)
    }

    private static func write(_ value: Int64, _ width: Int, into line: inout ByteBuffer) {
        var scale: Int64 = 10
        for _ in 1..<width {
            if value < scale { line.append("0") }
            scale *= 10
        }
        line.append(decimal: UInt64(max(0, value)))
    }
}

extension Int64 {
    fileprivate func flooredQuotient(_ divisor: Int64) -> Int64 {
        let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? quotient - 1 : quotient
    }
}

extension Log.Level {
    var name: StaticString {
        switch self {
        case .debug: "debug"
        case .info: "info"
        case .warning: "warning"
        case .error: "error"
        case .off: "off"
        }
    }

    /// In a column, between a time and a message.
    fileprivate var padded: StaticString {
        switch self {
        case .debug: " debug   "
        case .info: " info    "
        case .warning: " warning "
        case .error: " error   "
        case .off: " off     "
        }
    }

    fileprivate var coloured: StaticString {
        switch self {
        case .debug: " \u{1B}[2mdebug\u{1B}[0m   "
        case .info: " \u{1B}[36minfo\u{1B}[0m    "
        case .warning: " \u{1B}[1;33mwarning\u{1B}[0m "
        case .error: " \u{1B}[1;31merror\u{1B}[0m   "
        case .off: padded
        }
    }
}
