// Bytes that tests write as text. Each letter of a literal is one byte (Latin-1), so a message with
// bytes from 0x80 up can be written, compared and printed without passing through UTF-8. Whatever may
// meet megabytes is left to the C library: loops over bytes are slow in debug builds.

import Glibc

/// A run of bytes with a literal form: `"X-Name: Andr\u{E9}\r\n"` ends in the byte E9, CR, LF.
package struct Octets: Hashable, Sendable {
    package var bytes: [UInt8]

    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes) }

    package init(copying bytes: UnsafeRawBufferPointer) {
        self.bytes = [UInt8](unsafeUninitializedCapacity: bytes.count) { target, count in
            if let source = bytes.baseAddress { memcpy(target.baseAddress!, source, bytes.count) }
            count = bytes.count
        }
    }

    /// Every scalar must be below U+0100; anything else is a mistake in the test.
    package init(_ text: String) {
        bytes = text.unicodeScalars.map { scalar in
            precondition(scalar.value < 0x100, "no byte for \(scalar)")
            return UInt8(scalar.value)
        }
    }

    package init(repeating byte: UInt8, count: Int) {
        bytes = Array(repeating: byte, count: count)
    }

    /// Bytes that differ from block to block, so that a lost or repeated one is noticed.
    package static func pattern(count: Int, seed: UInt64 = 1) -> Octets {
        Octets(
            [UInt8](unsafeUninitializedCapacity: count) { target, filled in
                var offset = 0
                while offset < count {
                    let step = min(blockOfNoise.count, count - offset)
                    memcpy(target.baseAddress! + offset, blockOfNoise, step)
                    if step >= 16 {
                        let mark = [seed, UInt64(offset)]
                        memcpy(target.baseAddress! + offset, mark, 16)
                    }
                    offset += step
                }
                filled = count
            })
    }

    private static let blockOfNoise: [UInt8] = {
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        return (0..<4096).map { _ in
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return UInt8(truncatingIfNeeded: state)
        }
    }()

    package var count: Int { bytes.count }
    package var isEmpty: Bool { bytes.isEmpty }

    /// One letter for each byte.
    package var text: String {
        var letters: [UInt8] = []
        letters.reserveCapacity(count)
        for byte in bytes {
            if byte < 0x80 {
                letters.append(byte)
            } else {
                letters.append(0xC0 | byte >> 6)
                letters.append(0x80 | byte & 0x3F)
            }
        }
        return String(decoding: letters, as: UTF8.self)
    }

    package func hasPrefix(_ other: Octets) -> Bool { isRun(other, at: 0) }

    package func hasSuffix(_ other: Octets) -> Bool { isRun(other, at: count - other.count) }

    private func isRun(_ other: Octets, at offset: Int) -> Bool {
        guard offset >= 0, offset + other.count <= count else { return false }
        return bytes.withUnsafeBytes { bytes in
            other.bytes.withUnsafeBytes { other in
                other.isEmpty
                    || memcmp(bytes.baseAddress! + offset, other.baseAddress!, other.count) == 0
            }
        }
    }

    package func contains(_ other: Octets) -> Bool { firstIndex(of: other) != nil }

    /// Where the other run begins for the first time, at `start` or behind it.
    package func firstIndex(of other: Octets, from start: Int = 0) -> Int? {
        bytes.withUnsafeBytes { offset(of: other, in: $0, from: start) }
    }

    package static func == (left: Octets, right: Octets) -> Bool {
        left.count == right.count && left.isRun(right, at: 0)
    }

    package static func + (left: Octets, right: Octets) -> Octets {
        Octets(left.bytes + right.bytes)
    }

    package static func += (left: inout Octets, right: Octets) { left.bytes += right.bytes }
}

extension Octets: ExpressibleByStringInterpolation, CustomStringConvertible {
    package init(stringLiteral text: String) { self.init(text) }
    package var description: String {
        count > 2048 ? "\(Octets(bytes.prefix(2048)).text)… (\(count) bytes)" : text
    }
}

/// The offset of a run of bytes in others, searched from `start`.
func offset(of needle: Octets, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = bytes.baseAddress, let first = needle.bytes.first else { return nil }
    return needle.bytes.withUnsafeBytes { needle in
        var index = start
        while index + needle.count <= bytes.count {
            let room = bytes.count - needle.count - index + 1
            guard let candidate = memchr(base + index, Int32(first), room) else { return nil }
            index = UnsafeRawPointer(candidate) - base
            if memcmp(candidate, needle.baseAddress!, needle.count) == 0 { return index }
            index += 1
        }
        return nil
    }
}
