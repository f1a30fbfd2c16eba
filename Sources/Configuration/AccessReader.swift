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
        if let header, !RouteSpec.isFieldName(header.value) {
            problems.add(header.place, "\(quoted(header.value)) is no name of a header field")
            return nil
        }
        return LocalSecretSettings(source: source, field: header?.value)
    }

    /// `Name` or `Name: value`.
    private func requiredField() -> RequiredField? {
        guard let text = mapping.name("require_header") else { return nil }
        let colon = text.value.firstIndex(of: ":") ?? text.value.endIndex
        let name = String(text.value[..<colon])
        guard RouteSpec.isFieldName(name) else {
            problems.add(
                text.place, "\(quoted(name)) is no name of a header field",
                hint: "write it like \"X-Local-Proxy: 1\"")
            return nil
        }
        guard colon < text.value.endIndex else { return RequiredField(name: name, value: nil) }
        let value = text.value[text.value.index(after: colon)...].drop { $0 == " " }
        return RequiredField(name: name, value: String(value))
    }
}
