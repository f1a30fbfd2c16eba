// The two forms of an ECDSA signature: OpenSSL's DER, a sequence of two integers (RFC 3279 section
// 2.2.3), and JOSE's, both as numbers of fixed length in a row (RFC 7518 section 3.4).

enum ECDSASignature {
    /// r and s as `size` bytes each.
    ///
    /// - Parameter der: what OpenSSL has just made.
    static func raw(der: UnsafeBufferPointer<UInt8>, size: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 2 * size) { target, count in
            target.initialize(repeating: 0)
            // 0x30, one or two bytes of length (a sequence of P-521 is longer than 127 bytes).
            var position = der[1] < 0x80 ? 2 : 3
            for end in [size, 2 * size] {
                // 0x02, a length below 128, and a zero byte before a number whose first bit is set.
                let length = Int(der[position + 1])
                let number = der[(position + 2)..<(position + 2 + length)]
                for (offset, byte) in number.reversed().enumerated() where offset < size {
                    target[end - 1 - offset] = byte
                }
                position += 2 + length
            }
            count = 2 * size
        }
    }

    /// - Parameter raw: an even number of bytes.
    static func der(raw: UnsafeRawBufferPointer) -> [UInt8] {
        let half = raw.count / 2
        return DER.sequence(DER.integer(raw[..<half]), DER.integer(raw[half...]))
    }
}
