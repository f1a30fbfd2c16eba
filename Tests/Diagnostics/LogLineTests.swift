// The shapes of a line: each is one line, says what it was given, and lets no text break out of it.

import Bytes
import Testing

@testable import Diagnostics

@Suite struct `A log line` {
    /// 2026-11-30T14:26:38.045Z.
    private static let time: Int64 = 1_796_048_798_045

    private func line(
        _ format: Log.Format, _ fields: [(StaticString, Log.Value)], level: Log.Level = .info,
        at time: Int64 = time
    ) -> String {
        let line = LogLine(format)
        var bytes = ByteBuffer()
        line.begin(level, "something happened", at: time, into: &bytes)
        for (name, value) in fields { line.add(name, value, into: &bytes) }
        line.end(into: &bytes)
        return String(decoding: bytes.bytes, as: UTF8.self)
    }

    @Test func `is one JSON object`() {
        #expect(
            line(.json, [("name", .text("a b")), ("count", .number(-3))], level: .warning)
                == #"{"time":"2026-11-30T14:26:38.045Z","level":"warning","#
                + #""message":"something happened","name":"a b","count":-3}"# + "\n")
    }

    @Test func `is words and fields for people, quoted where they have to be`() {
        #expect(
            line(.text, [("name", .text("a b")), ("path", .text("/x")), ("none", .text(""))])
                == "2026-11-30T14:26:38.045Z info something happened name=\"a b\" path=/x none=\"\"\n"
        )
    }

    @Test func `is short on a terminal, with the level in a column`() {
        let plain = line(.terminal(colours: false), [("name", .text("x"))])
        #expect(plain.hasSuffix(" info    something happened name=x\n"))
        // The time of day where the reader is.
        #expect(plain.utf8.prefix(9).filter { $0 == UInt8(ascii: ":") }.count == 2)
        let colour = line(.terminal(colours: true), [], level: .error)
        #expect(colour.hasSuffix(" \u{1B}[1;31merror\u{1B}[0m   something happened\n"))
    }

    @Test(arguments: [Log.Format.json, .text, .terminal(colours: true)])
    func `stays one line that moves no cursor, whatever a field holds`(format: Log.Format) {
        let hostile = "a\nb\r\u{1B}[2J\u{9B}31m\u{2028}\u{202E}\u{7F}\u{0}\"\\é"
        let text = line(format, [("name", .text(hostile))])
        #expect(text.hasSuffix("é\"" + (format == .json ? "}" : "") + "\n"))
        let steering: Set<UInt32> = [0x0A, 0x0D, 0x9B, 0x2028, 0x202E, 0x7F, 0]
        #expect(text.unicodeScalars.dropLast().allSatisfy { !steering.contains($0.value) })
        #expect(text.contains(#"a\nb\u000d\u001b[2J\u009b31m\u2028\u202e\u007f\u0000\"\\é"#))
    }

    @Test func `replaces what is no UTF-8`() {
        let line = LogLine(.json)
        var bytes = ByteBuffer()
        line.begin(.info, "x", at: Self.time, into: &bytes)
        [UInt8]([0x61, 0xFF, 0xC3]).withUnsafeBytes { line.add("name", $0, into: &bytes) }
        line.end(into: &bytes)
        #expect(
            String(decoding: bytes.bytes, as: UTF8.self).hasSuffix(
                "\"name\":\"a\u{FFFD}\u{FFFD}\"}\n"))
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (951_782_400_007, "2000-02-29T00:00:00.007Z"),
    ])
    func `tells any time`(time: Int64, text: String) {
        #expect(line(.text, [], at: time).hasPrefix(text + " "))
    }
}
