// An upstream's URL, read whole: the origin that a credential is bound to and the path that every
// request is put beneath. It opens nothing, looks up no name and changes no octet of the path.

import Bytes
package import Vocabulary

/// `http` or `https`, host, port and a base path; no user, no query, no fragment.
package struct UpstreamURL: Hashable, Sendable {
    package let origin: Origin
    /// Empty, or begins with "/" and does not end with one.
    package let basePath: String
    /// Whether the path was written with a "/" at its end, which counts where it is asked for by itself.
    package let endsInSlash: Bool

    package init(origin: Origin, basePath: String = "") {
        self.origin = origin
        self.basePath = basePath
        endsInSlash = false
    }

    /// Reads `scheme "://" host [":" port] path` (RFC 3986 section 3; RFC 9110 section 4.2).
    package init(_ text: String) throws(URLError) {
        let (scheme, rest) = try Self.scheme(of: text)
        let authorityEnd = rest.firstIndex { "/?#".contains($0) } ?? rest.endIndex
        let (host, port) = try Self.authority(rest[..<authorityEnd])
        origin = Origin(scheme: scheme, host: host, port: port ?? scheme.defaultPort)
        basePath = try Self.path(rest[authorityEnd...])
        endsInSlash = text.hasSuffix("/")
    }

    /// Why a text is no upstream URL.
    package enum URLError: Error, Hashable, Sendable {
        case schemeMissing
        case schemeUnsupported(String)
        case hasUser
        case hasQuery
        case hasFragment
        case hostInvalid(String)
        case portInvalid(String)
        case pathInvalid(String)
    }
}

extension UpstreamURL {
    private static func scheme(
        of text: String
    ) throws(URLError) -> (Origin.Scheme, Substring) {
        guard let separator = text.firstRange(of: "://") else { throw .schemeMissing }
        let name = text[..<separator.lowerBound].lowercased()
        guard let scheme = Origin.Scheme(rawValue: name) else { throw .schemeUnsupported(name) }
        return (scheme, text[separator.upperBound...])
    }

    private static func authority(
        _ text: Substring
    ) throws(URLError) -> (host: String, port: UInt16?) {
        guard !text.contains("@") else { throw .hasUser }
        guard let parts = HostAndPort(text) else { throw .hostInvalid(String(text)) }
        guard let portText = parts.port else { return (parts.host, nil) }
        guard let port = UInt16(portText), port > 0, portText.utf8.allSatisfy(ASCII.isDigit) else {
            throw .portInvalid(portText)
        }
        return (parts.host, port)
    }

    private static func path(_ text: Substring) throws(URLError) -> String {
        guard !text.contains("?") else { throw .hasQuery }
        guard !text.contains("#") else { throw .hasFragment }
        let path = String(text)
        guard PathPrefix.isWellFormed(path) else { throw .pathInvalid(path) }
        return PathPrefix.trimmed(path)
    }
}

extension UpstreamURL: CustomStringConvertible {
    package var description: String { origin.description + basePath }
}
