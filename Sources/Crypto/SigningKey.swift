// A private key that signs for JOSE. It comes from a PEM file of an administrator's or is made here;
// it leaves only as `stored`, for the login's own record.

package import Bytes
import COpenSSL

package final class SigningKey: Sendable {
    private let handle: KeyHandle
    /// The members of the public JWK in the order of their names (RFC 7517 section 4), the required
    /// ones only (RFC 7638 section 3.2).
    package let publicJWK: [(name: String, value: String)]
    /// base64url of the SHA-256 of that JWK (RFC 7638): `kid`, `jkt`, `dpop_jkt`.
    package let thumbprint: String

    private init(_ handle: KeyHandle) {
        self.handle = handle
        publicJWK = handle.publicJWK
        thumbprint = handle.thumbprint
    }

    package var kind: KeyKind { handle.kind }
    /// What the key can sign with, the default first.
    package var algorithms: [JWSAlgorithm] { kind.algorithms }
    package var defaultAlgorithm: JWSAlgorithm { algorithms[0] }
    package var verificationKey: VerificationKey { VerificationKey(handle) }

    // MARK: Making and keeping

    /// A fresh key for an algorithm; RSA keys get 2048 bits.
    ///
    /// - Parameter algorithm: not one of HMAC.
    package static func generate(_ algorithm: JWSAlgorithm) -> SigningKey {
        let key = withoutTrace { () -> OpaquePointer? in
            let name =
                switch algorithm {
                case .es256, .es384, .es512: "EC"
                case .rs256, .rs384, .rs512, .ps256, .ps384, .ps512: "RSA"
                case .edDSA: "ED25519"
                case .hs256, .hs384, .hs512:
                    preconditionFailure("a shared secret is no signing key")
                }
            guard let context = EVP_PKEY_CTX_new_from_name(nil, name, nil) else { outOfMemory() }
            defer { EVP_PKEY_CTX_free(context) }
            var key: OpaquePointer?
            guard EVP_PKEY_keygen_init(context) == 1 else { return nil }
            if name == "RSA", EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2048) != 1 { return nil }
            for curve in KeyKind.Curve.allCases where algorithm.fits(.ellipticCurve(curve)) {
                guard EVP_PKEY_CTX_set_group_name(context, curve.groupName) == 1 else { return nil }
            }
            return EVP_PKEY_generate(context, &key) == 1 ? key : nil
        }
        guard let key, let handle = try? KeyHandle(owned: key) else {
            fatalError("OpenSSL cannot make a key for \(algorithm.rawValue)")
        }
        return SigningKey(handle)
    }

    /// Reads the first private key in PEM: PKCS#8, plain or encrypted (RFC 5958), PKCS#1 (RFC 8017
    /// appendix A.1.2) or SEC 1 (RFC 5915). Certificates and parameters beside it are passed over.
    package convenience init(
        pem: SecretBytes, passphrase: SecretBytes? = nil
    ) throws(KeyError) {
        let reading = PassphraseReading(passphrase)
        let key = pem.withBytes { bytes in
            withoutTrace { () -> OpaquePointer? in
                guard let source = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count))
                else { return nil }
                defer { BIO_free(source) }
                // Without a callback OpenSSL would ask on the terminal.
                return PEM_read_bio_PrivateKey(
                    source, nil,
                    { target, size, _, context in
                        PassphraseReading.at(context).copy(to: target, size: size)
                        // SAFETY: `reading` lives until the call is over.
                    }, Unmanaged.passUnretained(reading).toOpaque())
            }
        }
        guard let key else {
            guard reading.wasAsked else { throw .unreadable }
            throw passphrase == nil ? .passphraseNeeded : .wrongPassphrase
        }
        self.init(try KeyHandle(owned: key))
    }

    /// - Parameter stored: what `stored` gave.
    package convenience init(stored: SecretBytes) throws(KeyError) {
        let key = stored.withBytes { bytes in
            withoutTrace { () -> OpaquePointer? in
                var place = bytes.bindMemory(to: UInt8.self).baseAddress
                return d2i_AutoPrivateKey(nil, &place, bytes.count)
            }
        }
        guard let key else { throw .unreadable }
        self.init(try KeyHandle(owned: key))
    }

    /// The whole key as PKCS#8 in DER (RFC 5958), unencrypted.
    package var stored: SecretBytes {
        withoutTrace {
            guard let information = EVP_PKEY2PKCS8(handle.pointer) else { outOfMemory() }
            defer { PKCS8_PRIV_KEY_INFO_free(information) }
            let count = i2d_PKCS8_PRIV_KEY_INFO(information, nil)
            guard count > 0 else { outOfMemory() }
            return SecretBytes(count: Int(count)) { target in
                var place = target.bindMemory(to: UInt8.self).baseAddress
                i2d_PKCS8_PRIV_KEY_INFO(information, &place)
            }
        }
    }

    // MARK: Signing

    /// A signature in JOSE's form (RFC 7518 section 3; RFC 8037 section 3.1).
    ///
    /// - Parameter algorithm: one of `algorithms`.
    package func sign(
        _ bytes: UnsafeRawBufferPointer, as algorithm: JWSAlgorithm
    ) -> [UInt8] {
        precondition(algorithm.fits(kind), "the key cannot sign with \(algorithm.rawValue)")
        let signature = withoutTrace { () -> [UInt8] in
            guard let context = EVP_MD_CTX_new() else { outOfMemory() }
            defer { EVP_MD_CTX_free(context) }
            guard handle.prepare(context, algorithm, by: EVP_DigestSignInit) else { outOfMemory() }
            let source = bytes.bindMemory(to: UInt8.self).baseAddress
            let countMax = Int(EVP_PKEY_get_size(handle.pointer))
            return [UInt8](unsafeUninitializedCapacity: countMax) { target, count in
                var written = countMax
                guard
                    EVP_DigestSign(context, target.baseAddress, &written, source, bytes.count) == 1
                else { fatalError("OpenSSL does not sign with \(algorithm.rawValue)") }
                count = written
            }
        }
        guard case .ellipticCurve(let curve) = kind else { return signature }
        return signature.withUnsafeBufferPointer { der in
            ECDSASignature.raw(der: der, size: curve.coordinateBytes)
        }
    }

    /// A signing context for one SHA-256 digest after another, to be copied by each thread.
    func makeDigestSigner() -> OpaquePointer {
        guard let context = EVP_PKEY_CTX_new(handle.pointer, nil),
            EVP_PKEY_sign_init(context) == 1
        else { outOfMemory() }
        return context
    }
}

/// A passphrase on its way through OpenSSL, and whether it was asked for.
private final class PassphraseReading {
    private let passphrase: SecretBytes?
    private(set) var wasAsked = false

    init(_ passphrase: SecretBytes?) {
        self.passphrase = passphrase
    }

    // SAFETY: `SigningKey.init(pem:passphrase:)` holds the object for as long as OpenSSL reads.
    static func at(_ context: UnsafeMutableRawPointer?) -> PassphraseReading {
        Unmanaged.fromOpaque(context!).takeUnretainedValue()
    }

    /// pem_password_cb(3): the length, or -1 for none.
    func copy(to target: UnsafeMutablePointer<CChar>?, size: Int32) -> Int32 {
        wasAsked = true
        guard let passphrase, let target, passphrase.count <= Int(size) else { return -1 }
        passphrase.withBytes { bytes in
            UnsafeMutableRawBufferPointer(start: target, count: bytes.count)
                .copyMemory(from: bytes)
        }
        return Int32(passphrase.count)
    }
}
