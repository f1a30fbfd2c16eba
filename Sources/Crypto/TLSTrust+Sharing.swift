// Lending our certificate store to another library of this process, so that requests by libcurl and
// connections of workers believe the same authorities and pay for them once.

import COpenSSL

extension TLSTrust {
    /// The OpenSSL that `install` can speak for, in libcurl's words: "OpenSSL/3.0.22". An SSL_CTX of
    /// any other is not ours to touch.
    package static var library: String {
        "OpenSSL/" + String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
    }

    /// Has an `SSL_CTX` made by the same OpenSSL use the shared store in place of its own.
    package func install(in context: UnsafeMutableRawPointer) throws(TLSError) {
        let store = try TrustStore.shared(for: self)
        SSL_CTX_set1_cert_store(OpaquePointer(context), store.pointer)
    }
}
