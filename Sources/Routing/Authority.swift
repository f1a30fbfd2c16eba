// Host and port of a Host field or an absolute target, cut apart where they stand. It compares
// nothing and accepts one spelling of each part only.

import Bytes

/// `uri-host [ ":" port ]` (RFC 9110 section 7.2), as parts of the bytes that it was read from.
struct Authority {
    /// As it came; an IPv6 address keeps its brackets.
    let host: UnsafeRawBufferPointer
    /// Nil when none is given.
    let port: UInt16?

    /// Nil when the host is empty or the port is no number from 1 to 65535 written without zeros in
    /// front.
    init?(_ text: UnsafeRawBufferPointer) {
        guard let first = text.first else { return nil }
        var end = 0
        if first == 0x5B {
            while end < text.count, text[end] != 0x5D { end += 1 }
            end += 1
            guard end <= text.count else { return nil }
        } else {
            while end < text.count, text[end] != ASCII.colon { end += 1 }
        }
        guard end > 0 else { return nil }
        host = UnsafeRawBufferPointer(rebasing: text[..<end])
        if end == text.count {
            port = nil
            return
        }
        let digits = UnsafeRawBufferPointer(rebasing: text[(end + 1)...])
        guard text[end] == ASCII.colon, (1...5).contains(digits.count), digits[0] != ASCII.zero
        else { return nil }
        var value: UInt32 = 0
        for byte in digits {
            guard ASCII.isDigit(byte) else { return nil }
            value = value * 10 + UInt32(byte &- ASCII.zero)
        }
        guard let port = UInt16(exactly: value) else { return nil }
        self.port = port
    }
}

extension Authority {
    /// Whether a text is `uri-host [ ":" port ]` at all (RFC 3986 section 3.2.2), however odd. Slow,
    /// for what is refused anyway.
    static func isValid(_ text: UnsafeRawBufferPointer) -> Bool {
        var host = text[...]
        if let colon = text.lastIndex(of: ASCII.colon),
            text[colon...].dropFirst().allSatisfy(ASCII.isDigit)
        {
            host = text[..<colon]
        }
        guard host.first == 0x5B else { return host.allSatisfy(isNameByte) }
        return host.last == 0x5D
            && host.dropFirst().dropLast().allSatisfy { isNameByte($0) || $0 == ASCII.colon }
    }

    /// unreserved, sub-delims and the sign of an encoded byte.
    private static func isNameByte(_ byte: UInt8) -> Bool {
        (byte | 0x20) &- 0x61 < 26 || ASCII.isDigit(byte)
            || "-._~!$&'()*+,;=%".utf8.contains(byte)
    }
}
