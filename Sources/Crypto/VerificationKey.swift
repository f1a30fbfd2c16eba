// The key of somebody whose signatures are checked, from the members of a JWK (RFC 7517; RFC 7518
// section 6; RFC 8037 section 2). It verifies only with the algorithms that its own kind allows, so
// that no header can have an RSA key used as a shared secret (RFC 8725 section 2.1).

import COpenSSL

package struct VerificationKey: Sendable {
    let handle: KeyHandle

    /// - Parameter members: the value of a JWK's string member, nil where there is none.
    package init(
        jwk member: (_ name: String) -> String?
    ) throws(KeyError) {
        guard let type = member("kty") else { throw .missing(member: "kty") }
        func bytes(_ name: String) throws(KeyError) -> [UInt8] {
            guard let text = member(name) else { throw .missing(member: name) }
            // A padded or otherwise careless text is one that readers disagree about.
            guard text.utf8.count <= 2048, let bytes = Base64.decode(text, .url), !bytes.isEmpty
            else { throw .invalid(member: name) }
            return bytes
        }
        switch type {
        case "RSA": handle = try Self.rsa(modulus: bytes("n"), exponent: bytes("e"))
        case "EC":
            guard let name = member("crv") else { throw .missing(member: "crv") }
            guard let curve = KeyKind.Curve(rawValue: name) else { throw .unsupportedKind(name) }
            handle = try Self.point(of: curve, x: bytes("x"), y: bytes("y"))
        case "OKP":
            guard let name = member("crv") else { throw .missing(member: "crv") }
            guard name == "Ed25519" else { throw .unsupportedKind(name) }
            handle = try Self.edwards(x: bytes("x"))
        default: throw .unsupportedKind(type)
        }
    }

    init(_ handle: KeyHandle) {
        self.handle = handle
    }

    package var kind: KeyKind { handle.kind }
    /// RFC 7638.
    package var thumbprint: String { handle.thumbprint }

    /// Whether the key's owner signed these bytes; false too for an algorithm that is not the key's.
    ///
    /// - Parameter signature: in JOSE's form.
    package func verify(
        _ signature: [UInt8], over bytes: UnsafeRawBufferPointer, as algorithm: JWSAlgorithm
    ) -> Bool {
        var signature = signature
        if case .ellipticCurve(let curve) = handle.kind {
            guard signature.count == 2 * curve.coordinateBytes else { return false }
            signature = signature.withUnsafeBytes { ECDSASignature.der(raw: $0) }
        }
        return withoutTrace {
            guard let context = EVP_MD_CTX_new() else { outOfMemory() }
            defer { EVP_MD_CTX_free(context) }
            guard handle.prepare(context, algorithm, by: EVP_DigestVerifyInit) else { return false }
            return EVP_DigestVerify(
                context, signature, signature.count,
                bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count) == 1
        }
    }

    // MARK: Making

    private static func rsa(
        modulus: [UInt8], exponent: [UInt8]
    ) throws(KeyError) -> KeyHandle {
        // OpenSSL would compute with any number; an even or tiny one is no key.
        guard let last = exponent.last, last & 1 == 1, exponent.count <= 8, exponent != [1] else {
            throw .invalid(member: "e")
        }
        guard modulus.last.map({ $0 & 1 }) == 1 else { throw .invalid(member: "n") }
        return try decode(
            DER.sequence(DER.objectIdentifier(rsaEncryption), DER.null),
            DER.sequence(DER.integer(modulus), DER.integer(exponent)), faulty: "n")
    }

    private static func point(
        of curve: KeyKind.Curve, x: [UInt8], y: [UInt8]
    ) throws(KeyError) -> KeyHandle {
        guard x.count == curve.coordinateBytes else { throw .invalid(member: "x") }
        guard y.count == curve.coordinateBytes else { throw .invalid(member: "y") }
        // Uncompressed (SEC 1 section 2.3.3). OpenSSL refuses what lies off the curve.
        return try decode(
            DER.sequence(
                DER.objectIdentifier(ellipticCurveKey), DER.objectIdentifier(curve.identifier)),
            [0x04] + x + y, faulty: "y")
    }

    private static func edwards(x: [UInt8]) throws(KeyError) -> KeyHandle {
        let key = withoutTrace {
            x.count == 32
                ? EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, x, x.count) : nil
        }
        guard let key else { throw .invalid(member: "x") }
        return try KeyHandle(owned: key)
    }

    /// PKCS#1 and SEC 1's names for the kinds of keys (RFC 3279 sections 2.3.1 and 2.3.5).
    private static let rsaEncryption: [UInt8] = [
        0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01,
    ]
    private static let ellipticCurveKey: [UInt8] = [0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01]

    /// By way of a SubjectPublicKeyInfo (RFC 5280 section 4.1.2.7).
    private static func decode(
        _ algorithm: [UInt8], _ key: [UInt8], faulty member: String
    ) throws(KeyError) -> KeyHandle {
        let document = DER.sequence(algorithm, DER.bitString(key))
        let decoded = withoutTrace {
            document.withUnsafeBufferPointer { bytes in
                var place = bytes.baseAddress
                return d2i_PUBKEY(nil, &place, bytes.count)
            }
        }
        guard let decoded else { throw .invalid(member: member) }
        return try KeyHandle(owned: decoded)
    }
}
