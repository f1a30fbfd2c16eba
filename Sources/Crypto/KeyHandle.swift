// One OpenSSL key, private or public, with what was found out about it when it came in. Nothing that
// OpenSSL says of it stays in the thread's error queue, which TLS reads too.

import COpenSSL

/// Owns an `EVP_PKEY`.
final class KeyHandle: Sendable {
    /// RFC 7518 section 3.3 asks for 2048; more than 8192 only costs time, a stranger's choice.
    static let rsaBits = 2048...8192

    // SAFETY: OpenSSL counts references atomically, and a key is only read after its making.
    nonisolated(unsafe) let pointer: OpaquePointer
    let kind: KeyKind

    /// Takes over the caller's reference, also when it throws.
    init(owned pointer: OpaquePointer) throws(KeyError) {
        do throws(KeyError) {
            kind = try KeyHandle.kind(of: pointer)
        } catch {
            EVP_PKEY_free(pointer)
            throw error
        }
        self.pointer = pointer
    }

    deinit {
        EVP_PKEY_free(pointer)
    }

    private static func kind(of key: OpaquePointer) throws(KeyError) -> KeyKind {
        switch EVP_PKEY_get_base_id(key) {
        case EVP_PKEY_RSA:
            let bits = Int(EVP_PKEY_get_bits(key))
            if bits < rsaBits.lowerBound {
                throw .tooSmall(bits: bits, bitsMin: rsaBits.lowerBound)
            }
            if bits > rsaBits.upperBound {
                throw .tooLarge(bits: bits, bitsMax: rsaBits.upperBound)
            }
            return .rsa
        case EVP_PKEY_EC:
            let name = groupName(of: key)
            guard let curve = KeyKind.Curve.allCases.first(where: { $0.groupName == name }) else {
                throw .unsupportedKind(name.isEmpty ? "EC" : name)
            }
            return .ellipticCurve(curve)
        case EVP_PKEY_ED25519: return .ed25519
        default:
            throw .unsupportedKind(EVP_PKEY_get0_type_name(key).map { String(cString: $0) } ?? "?")
        }
    }

    /// Empty for a curve without a name.
    private static func groupName(of key: OpaquePointer) -> String {
        withoutTrace {
            var name = [CChar](repeating: 0, count: 64)
            var count = 0
            guard EVP_PKEY_get_group_name(key, &name, name.count, &count) == 1 else { return "" }
            return String(decoding: name.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
        }
    }

    // MARK: Public parts

    /// An unsigned number of the key, big-endian, in `size` bytes or as few as it has.
    func number(_ name: String, size: Int? = nil) -> [UInt8] {
        var number: OpaquePointer?
        guard EVP_PKEY_get_bn_param(pointer, name, &number) == 1, let number else { outOfMemory() }
        defer { BN_free(number) }
        let least = (Int(BN_num_bits(number)) + 7) / 8
        let size = max(size ?? least, least)
        return [UInt8](unsafeUninitializedCapacity: size) { target, count in
            count = Int(BN_bn2binpad(number, target.baseAddress, Int32(size)))
        }
    }

    /// The public half of Ed25519.
    var rawPublicKey: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: 32) { target, count in
            count = 32
            guard EVP_PKEY_get_raw_public_key(pointer, target.baseAddress, &count) == 1 else {
                outOfMemory()
            }
        }
    }

    /// The members of the public JWK, the required ones in the order of their names: what RFC 7638
    /// section 3.2 makes a thumbprint of.
    var publicJWK: [(name: String, value: String)] {
        switch kind {
        case .rsa:
            [
                ("e", Base64.encode(number("e"), .url)), ("kty", "RSA"),
                ("n", Base64.encode(number("n"), .url)),
            ]
        case .ellipticCurve(let curve):
            [
                ("crv", curve.rawValue), ("kty", "EC"),
                ("x", Base64.encode(number("qx", size: curve.coordinateBytes), .url)),
                ("y", Base64.encode(number("qy", size: curve.coordinateBytes), .url)),
            ]
        case .ed25519:
            [("crv", "Ed25519"), ("kty", "OKP"), ("x", Base64.encode(rawPublicKey, .url))]
        }
    }

    /// base64url of the SHA-256 of the required members (RFC 7638 section 3).
    var thumbprint: String {
        // Neither names nor values can hold a letter that JSON escapes.
        let members = publicJWK.map { "\"\($0.name)\":\"\($0.value)\"" }.joined(separator: ",")
        return Base64.encode(Digest.sha256(Array("{\(members)}".utf8)), .url)
    }

    /// Prepares a signing or verifying context for an algorithm that fits; nil when it does not.
    func prepare(
        _ context: OpaquePointer, _ algorithm: JWSAlgorithm,
        by start: (
            OpaquePointer?, UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, OpaquePointer?,
            OpaquePointer?
        ) -> Int32
    ) -> Bool {
        guard algorithm.fits(kind) else { return false }
        var parameters: OpaquePointer?
        let digest = kind == .ed25519 ? nil : algorithm.digest.method
        guard start(context, &parameters, digest, nil, pointer) == 1 else { return false }
        switch algorithm {
        case .ps256, .ps384, .ps512:
            // A salt as long as the digest (RFC 7518 section 3.5), and MGF1 with the same one.
            return EVP_PKEY_CTX_set_rsa_padding(parameters, RSA_PKCS1_PSS_PADDING) == 1
                && EVP_PKEY_CTX_set_rsa_pss_saltlen(parameters, RSA_PSS_SALTLEN_DIGEST) == 1
        default: return true
        }
    }
}

/// Runs OpenSSL's functions and takes back what they left in the error queue.
func withoutTrace<Value, Failure: Error>(
    _ body: () throws(Failure) -> Value
) throws(Failure) -> Value {
    ERR_set_mark()
    defer { ERR_pop_to_mark() }
    return try body()
}
