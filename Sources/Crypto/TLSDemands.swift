// What a connection to a server may ask beyond a certificate that somebody trusted has signed: a key that
// is known, a newer version, and the certificate that we show ourselves (RFC 8446 section 4.4.2).

import COpenSSL

/// Demands of one upstream. By default none.
package struct TLSDemands: Hashable, Sendable {
    /// Our own certificate chain, leaf first, and its key; PEM. Both or neither.
    package var certificateFile: String?
    package var keyFile: String?
    /// SHA-256 of public keys (SubjectPublicKeyInfo; RFC 7469 section 2.4): one certificate of the verified
    /// chain must have one of them. None: any.
    package var pins: [[UInt8]] = []
    package var requiresTLS13 = false

    package init() {}
}

extension TLSContext {
    func meet(_ demands: TLSDemands) throws(TLSError) {
        if demands.requiresTLS13 { _ = COpenSSL_set_min_version(pointer, TLS1_3_VERSION) }
        if let certificate = demands.certificateFile, let key = demands.keyFile {
            try show(certificateFile: certificate, keyFile: key)
        }
    }

    /// Whether the chain that was verified holds a pinned key.
    func holdsPin(_ ssl: OpaquePointer) -> Bool {
        guard !pins.isEmpty else { return true }
        // A resumed session was begun by a connection that was judged (SSL_get0_verified_chain(3): it
        // has no chain of its own).
        if SSL_session_reused(ssl) == 1 { return true }
        guard let chain = SSL_get0_verified_chain(ssl) else { return false }
        for index in 0..<OPENSSL_sk_num(chain) {
            guard let certificate = OPENSSL_sk_value(chain, index) else { continue }
            let key = X509_get_X509_PUBKEY(OpaquePointer(certificate))
            var encoded: UnsafeMutablePointer<UInt8>?
            let count = i2d_X509_PUBKEY(key, &encoded)
            guard count > 0, let encoded else { continue }
            let digest = Digest.sha256(UnsafeRawBufferPointer(start: encoded, count: Int(count)))
            CRYPTO_free(encoded, nil, 0)
            if pins.contains(digest) { return true }
        }
        return false
    }
}
