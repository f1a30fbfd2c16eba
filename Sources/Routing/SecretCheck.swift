// Compares the local secret with what a caller presents, in constant time. What the caller sent is
// neither kept nor passed on.

import Bytes
import HTTPWire

struct SecretCheck: Sendable {
    private let secret: SecretBytes
    /// Nil: Authorization and X-API-Key.
    private let field: FieldName?
    private let keyField: FieldName

    init(_ local: LocalSecret) {
        secret = local.secret
        field = local.field.flatMap { FieldName($0) }
        precondition((field == nil) == (local.field == nil), "the configuration checks names")
        guard let key = FieldName("x-api-key") else { preconditionFailure("it is a token") }
        keyField = key
    }

    /// Whether one of the fields that can carry the secret holds it.
    func isPresented(_ head: borrowing MessageHead, _ bytes: UnsafeRawBufferPointer) -> Bool {
        // An empty secret, from a file cut short, would let everyone in.
        guard !secret.isEmpty else { return false }
        for index in 0..<head.fieldCount {
            let line = head.fields[index]
            let value = line.value.bytes(in: bytes)
            if let field {
                guard field.matches(line, bytes) else { continue }
                // The chosen field may be Authorization itself.
                if secret.equals(value) || equalsAuthorization(value) { return true }
            } else if line.known == .authorization {
                if equalsAuthorization(value) { return true }
            } else if keyField.matches(line, bytes), secret.equals(value) {
                return true
            }
        }
        return false
    }

    /// `Bearer secret`, or `Basic` with the secret as password under any user name
    /// (RFC 6750 section 2.1; RFC 7617 section 2).
    private func equalsAuthorization(_ value: UnsafeRawBufferPointer) -> Bool {
        guard let space = value.firstIndex(of: ASCII.space) else { return false }
        let scheme = UnsafeRawBufferPointer(rebasing: value[..<space])
        let start = value[space...].firstIndex { $0 != ASCII.space } ?? value.count
        let rest = UnsafeRawBufferPointer(rebasing: value[start...])
        if ASCII.equalsIgnoringCase(scheme, "bearer") { return secret.equals(rest) }
        guard ASCII.equalsIgnoringCase(scheme, "basic"), rest.count <= 8192 else { return false }
        return withUnsafeTemporaryAllocation(byteCount: rest.count + 3, alignment: 1) { plain in
            defer { wipe(plain) }
            guard let count = Base64.decode(rest, into: plain) else { return false }
            let pair = UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(plain)[..<count])
            guard let colon = pair.firstIndex(of: ASCII.colon) else { return false }
            return secret.equals(UnsafeRawBufferPointer(rebasing: pair[(colon + 1)...]))
        }
    }
}

/// The decoder that Basic credentials need (RFC 4648 section 4); this room may not import Crypto's.
private enum Base64 {
    /// The number of bytes written, or nil when the text is not base64. Padding may be missing.
    static func decode(
        _ text: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Int? {
        var bits: UInt32 = 0
        var bitCount = 0
        var count = 0
        var end = text.count
        while end > 0, text.count - end < 2, text[end - 1] == ASCII.equals { end -= 1 }
        for index in 0..<end {
            guard let value = value(of: text[index]) else { return nil }
            bits = bits &<< 6 | value
            bitCount += 6
            if bitCount >= 8 {
                bitCount -= 8
                output[count] = UInt8(truncatingIfNeeded: bits &>> UInt32(bitCount))
                count += 1
            }
        }
        return count
    }

    private static func value(of byte: UInt8) -> UInt32? {
        switch byte {
        case 0x41...0x5A: UInt32(byte) - 0x41
        case 0x61...0x7A: UInt32(byte) - 0x61 + 26
        case 0x30...0x39: UInt32(byte) - 0x30 + 52
        case 0x2B: 62
        case 0x2F: 63
        default: nil
        }
    }
}
