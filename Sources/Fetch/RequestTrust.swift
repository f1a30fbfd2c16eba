// Which authorities a request believes.

import CCurl

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A certificate store that somebody else keeps and lends to libcurl's TLS contexts.
package struct SharedTrust: Sendable {
    /// The TLS library whose contexts `install` understands, as libcurl names it.
    package let library: String
    /// Gets an `SSL_CTX`; returns why it could not.
    package let install: @Sendable (UnsafeMutableRawPointer) -> String?

    package init(
        library: String, install: @escaping @Sendable (UnsafeMutableRawPointer) -> String?
    ) {
        self.library = library
        self.install = install
    }

    /// Whether libcurl in this process uses that very library.
    var fits: Bool {
        guard let information = curl_version_info(CURLVERSION_FIRST),
            let version = information.pointee.ssl_version
        else { return false }
        return String(cString: version) == library
    }
}
