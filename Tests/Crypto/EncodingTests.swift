// Digests, base64 and randomness against the vectors that their documents give.

import Bytes
import Crypto
import Testing

@Suite struct `Base64 text` {
    /// RFC 4648 section 10.
    static let vectors = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: vectors)
    func `agrees with the RFC`(plain: String, encoded: String) {
        let unpadded = String(encoded.prefix { $0 != "=" })
        #expect(Base64.encode(Array(plain.utf8), .standard) == encoded)
        #expect(Base64.encode(Array(plain.utf8), .url) == unpadded)
        #expect(Base64.encode(SecretBytes(plain), .standard) == SecretBytes(encoded))
        #expect(Base64.decode(encoded, .standard) == Array(plain.utf8))
        #expect(Base64.decode(unpadded, .url) == Array(plain.utf8))
    }

    @Test func `gives back every byte at every length`() {
        let bytes = (0..<256).map { UInt8($0) }
        for count in 0...256 {
            for alphabet in [Base64.Alphabet.standard, .url] {
                let text = Base64.encode(Array(bytes[..<count]), alphabet)
                #expect(text.utf8.count == Base64.encodedCount(count, alphabet))
                #expect(Base64.decode(text, alphabet) == Array(bytes[..<count]))
            }
        }
        #expect(Base64.encode([0xFB, 0xFF, 0xFE], .url) == "-__-")
        #expect(Base64.encode([0xFB, 0xFF, 0xFE], .standard) == "+//+")
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", "Z", "Zm9vYg=a", "=Zg=", "====", "Zm 9v", "Zm9v\n",
        "Zm9-", "ä",
    ])
    func `refuses what it would not write`(text: String) {
        #expect(Base64.decode(text, .standard) == nil)
    }

    @Test(arguments: ["Zg==", "Zh", "Zm9", "Z", "Zm9vYg=", "+//+", " Zg", "Zg\0"])
    func `refuses in the other alphabet`(text: String) {
        #expect(Base64.decode(text, .url) == nil)
    }
}

@Suite struct `A digest` {
    /// FIPS 180-4 examples.
    @Test(arguments: [
        ("", "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU"),
        ("abc", "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0"),
    ])
    func `of SHA-256 agrees with the standard`(text: String, expected: String) {
        #expect(Base64.encode(Digest.sha256(Array(text.utf8)), .url) == expected)
    }
}

@Suite struct `Random bytes` {
    @Test(arguments: [0, 1, 32, 256, 257, 1000])
    func `fill all they are given`(count: Int) {
        #expect(RandomBytes.make(count).count == count)
        #expect(RandomBytes.secret(count).count == count)
        // A run of 64 zero bytes would mean that a part was left out.
        let bytes = RandomBytes.make(count)
        for start in stride(from: 0, to: max(0, count - 64), by: 64) {
            #expect(bytes[start..<start + 64].contains { $0 != 0 })
        }
    }

    @Test func `never repeat`() {
        #expect(Set((0..<100).map { _ in RandomBytes.make(16) }).count == 100)
    }
}
