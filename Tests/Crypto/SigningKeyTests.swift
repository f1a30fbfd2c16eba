// Private keys as administrators have them: made by the `openssl` program in every form, signed with
// here and verified there.

import Bytes
import Crypto
import Support
import Testing

/// The `openssl` program, which ca-certificates brings along on Debian.
struct OpenSSL {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// What it printed; fails the test when it failed.
    @discardableResult
    func run(_ arguments: String...) throws -> Octets {
        let process = try ChildProcess(
            ["/usr/bin/env", "openssl"] + arguments, environment: ["PATH": "/usr/bin:/bin"],
            directory: directory.path)
        let ending = try process.waitForEnd()
        try #require(
            ending == .exited(0), "openssl \(arguments): \(process.printed(.error))")
        return process.printed(.output)
    }

    func key(_ arguments: [String], passphrase: String? = nil) throws -> SigningKey {
        let process = try ChildProcess(
            ["/usr/bin/env", "openssl"] + arguments, environment: ["PATH": "/usr/bin:/bin"],
            directory: directory.path)
        try #require(try process.waitForEnd() == .exited(0))
        return try SigningKey(
            pem: SecretBytes(process.printed(.output).bytes),
            passphrase: passphrase.map { SecretBytes($0) })
    }
}

@Suite struct `A private key` {
    static let forms: [(arguments: [String], algorithms: [JWSAlgorithm])] = [
        (["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], [.es256]),
        (["ecparam", "-name", "secp384r1", "-genkey"], [.es384]),
        (["ecparam", "-name", "secp521r1", "-genkey", "-noout"], [.es512]),
        (["genpkey", "-algorithm", "ED25519"], [.edDSA]),
        (
            ["genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:3072"],
            [.rs256, .ps256, .rs384, .ps384, .rs512, .ps512]
        ),
        (["genrsa", "-traditional", "2048"], [.rs256, .ps256, .rs384, .ps384, .rs512, .ps512]),
    ]

    @Test(arguments: forms)
    func `is read in each form of PEM and signs what openssl verifies`(
        arguments: [String], algorithms: [JWSAlgorithm]
    ) throws {
        let program = try OpenSSL()
        let key = try program.key(arguments)
        #expect(key.algorithms == algorithms)

        // The same key again, as the login's record keeps it.
        let again = try SigningKey(stored: key.stored)
        #expect(again.thumbprint == key.thumbprint)
        try program.directory.write(Octets(key.stored.withBytes { Array($0) }), to: "key.der")
        try program.run("pkey", "-inform", "DER", "-in", "key.der", "-pubout", "-out", "public.pem")
        try program.directory.write("signed by us", to: "text")

        for algorithm in algorithms {
            let signature = again.sign(bytes("signed by us"), algorithm)
            #expect(key.verificationKey.verifies(signature, bytes("signed by us"), algorithm))
            try verify(signature, algorithm, with: program)
        }
    }

    private func verify(
        _ signature: [UInt8], _ algorithm: JWSAlgorithm, with program: OpenSSL
    ) throws {
        let directory = program.directory
        let digest = "-sha" + algorithm.rawValue.suffix(3)
        switch algorithm {
        case .edDSA:
            try directory.write(Octets(signature), to: "signature")
            try program.run(
                "pkeyutl", "-verify", "-pubin", "-inkey", "public.pem", "-rawin", "-in", "text",
                "-sigfile", "signature")
        case .es256, .es384, .es512:
            try directory.write(Octets(der(signature)), to: "signature")
            try program.run(
                "dgst", digest, "-verify", "public.pem", "-signature", "signature", "text")
        case .ps256, .ps384, .ps512:
            try directory.write(Octets(signature), to: "signature")
            try program.run(
                "dgst", digest, "-sigopt", "rsa_padding_mode:pss", "-sigopt",
                "rsa_pss_saltlen:digest", "-verify", "public.pem", "-signature", "signature",
                "text")
        default:
            try directory.write(Octets(signature), to: "signature")
            try program.run(
                "dgst", digest, "-verify", "public.pem", "-signature", "signature", "text")
        }
    }

    /// An encoder of the test's own.
    private func der(_ raw: [UInt8]) -> [UInt8] {
        var body: [UInt8] = []
        for half in [raw[..<(raw.count / 2)], raw[(raw.count / 2)...]] {
            var number = Array(half)
            while number.count > 1, number[0] == 0, number[1] < 0x80 { number.removeFirst() }
            if number[0] >= 0x80 { number.insert(0, at: 0) }
            body += [2, UInt8(number.count)] + number
        }
        return [0x30] + (body.count > 127 ? [0x81] : []) + [UInt8(body.count)] + body
    }

    @Test(arguments: ["-aes256", "-aes128"])
    func `that is encrypted needs its passphrase`(cipher: String) throws {
        let program = try OpenSSL()
        let modern = try program.run(
            "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", cipher, "-pass",
            "pass:open sesame")
        let old = try program.run(
            "genrsa", "-traditional", cipher, "-passout", "pass:open sesame", "2048")
        for pem in [modern, old] {
            let pem = SecretBytes(pem.bytes)
            let key = try SigningKey(pem: pem, passphrase: SecretBytes("open sesame"))
            #expect(key.sign([1], key.defaultAlgorithm).isEmpty == false)
            #expect(throws: KeyError.passphraseNeeded) { try SigningKey(pem: pem) }
            #expect(throws: KeyError.wrongPassphrase) {
                try SigningKey(pem: pem, passphrase: SecretBytes("open"))
            }
            #expect(throws: KeyError.wrongPassphrase) {
                try SigningKey(
                    pem: pem, passphrase: SecretBytes(String(repeating: "x", count: 5000)))
            }
        }
    }

    @Test(
        arguments: [
            (["genrsa", "1024"], .tooSmall(bits: 1024, bitsMin: 2048)),
            (
                ["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:secp256k1"],
                .unsupportedKind("secp256k1")
            ),
            (["genpkey", "-algorithm", "X25519"], .unsupportedKind("X25519")),
            (["genpkey", "-algorithm", "ED448"], .unsupportedKind("ED448")),
        ] as [([String], KeyError)])
    func `is refused for its kind or size`(arguments: [String], error: KeyError) throws {
        let program = try OpenSSL()
        #expect(throws: error) { try program.key(arguments) }
    }

    @Test func `is not read from anything else`() throws {
        let program = try OpenSSL()
        let pem = text(
            SecretBytes(
                try program.run(
                    "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"
                ).bytes))
        let unreadable = [
            "", "\0", "no key", "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
            String(pem.dropLast(60)), pem.replacing("PRIVATE", with: "PUBLIC"),
        ]
        for text in unreadable {
            #expect(throws: KeyError.unreadable) { try SigningKey(pem: SecretBytes(text)) }
            #expect(throws: KeyError.unreadable) { try SigningKey(stored: SecretBytes(text)) }
        }
        // Something beside the key does no harm.
        let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
        #expect(
            try SigningKey(pem: SecretBytes("a note\n" + certificate + pem)).kind
                == .ellipticCurve(.p256))
    }
}
