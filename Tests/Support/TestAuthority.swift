// A certificate authority that lives as long as a test: its own root, and servers' certificates good
// and bad, as PEM files in a directory of its own. Nothing outside ever trusts it.

import COpenSSL

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Makes certificates for P-256 keys.
package final class TestAuthority: Sendable {
    /// A server's PEM files.
    package struct Identity: Sendable {
        package let certificateFile: String
        package let keyFile: String
    }

    /// Where the files are; gone with the authority.
    package let directory: String
    /// The root certificate.
    package var caFile: String { directory + "/ca.pem" }
    private let name: String
    // SAFETY: an EVP_PKEY is not changed after it was generated.
    private nonisolated(unsafe) let key: OpaquePointer

    package init(name: String = "Test Authority") {
        var template = Array("/tmp/test-authority-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { fatalError("mkdtemp: \(errno)") }
        directory = String(cString: path)
        self.name = name
        key = makeKey()
        makeCertificate(
            subject: name, key: key, issuer: name, issuerKey: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
            ],
            validSeconds: -3600...86_400, into: caFile)
    }

    deinit {
        EVP_PKEY_free(key)
        guard let entries = opendir(directory) else { return }
        while let entry = readdir(entries) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            unlink(directory + "/" + name)
        }
        closedir(entries)
        rmdir(directory)
    }

    /// Gives the root a second name, by which OpenSSL finds it in `directory` (openssl-rehash(1)).
    package func addHashedName() {
        let subject = X509_NAME_new()
        defer { X509_NAME_free(subject) }
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, name, -1, -1, 0)
        let digits = String(X509_NAME_hash_ex(subject, nil, nil, nil), radix: 16)
        let padding = String(repeating: "0", count: 8 - digits.count)
        guard link(caFile, "\(directory)/\(padding)\(digits).0") == 0 else {
            fatalError("link: \(errno)")
        }
    }

    /// A certificate for names and address literals, valid in this span of seconds around now.
    package func identity(
        for hosts: [String], validSeconds: ClosedRange<Int> = -3600...3600,
        purpose: String = "serverAuth"
    ) -> Identity {
        let number = RandomNumber.next()
        let identity = Identity(
            certificateFile: "\(directory)/leaf-\(number).pem",
            keyFile: "\(directory)/leaf-\(number).key")
        let leafKey = makeKey()
        defer { EVP_PKEY_free(leafKey) }
        let names = hosts.map { ($0.isAddress ? "IP:" : "DNS:") + $0 }.joined(separator: ",")
        makeCertificate(
            subject: "leaf \(number)", key: leafKey, issuer: name, issuerKey: key,
            extensions: [
                (NID_basic_constraints, "critical,CA:FALSE"),
                (NID_key_usage, "critical,digitalSignature"),
                (NID_ext_key_usage, purpose),
                (NID_subject_alt_name, names),
            ],
            validSeconds: validSeconds, into: identity.certificateFile)
        write(to: identity.keyFile) {
            PEM_write_bio_PrivateKey($0, leafKey, nil, nil, 0, nil, nil)
        }
        return identity
    }

    /// For localhost, 127.0.0.1 and ::1.
    package func loopback() -> Identity { identity(for: ["localhost", "127.0.0.1", "::1"]) }

    /// For the same hosts, but an hour too old.
    package func expired() -> Identity {
        identity(for: ["localhost", "127.0.0.1", "::1"], validSeconds: -7200 ... -3600)
    }

    /// For the same hosts, but only from the next hour on.
    package func notYetValid() -> Identity {
        identity(for: ["localhost", "127.0.0.1", "::1"], validSeconds: 3600...7200)
    }

    /// Valid, but for nobody's host.
    package func wrongHost() -> Identity { identity(for: ["elsewhere.test", "192.0.2.1"]) }
}

private enum RandomNumber {
    static func next() -> UInt32 { UInt32.random(in: 1...UInt32.max) }
}

extension String {
    fileprivate var isAddress: Bool {
        contains(":") || utf8.allSatisfy { $0 == UInt8(ascii: ".") || $0 &- 0x30 < 10 }
    }
}

private func makeKey() -> OpaquePointer {
    guard let context = EVP_PKEY_CTX_new_from_name(nil, "EC", nil) else { fatalError("no EC keys") }
    defer { EVP_PKEY_CTX_free(context) }
    var key: OpaquePointer?
    guard EVP_PKEY_keygen_init(context) == 1,
        EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
        EVP_PKEY_generate(context, &key) == 1, let key
    else { fatalError("cannot generate a key") }
    return key
}

private func makeCertificate(
    subject: String, key: OpaquePointer, issuer: String, issuerKey: OpaquePointer,
    extensions: [(Int32, String)], validSeconds: ClosedRange<Int>, into path: String
) {
    guard let certificate = X509_new() else { fatalError("out of memory") }
    defer { X509_free(certificate) }
    X509_set_version(certificate, 2)
    ASN1_INTEGER_set_uint64(
        X509_get_serialNumber(certificate), UInt64(RandomNumber.next()))
    for (name, text) in [
        (X509_get_subject_name(certificate), subject), (X509_get_issuer_name(certificate), issuer),
    ] {
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0)
    }
    X509_gmtime_adj(X509_getm_notBefore(certificate), validSeconds.lowerBound)
    X509_gmtime_adj(X509_getm_notAfter(certificate), validSeconds.upperBound)
    X509_set_pubkey(certificate, key)
    for (nid, value) in extensions {
        guard let one = X509V3_EXT_conf_nid(nil, nil, nid, value) else {
            fatalError("no such extension: \(value)")
        }
        X509_add_ext(certificate, one, -1)
        X509_EXTENSION_free(one)
    }
    guard X509_sign(certificate, issuerKey, EVP_sha256()) > 0 else { fatalError("cannot sign") }
    write(to: path) { PEM_write_bio_X509($0, certificate) }
}

private func write(to path: String, _ body: (OpaquePointer) -> Int32) {
    guard let file = BIO_new_file(path, "w"), body(file) == 1 else {
        fatalError("cannot write \(path)")
    }
    BIO_free_all(file)
}
