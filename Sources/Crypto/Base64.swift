// Base64 in its two alphabets (RFC 4648 sections 4 and 5). Decoding is strict: one text for each run
// of bytes, so that nothing can hide in spare bits, padding or white space.

package import Bytes

package enum Base64 {
    package enum Alphabet: Sendable {
        /// `+` and `/`, padded with `=`.
        case standard
        /// `-` and `_`, without padding, as JOSE and PKCE want it (RFC 7515 section 2).
        case url
    }

    /// How many letters `count` bytes become.
    package static func encodedCount(_ count: Int, _ alphabet: Alphabet) -> Int {
        switch alphabet {
        case .standard: (count + 2) / 3 * 4
        case .url: (count * 4 + 2) / 3
        }
    }

    package static func encode(_ bytes: UnsafeRawBufferPointer, _ alphabet: Alphabet) -> String {
        String(unsafeUninitializedCapacity: encodedCount(bytes.count, alphabet)) { target in
            write(bytes, alphabet, to: UnsafeMutableRawBufferPointer(target))
            return target.count
        }
    }

    package static func encode(_ bytes: [UInt8], _ alphabet: Alphabet) -> String {
        bytes.withUnsafeBytes { encode($0, alphabet) }
    }

    /// Encodes a secret into another, with no text in between.
    package static func encode(_ secret: SecretBytes, _ alphabet: Alphabet) -> SecretBytes {
        secret.withBytes { bytes in
            SecretBytes(count: encodedCount(bytes.count, alphabet)) { target in
                write(bytes, alphabet, to: target)
            }
        }
    }

    /// Appends base64url to bytes that are becoming a message.
    package static func append(_ bytes: UnsafeRawBufferPointer, to target: inout [UInt8]) {
        let start = target.count
        target.append(
            contentsOf: repeatElement(0, count: encodedCount(bytes.count, .url)))
        target.withUnsafeMutableBytes { target in
            write(bytes, .url, to: UnsafeMutableRawBufferPointer(rebasing: target[start...]))
        }
    }

    /// Nil for anything that `encode` cannot have written.
    package static func decode(_ text: UnsafeRawBufferPointer, _ alphabet: Alphabet) -> [UInt8]? {
        var letters = text.count
        if alphabet == .standard {
            guard text.count % 4 == 0 else { return nil }
            while letters > 0, text.count - letters < 2, text[letters - 1] == ASCII.equals {
                letters -= 1
            }
        }
        // One letter alone has six bits, too few for a byte.
        guard letters % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(letters * 3 / 4)
        var bits: UInt32 = 0
        var held = 0
        for index in 0..<letters {
            guard let value = value(of: text[index], alphabet) else { return nil }
            bits = bits << 6 | UInt32(value)
            held += 6
            if held >= 8 {
                held -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(held)))
            }
        }
        guard bits & ((1 << UInt32(held)) - 1) == 0 else { return nil }
        return bytes
    }

    package static func decode(_ text: String, _ alphabet: Alphabet) -> [UInt8]? {
        var text = text
        return text.withUTF8 { decode(UnsafeRawBufferPointer($0), alphabet) }
    }
}

extension Base64 {
    /// Fills all of `target`, which has `encodedCount` bytes.
    private static func write(
        _ bytes: UnsafeRawBufferPointer, _ alphabet: Alphabet,
        to target: UnsafeMutableRawBufferPointer
    ) {
        var position = 0
        for start in stride(from: 0, to: bytes.count, by: 3) {
            var group: UInt32 = 0
            for index in start..<start + 3 {
                group = group << 8 | UInt32(index < bytes.count ? bytes[index] : 0)
            }
            let letters = min(3, bytes.count - start) + 1
            for index in 0..<letters {
                let value = UInt8(group >> UInt32(18 - 6 * index) & 0x3F)
                target[position] = letter(of: value, alphabet)
                position += 1
            }
        }
        while position < target.count {
            target[position] = ASCII.equals
            position += 1
        }
    }

    private static func letter(of value: UInt8, _ alphabet: Alphabet) -> UInt8 {
        switch value {
        case 0..<26: 0x41 + value
        case 26..<52: 0x61 + value - 26
        case 52..<62: 0x30 + value - 52
        case 62: alphabet == .standard ? ASCII.plus : ASCII.hyphen
        default: alphabet == .standard ? ASCII.slash : 0x5F
        }
    }

    private static func value(of letter: UInt8, _ alphabet: Alphabet) -> UInt8? {
        switch letter {
        case 0x41...0x5A: letter - 0x41
        case 0x61...0x7A: letter - 0x61 + 26
        case 0x30...0x39: letter - 0x30 + 52
        case ASCII.plus where alphabet == .standard: 62
        case ASCII.slash where alphabet == .standard: 63
        case ASCII.hyphen where alphabet == .url: 62
        case 0x5F where alphabet == .url: 63
        default: nil
        }
    }
}
