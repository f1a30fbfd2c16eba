// A certificate for this machine's own names, signed by its own key: for clients that insist on https to
// localhost. Whoever is to believe it must be given it.

package import Bytes
import COpenSSL

package enum SelfMadeCertificate {
    /// A P-256 key and a certificate for names and address literals (RFC 5280 section 4.2.1.6), good
    /// for that many days from now on, both PEM. It can sign nothing else.
    package static func make(
        for hosts: [String], days: Int
    ) throws(CertificateError) -> (certificate: SecretBytes, key: SecretBytes) {
        for host in hosts where !isHost(host) { throw .invalidHost(host) }
        let names = hosts.map { (isAddress($0) ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
        let key = makeKey()
        defer { EVP_PKEY_free(key) }
        guard let certificate = X509_new() else { outOfMemory() }
        defer { X509_free(certificate) }
        X509_set_version(certificate, 2)
        var serial: UInt64 = 0
        withUnsafeMutableBytes(of: &serial) { target in
            guard RAND_bytes(target.baseAddress, 8) == 1 else { outOfMemory() }
        }
        ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1 | 1)
        let subject = "credential-proxy on this machine"
        for name in [X509_get_subject_name(certificate), X509_get_issuer_name(certificate)] {
            X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, subject, -1, -1, 0)
        }
        // A clock that is a little behind must not refuse it.
        X509_gmtime_adj(X509_getm_notBefore(certificate), -300)
        X509_gmtime_adj(X509_getm_notAfter(certificate), days * 86_400)
        X509_set_pubkey(certificate, key)
        for (kind, value) in [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"),
            (NID_ext_key_usage, "serverAuth"), (NID_subject_alt_name, names),
        ] {
            guard let one = X509V3_EXT_conf_nid(nil, nil, kind, value) else {
                ERR_clear_error()
                throw .invalidHost(hosts.joined(separator: ", "))
            }
            X509_add_ext(certificate, one, -1)
            X509_EXTENSION_free(one)
        }
        guard X509_sign(certificate, key, EVP_sha256()) > 0 else { outOfMemory() }
        return (
            text { PEM_write_bio_X509($0, certificate) },
            text { PEM_write_bio_PrivateKey($0, key, nil, nil, 0, nil, nil) }
        )
    }

    private static func makeKey() -> OpaquePointer {
        var key: OpaquePointer?
        guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { outOfMemory() }
        defer { EVP_PKEY_CTX_free(context) }
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { outOfMemory() }
        return key
    }

    private static func text(_ write: (OpaquePointer) -> Int32) -> SecretBytes {
        guard let memory = BIO_new(BIO_s_mem()), write(memory) == 1 else { outOfMemory() }
        defer { BIO_free_all(memory) }
        let count = BIO_ctrl_pending(memory)
        return SecretBytes(count: count) { target in
            _ = BIO_read(memory, target.baseAddress, Int32(count))
        }
    }

    /// Letters that cannot end a value of the extension's text form and begin another.
    private static func isHost(_ host: String) -> Bool {
        (1...253).contains(host.utf8.count)
            && host.utf8.allSatisfy { byte in
                byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
                    || [0x2D, 0x2E, 0x3A, 0x5F, 0x2A].contains(byte)
            }
    }

    private static func isAddress(_ host: String) -> Bool {
        host.contains(":") || host.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 == ASCII.dot }
    }
}

package enum CertificateError: Error, Hashable, Sendable {
    /// A name that no certificate can bear.
    case invalidHost(String)
}
