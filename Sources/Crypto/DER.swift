// The little of DER (X.690 section 10) that keys and signatures need, written only: what OpenSSL is to
// read.

enum DER {
    static func sequence(_ parts: [UInt8]...) -> [UInt8] { element(0x30, parts.flatMap { $0 }) }

    /// An unsigned number of any length, zeros in front or not.
    static func integer(_ number: some Sequence<UInt8>) -> [UInt8] {
        var digits = Array(number.drop { $0 == 0 })
        // A first bit that is set would make it negative.
        if digits.isEmpty || digits[0] >= 0x80 { digits.insert(0, at: 0) }
        return element(0x02, digits)
    }

    /// Whole bytes.
    static func bitString(_ bytes: [UInt8]) -> [UInt8] { element(0x03, [0] + bytes) }

    /// - Parameter encoded: the content, as the registries give it.
    static func objectIdentifier(_ encoded: [UInt8]) -> [UInt8] { element(0x06, encoded) }

    static let null: [UInt8] = [0x05, 0x00]

    private static func element(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        var length: [UInt8] = []
        var count = content.count
        while count > 0 {
            length.insert(UInt8(count & 0xFF), at: 0)
            count >>= 8
        }
        if content.count < 0x80 {
            length = [UInt8(content.count)]
        } else {
            length.insert(0x80 | UInt8(length.count), at: 0)
        }
        return [tag] + length + content
    }
}
