// What a route asks of the TLS connection to its upstream, beyond the system's usual care. It names files
// and reads none.

/// Part of an upstream's identity: connections that differ in it are never shared.
package struct UpstreamTLS: Hashable, Sendable {
    /// The proxy's own certificate chain, leaf first, and its key; PEM.
    package var certificateFile: String?
    package var keyFile: String?
    /// SHA-256 of public keys (SubjectPublicKeyInfo, RFC 7469 section 2.4), 32 bytes each: one of them
    /// must be in the upstream's verified chain.
    package var pins: [[UInt8]] = []
    /// Nothing older than TLS 1.3 is spoken.
    package var requiresTLS13 = false

    package init() {}
}
