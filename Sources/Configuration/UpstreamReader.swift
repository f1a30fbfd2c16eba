// Reads how a route's upstream is reached: over which TLS, at which address, into which networks.

import Routing
import Vocabulary

struct UpstreamReader {
    let problems: ProblemList
    let paths: PathResolver

    /// Keys that the short form has as well.
    static let sharedKeys = ["resolve", "allow_private_addresses"]
    static let keys = ["tls"]
    private static let tlsKeys = ["certificate", "key", "pins", "min_version"]

    func read(_ mapping: MappingReader, into spec: inout RouteSpec) {
        // At the top of a short form "tls" would be a listener's.
        if mapping.declares("tls") { spec.tls = tls(mapping) }
        spec.address = address(mapping)
        spec.allowsPrivateAddresses = mapping.bool("allow_private_addresses") ?? false
        if spec.tls != nil, spec.upstream.origin.scheme == .http {
            problems.add(
                mapping.place(of: "tls"), "\"tls\" means nothing for an http:// upstream",
                hint: "write https:// in the upstream's URL")
        }
    }

    private func address(_ mapping: MappingReader) -> String? {
        guard let text = mapping.name("resolve") else { return nil }
        let isBare = text.value.contains(":") && !text.value.hasPrefix("[")
        guard let parts = HostAndPort(isBare ? "[\(text.value)]" : text.value), parts.port == nil,
            parts.host.contains(":")
                || parts.host.utf8.allSatisfy({ $0 == 0x2E || $0 &- 0x30 < 10 })
        else {
            problems.add(
                text.place, "\(quoted(text.value)) is no address",
                hint: "write the address that the upstream has, without a port: 10.0.0.7 or fd00::7"
            )
            return nil
        }
        return parts.host
    }

    private func tls(_ mapping: MappingReader) -> UpstreamTLS? {
        guard let node = mapping.node("tls"),
            let inner = MappingReader(node, "\"tls\"", keys: Self.tlsKeys, problems: problems)
        else { return nil }
        var tls = UpstreamTLS()
        tls.certificateFile = inner.name("certificate").map { paths.resolve($0) }
        tls.keyFile = inner.name("key").map { paths.resolve($0) }
        if inner.has("certificate") != inner.has("key") {
            inner.missing(
                inner.has("key") ? "certificate" : "key",
                hint: "a client certificate is a chain and its key, both PEM")
        }
        tls.pins = (inner.texts("pins") ?? []).compactMap(pin)
        let versions = [("1.2", false), ("1.3", true)]
        tls.requiresTLS13 = inner.choice("min_version", versions) ?? false
        return tls
    }

    private func pin(_ text: Located<String>) -> [UInt8]? {
        let start = "sha256/"
        guard text.value.hasPrefix(start),
            let bytes = Self.base64(text.value.dropFirst(start.count)), bytes.count == 32
        else {
            problems.add(
                text.place, "\(quoted(text.value)) is no pin",
                hint: "write sha256/ and the Base64 of the digest of the public key, as curl's "
                    + "--pinnedpubkey has it behind its two slashes")
            return nil
        }
        return bytes
    }

    /// RFC 4648 section 4, padded; this room has no other use for it.
    private static func base64(_ text: Substring) -> [UInt8]? {
        let alphabet = Array(
            "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        let letters = Array(text.utf8)
        guard letters.count % 4 == 0 else { return nil }
        var bytes: [UInt8] = []
        var (bits, count) = (UInt32(0), 0)
        for letter in letters.prefix(while: { $0 != 0x3D }) {
            guard let value = alphabet.firstIndex(of: letter) else { return nil }
            bits = bits << 6 | UInt32(value)
            count += 6
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return bytes
    }
}
