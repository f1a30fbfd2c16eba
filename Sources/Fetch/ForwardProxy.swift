// Which forward proxy, if any, stands between us and an origin. Requests of our own and connections
// dialled for workers follow the same rules, and libcurl's own reading of the environment is off.

package import Bytes
import CCurl
package import Vocabulary

/// The forward proxies of this process.
///
/// From the environment: `https_proxy`, else `HTTPS_PROXY`, for https origins; `http_proxy` for http
/// origins, in lower case only, since a CGI sets HTTP_PROXY from a request; `all_proxy`, else
/// `ALL_PROXY`, for both; `no_proxy`, else `NO_PROXY`, for exceptions. An origin on this machine is
/// never reached through a proxy.
package struct ForwardProxy: Sendable {
    /// One proxy.
    package struct Hop: Sendable {
        package enum Scheme: String, Sendable {
            case http, socks4, socks4a, socks5, socks5h
        }

        package let scheme: Scheme
        /// Without brackets.
        package let host: String
        package let port: UInt16
        package let user: String?
        package let password: SecretBytes?

        /// For libcurl and for people: scheme, host and port only.
        package var address: String {
            "\(scheme.rawValue)://" + (host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
    }

    private let http: Hop?
    private let https: Hop?
    private let exceptions: NoProxyList

    /// No proxy at all.
    package static let none = ForwardProxy(http: nil, https: nil, exceptions: NoProxyList(""))

    /// As the environment says. `listening` are our own ports, which a proxy must not lead back to.
    package init(
        environment: [String: String], listening: [UInt16] = []
    ) throws(ForwardProxyError) {
        func hop(_ names: String...) throws(ForwardProxyError) -> Hop? {
            for name in names {
                guard let value = environment[name], !value.isEmpty else { continue }
                return try Hop(value, setting: name, listening: listening)
            }
            return nil
        }
        let all = try hop("all_proxy", "ALL_PROXY")
        self.init(
            http: try hop("http_proxy") ?? all,
            https: try hop("https_proxy", "HTTPS_PROXY") ?? all,
            exceptions: NoProxyList(environment["no_proxy"] ?? environment["NO_PROXY"] ?? ""))
    }

    /// One proxy for all origins, as a configuration says in `setting`.
    package init(
        url: String, exceptions: [String] = [], setting: String, listening: [UInt16] = []
    ) throws(ForwardProxyError) {
        let hop = try Hop(url, setting: setting, listening: listening)
        self.init(
            http: hop, https: hop, exceptions: NoProxyList(exceptions.joined(separator: ",")))
    }

    private init(http: Hop?, https: Hop?, exceptions: NoProxyList) {
        self.http = http
        self.https = https
        self.exceptions = exceptions
    }

    /// The proxy on the way to `origin`, or nil for none.
    package func hop(for origin: Origin) -> Hop? {
        guard !origin.isLoopback, let hop = origin.scheme == .http ? http : https,
            !exceptions.contains(origin)
        else { return nil }
        return hop
    }
}

extension ForwardProxy.Hop {
    /// Without a scheme it is an HTTP proxy; without a port it listens on 1080, as for curl.
    fileprivate init(
        _ text: String, setting: String, listening: [UInt16]
    ) throws(ForwardProxyError) {
        guard let url = curl_url() else { throw .malformed(setting: setting) }
        defer { curl_url_cleanup(url) }
        let whole = text.contains("://") ? text : "http://" + text
        guard
            curl_url_set(url, CURLUPART_URL, whole, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK,
            let name = WebAddress.part(CURLUPART_SCHEME, of: url)?.lowercased(),
            var host = WebAddress.part(CURLUPART_HOST, of: url)?.lowercased(), !host.isEmpty
        else { throw .malformed(setting: setting) }
        if name == "https" { throw .encrypted(setting: setting) }
        guard let scheme = Scheme(rawValue: name == "socks" ? "socks5" : name) else {
            throw .unknownScheme(setting: setting, scheme: name)
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        let port = WebAddress.part(CURLUPART_PORT, of: url).map { UInt16($0) } ?? 1080
        guard let port, port > 0 else { throw .malformed(setting: setting) }
        if listening.contains(port), Origin(scheme: .http, host: host, port: port).isLoopback {
            throw .loop(setting: setting, port: port)
        }
        self.scheme = scheme
        self.host = host
        self.port = port
        user = WebAddress.part(CURLUPART_USER, of: url, CURLU_URLDECODE)
        password = WebAddress.part(CURLUPART_PASSWORD, of: url, CURLU_URLDECODE)
            .map { SecretBytes($0) }
    }
}

/// Why a forward proxy cannot be used. `setting` is the variable or key that names it; its value may
/// hold a password and is never repeated.
package enum ForwardProxyError: Error, Hashable, Sendable {
    case malformed(setting: String)
    /// It speaks TLS itself, so no plain socket comes out of it.
    case encrypted(setting: String)
    case unknownScheme(setting: String, scheme: String)
    /// It is this very process.
    case loop(setting: String, port: UInt16)

    package var reason: String {
        switch self {
        case .malformed(let setting): "\(setting) is no URL of a proxy"
        case .encrypted(let setting): "\(setting) names a proxy that is spoken to with TLS"
        case .unknownScheme(let setting, let scheme):
            "\(setting) names a proxy of an unknown kind, \"\(scheme)\""
        case .loop(let setting, let port):
            "\(setting) leads back to this proxy on port \(port)"
        }
    }

    package var hint: String {
        switch self {
        case .malformed, .unknownScheme: "write it like http://host:3128 or socks5h://host:1080"
        case .encrypted: "use the http:// address of the same proxy; https traffic is tunnelled"
        case .loop(let setting, _): "unset \(setting) for this process"
        }
    }
}
