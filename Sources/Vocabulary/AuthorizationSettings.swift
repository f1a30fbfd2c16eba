// What an authorization request says besides scopes and besides what each login makes fresh. A
// property that is empty sends nothing; no parameter is sent twice.

/// Parameters that have keys of their own in the configuration.
package struct AuthorizationSettings: Equatable, Sendable {
    /// Whether requests are pushed even where the server does not demand it (RFC 9126).
    package var isPushed = false
    /// Whether a login stops where the metadata does not list S256, as the MCP authorization
    /// specification demands.
    package var requiresPKCEMetadata = false
    /// Whether a login fails that is granted less than it asked for.
    package var isScopeStrict = false
    /// `resource`, each an absolute URI without a fragment; sent with code exchanges and refreshes as
    /// well (RFC 8707 section 2).
    package var resources: [String] = []
    /// `vtr`, sent as one JSON array (RFC 8485 section 4.1).
    package var vectorsOfTrust: [String] = []
    /// `ui_locales`, the preferred one first (OpenID Connect Core section 3.1.2.1).
    package var locales: [String] = []
    package var loginHint: String?
    /// `prompt`.
    package var prompts: [String] = []
    /// `audience`, which some providers use in place of `resource`.
    package var audience: String?
    /// `acr_values`, the preferred one first.
    package var contextClasses: [String] = []
    /// `max_age`: how long ago the person may have authenticated; 0 asks for it now.
    package var maxAgeSeconds: Int64?
    package var responseMode: String?

    package init() {}
}

/// An address on this machine that a browser comes back to (RFC 8252 section 7.3).
package struct LoopbackAddress: Hashable, Sendable {
    /// "127.0.0.1" or "localhost", as registered with the provider.
    package var host: String
    /// Nil: a free one.
    package var port: UInt16?
    package var path: String

    package init(host: String = "127.0.0.1", port: UInt16? = nil, path: String) {
        self.host = host
        self.port = port
        self.path = path
    }

    /// The address with a port that is known.
    package func url(port: UInt16) -> String { "http://\(host):\(port)\(path)" }
}
