// Which name a certificate must bear. OpenSSL reads an empty name as "any" and a leading dot as "any
// name below", so neither may reach it.

import COpenSSL

/// A host that can be compared with a certificate (RFC 9110 section 4.3.4).
struct VerifiableHost {
    /// Without the final dot of an absolute name and without a zone.
    let text: String

    init(_ host: String) throws(TLSError) {
        var host = host[...]
        if host.contains(":"), let zone = host.firstIndex(of: "%") { host = host[..<zone] }
        if host.hasSuffix(".") { host = host.dropLast() }
        let isPlain = host.utf8.allSatisfy { 0x21...0x7E ~= $0 }
        guard isPlain, (1...255).contains(host.utf8.count), !host.hasPrefix(".") else {
            throw .invalidHost
        }
        text = String(host)
    }

    /// Has `ssl` accept this host's certificate only, and name the host to the server unless it is
    /// an address, which SNI has no place for (RFC 6066 section 3).
    func require(on ssl: OpaquePointer) {
        let parameters = SSL_get0_param(ssl)
        if X509_VERIFY_PARAM_set1_ip_asc(parameters, text) == 1 { return }
        ERR_clear_error()
        X509_VERIFY_PARAM_set_hostflags(
            parameters, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
        guard X509_VERIFY_PARAM_set1_host(parameters, text, text.utf8.count) == 1,
            COpenSSL_set_server_name(ssl, text) == 1
        else { outOfMemory() }
    }
}
