import Bytes
import Testing

@Suite struct `Byte buffer` {
    @Test func `keeps bytes in order while it grows and is consumed`() {
        var buffer = ByteBuffer()
        var expected: [UInt8] = []
        for round in 0..<200 {
            let piece = (0..<round).map { UInt8(truncatingIfNeeded: $0 &+ round) }
            piece.withUnsafeBytes { buffer.append($0) }
            expected += piece
            let taken = expected.count / 3
            buffer.consume(taken)
            expected.removeFirst(taken)
            let held = Array(buffer.bytes)
            #expect(held == expected)
        }
    }

    @Test(arguments: [
        (UInt64(0), "0", "0"), (9, "9", "9"), (10, "10", "a"), (255, "255", "ff"),
        (65_536, "65536", "10000"), (.max, "18446744073709551615", "ffffffffffffffff"),
    ])
    func `writes numbers in both radixes`(value: UInt64, decimal: String, hexadecimal: String) {
        var buffer = ByteBuffer()
        buffer.append(decimal: value)
        buffer.append(ASCII.space)
        buffer.append(hexadecimal: value)
        let text = String(decoding: buffer.bytes, as: UTF8.self)
        #expect(text == "\(decimal) \(hexadecimal)")
    }

    @Test func `consuming everything gives the room back`() {
        var buffer = ByteBuffer(capacity: 64)
        for _ in 0..<1000 {
            buffer.append("0123456789")
            buffer.consume(10)
        }
        let (count, capacity) = (buffer.count, buffer.capacity)
        #expect(count == 0)
        #expect(capacity == 64)
    }
}

@Suite struct `Secret bytes` {
    @Test func `never print what they hold`() {
        let secret = SecretBytes("canary-value")
        #expect("\(secret)" == "[secret]")
        #expect(String(reflecting: secret) == "[secret]")
        #expect(Mirror(reflecting: secret).children.isEmpty)
        var dumped = ""
        dump(secret, to: &dumped)
        #expect(!dumped.contains("canary"))
    }

    @Test func `compare by content`() {
        #expect(SecretBytes("abc") == SecretBytes([0x61, 0x62, 0x63]))
        #expect(SecretBytes("abc") != SecretBytes("abd"))
        #expect(SecretBytes("abc") != SecretBytes("abcd"))
        #expect(SecretBytes("") == SecretBytes([]))
    }
}
