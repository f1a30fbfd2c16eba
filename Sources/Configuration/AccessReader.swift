// Reads who may call: more hosts, origins of pages, the local secret, a required field.

import Routing
import Vocabulary

struct AccessReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    func settings() -> AccessSettings {
        var access = AccessSettings()
        access.allowedHosts = (mapping.texts("allowed_hosts") ?? []).compactMap(host)
        access.allowedOrigins = (mapping.texts("allowed_origins") ?? []).compactMap(origin)
        access.localSecret = localSecret()
        access.requiredField = requiredField()
        return access
    }

    private func host(_ text: Located<String>) -> HostAndPort? {
        guard let parts = HostAndPort(text.value),
            parts.port.map({ UInt16($0) ?? 0 > 0 }) ?? true
        else {
            let hint =
                text.value.contains("*")
                ? "name each host; there are no wildcards"
                : "write a name as clients ask for it, such as proxy.internal or proxy.internal:9000"
            problems.add(text.place, "\(quoted(text.value)) is no host name", hint: hint)
            return nil
        }
        return parts
    }

    private func origin(_ text: Located<String>) -> AllowedOrigin? {
        guard let origin = AllowedOrigin(text.value) else {
            let hint =
                text.value == "*" || text.value == "null"
                ? "any page could spend the credential; name the origins"
                : "write scheme, host and port, such as http://localhost:3000"
            problems.add(text.place, "\(quoted(text.value)) is no origin", hint: hint)
            return nil
        }
        return origin
    }

    private func localSecret() -> LocalSecretSettings? {
        guard let node = mapping.node("local_secret") else { return nil }
        let reader = SecretReader(problems, paths)
        guard case .mapping = node.content else {
            _ = reader.source(node, "local_secret")
            return nil
        }
        guard
            let inner = MappingReader(
                node, "\"local_secret\"", keys: SecretReader.keys + ["header"], problems: problems),
            let source = reader.source(inner, "local_secret")
        else { return nil }
        let header = inner.name("header")
        if let header, !isDemandable(header.value, header.place, "X-Proxy-Secret") { return nil }
        return LocalSecretSettings(source: source, field: header?.value)
    }

    /// `Name` or `Name: value`.
    private func requiredField() -> RequiredField? {
        guard let text = mapping.name("require_header") else { return nil }
        let colon = text.value.firstIndex(of: ":") ?? text.value.endIndex
        let name = String(text.value[..<colon])
        guard isDemandable(name, text.place, "X-Local-Proxy: 1") else { return nil }
        guard colon < text.value.endIndex else { return RequiredField(name: name, value: nil) }
        // Spaces around a value are no part of it (RFC 9112 section 5.1).
        var value = text.value[text.value.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
        while value.last == " " || value.last == "\t" { value.removeLast() }
        guard !value.isEmpty, RouteSpec.isFieldValue(String(value)) else {
            problems.add(
                text.place, "\(quoted(text.value)) has no value that can be sent",
                hint: "write \(quoted(name + ": 1")), or \(quoted(name)) for any value")
            return nil
        }
        return RequiredField(name: name, value: String(value))
    }

    /// - Parameter example: what could stand there instead.
    private func isDemandable(_ name: String, _ place: Place, _ example: String) -> Bool {
        guard RouteSpec.isFieldName(name) else {
            problems.add(
                place, "\(quoted(name)) is no name of a header field",
                hint: "write it like \(quoted(example))")
            return false
        }
        guard RouteSpec.isDemandable(name) else {
            problems.add(
                place, "\(quoted(name)) says where a request ends or goes, and must go on with it",
                hint: "demand a header of its own, such as \(quoted(example))")
            return false
        }
        return true
    }
}
