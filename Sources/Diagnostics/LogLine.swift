// The two shapes of a log line. Text a peer chose is escaped, so one line stays one line.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A line under construction.
struct LogLine {
    private let format: Log.Format
    private(set) var bytes: [UInt8] = []

    init(format: Log.Format) {
        self.format = format
        bytes.reserveCapacity(256)
    }

    mutating func begin(level: Log.Level, message: StaticString) {
        switch format {
        case .text:
            raw("\(timestamp()) \(level) \(message)")
        case .json:
            raw("{\"time\":\"\(timestamp())\",\"level\":\"\(level)\",\"message\":\"\(message)\"")
        }
    }

    mutating func add(_ name: StaticString, _ value: Log.Value) {
        switch format {
        case .text: raw(" \(name)=")
        case .json: raw(",\"\(name)\":")
        }
        switch value {
        case .number(let number): raw("\(number)")
        case .text(let text):
            let isBare = format == .text && !text.isEmpty && text.utf8.allSatisfy(Self.isBare)
            isBare ? raw(text) : quoted(text)
        }
    }

    mutating func end() {
        raw(format == .json ? "}\n" : "\n")
    }

    private static func isBare(_ byte: UInt8) -> Bool {
        byte > 0x20 && byte < 0x7F && byte != 0x22 && byte != 0x5C && byte != 0x3D
    }

    private mutating func raw(_ text: String) { bytes.append(contentsOf: text.utf8) }

    /// A JSON string (RFC 8259 section 7); text lines use the same form.
    private mutating func quoted(_ text: String) {
        bytes.append(0x22)
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: raw("\\\"")
            case 0x5C: raw("\\\\")
            case 0x0A: raw("\\n")
            case 0x00..<0x20, 0x7F..<0xA0, 0x2028, 0x2029:
                let digits = String(scalar.value, radix: 16)
                raw("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: raw(String(scalar))
            }
        }
        bytes.append(0x22)
    }

    /// RFC 3339 in UTC with milliseconds.
    private func timestamp() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        func digits(_ value: Int, _ width: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
        }
        let date =
            "\(digits(Int(parts.tm_year) + 1900, 4))-\(digits(Int(parts.tm_mon) + 1, 2))"
            + "-\(digits(Int(parts.tm_mday), 2))"
        let time =
            "\(digits(Int(parts.tm_hour), 2)):\(digits(Int(parts.tm_min), 2))"
            + ":\(digits(Int(parts.tm_sec), 2)).\(digits(now.tv_nsec / 1_000_000, 3))"
        return "\(date)T\(time)Z"
    }
}
