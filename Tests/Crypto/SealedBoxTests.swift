import Bytes
import Crypto
import Testing

@Suite struct `A sealed box` {
    private let key = SealingKey(SecretBytes(Array(0..<32)))!

    private func open(_ box: [UInt8], _ key: SealingKey, _ purpose: String = "a") -> SecretBytes? {
        box.withUnsafeBytes { SealedBox.open($0, key: key, associatedData: bytes(purpose)) }
    }

    @Test(arguments: [0, 1, 15, 16, 17, 4096, 1 << 20])
    func `gives back what was put in`(count: Int) {
        let plaintext = RandomBytes.secret(count)
        let box = SealedBox.seal(plaintext, key: key, associatedData: bytes("a"))
        #expect(box.count == count + SealedBox.overheadBytes)
        #expect(open(box, key) == plaintext)
    }

    @Test func `opens for one key, one purpose and unchanged, or not at all`() throws {
        let box = SealedBox.seal(SecretBytes("secret"), key: key, associatedData: bytes("a"))
        #expect(open(box, key, "b") == nil)
        #expect(open(box, key, "") == nil)
        #expect(open(box, try #require(SealingKey(RandomBytes.secret(32)))) == nil)
        for place in box.indices {
            for bit in 0..<8 {
                var other = box
                other[place] ^= 1 << bit
                #expect(open(other, key) == nil)
            }
            #expect(open(Array(box[..<place]), key) == nil)
        }
        #expect(open(box + [0], key) == nil)
        #expect(open([], key) == nil)
    }

    @Test func `never looks the same twice`() {
        let boxes = (0..<100).map { _ in
            SealedBox.seal(SecretBytes("secret"), key: key, associatedData: [])
        }
        #expect(Set(boxes).count == 100)
        #expect(
            boxes.allSatisfy { box in
                box.withUnsafeBytes { SealedBox.open($0, key: key, associatedData: []) }
                    == SecretBytes("secret")
            })
    }

    /// The Galois/Counter Mode of Operation (McGrew, Viega), test case 16.
    @Test func `is the standard's`() throws {
        func hex(_ text: String) -> [UInt8] {
            let digits = text.utf8.compactMap { ASCII.hexValue($0) }
            return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
        }
        let key = try #require(
            SealingKey(
                SecretBytes(
                    hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))))
        let box =
            hex("cafebabefacedbaddecaf888")
            + hex(
                """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                """) + hex("76fc6ece0f4e1768cddf8853bb2d551b")
        let plaintext = box.withUnsafeBytes {
            SealedBox.open(
                $0, key: key, associatedData: hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        }
        let expected = hex(
            """
            d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
            1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
            """)
        #expect(plaintext == SecretBytes(expected))
    }

    @Test(arguments: [0, 16, 31, 33])
    func `takes no key of another size`(count: Int) {
        #expect(SealingKey(RandomBytes.secret(count)) == nil)
    }
}

@Suite struct `A key from a passphrase` {
    /// RFC 7914 section 12.
    @Test(
        arguments: [
            ("", "", Scrypt.Cost(work: 16, blockSize: 1, parallelism: 1), "77d6576238657b20"),
            (
                "password", "NaCl", Scrypt.Cost(work: 1024, blockSize: 8, parallelism: 16),
                "fdbabe1c9d347200"
            ),
            (
                "pleaseletmein", "SodiumChloride",
                Scrypt.Cost(work: 16384, blockSize: 8, parallelism: 1), "7023bdcb3afd7348"
            ),
        ])
    func `agrees with the RFC`(
        passphrase: String, salt: String, cost: Scrypt.Cost, start: String
    ) throws {
        let key = try #require(
            Scrypt.derive(SecretBytes(passphrase), salt: bytes(salt), cost: cost, count: 64))
        let head = key.withBytes { bytes in
            bytes.prefix(8).map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }
        }
        #expect(head.joined() == start)
    }

    @Test(arguments: [
        Scrypt.Cost(work: 0, blockSize: 8, parallelism: 1),
        Scrypt.Cost(work: 1, blockSize: 8, parallelism: 1),
        Scrypt.Cost(work: 1000, blockSize: 8, parallelism: 1),
        Scrypt.Cost(work: 1024, blockSize: 0, parallelism: 1),
        Scrypt.Cost(work: 1024, blockSize: 8, parallelism: 0),
        Scrypt.Cost(work: 1 << 22, blockSize: 1024, parallelism: 1),
        Scrypt.Cost(work: .max, blockSize: .max, parallelism: .max),
    ])
    func `is not derived at a cost that is none or too high`(cost: Scrypt.Cost) {
        #expect(Scrypt.derive(SecretBytes("a"), salt: [1], cost: cost) == nil)
    }

    @Test func `depends on both`() throws {
        let cost = Scrypt.Cost(work: 16, blockSize: 8, parallelism: 1)
        let keys = try ["a", "b"].flatMap { passphrase in
            try [[], [UInt8(1)], [2]].map { salt in
                try #require(Scrypt.derive(SecretBytes(passphrase), salt: salt, cost: cost))
            }
        }
        #expect(keys.allSatisfy { $0.count == 32 })
        for (place, key) in keys.enumerated() {
            #expect(!keys[..<place].contains(key))
        }
    }
}
