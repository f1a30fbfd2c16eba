// Reads `listen`: addresses, socket files and inherited sockets, as texts or as mappings that say more.

import Routing
import Vocabulary

struct ListenerReader {
    let problems: ProblemList
    let paths: PathResolver

    static let keys = ["address", "name", "tls", "mode", "owner", "group", "users"]
    static let fileKeys = ["mode", "owner", "group", "users"]

    /// A text is a listener, or two: "localhost:8080" means both loopback addresses.
    func listeners(_ text: Located<String>) -> [Located<ListenerSettings>] {
        places(text).map { Located(value: ListenerSettings($0), place: text.place) }
    }

    func listeners(_ node: YAMLNode) -> [Located<ListenerSettings>] {
        guard case .mapping = node.content else {
            return ValueReader(problems).text(node, "listen").map(listeners) ?? []
        }
        guard
            let mapping = MappingReader(node, "listener", keys: Self.keys, problems: problems)
        else { return [] }
        return listeners(mapping)
    }

    /// - Parameter mapping: declares `address` and `fileKeys`, and may declare the others.
    func listeners(_ mapping: MappingReader) -> [Located<ListenerSettings>] {
        guard let address = mapping.name("address") else {
            if !mapping.has("address") {
                mapping.missing("address", hint: "write address: 127.0.0.1:8080 or unix:/path.sock")
            }
            return []
        }
        let places = places(address)
        let isFile = places.contains { if case .socketFile = $0 { true } else { false } }
        for key in Self.fileKeys where mapping.has(key) && !isFile && !places.isEmpty {
            problems.add(
                mapping.place(of: key), "\(quoted(key)) means nothing for \(quoted(address.value))",
                hint: "it is for a socket file, unix:/path.sock")
        }
        let name = mapping.declares("name") ? mapping.name("name") : nil
        let tls = mapping.declares("tls") ? identity(mapping) : nil
        let access = access(mapping)
        return places.map { place in
            var listener = ListenerSettings(place)
            listener.name = name?.value
            listener.access = access
            listener.tls = tls
            return Located(value: listener, place: mapping.place)
        }
    }

    private func places(_ text: Located<String>) -> [ListenerSettings.Place] {
        if text.value.hasPrefix("unix:") {
            let path = paths.resolve(
                Located(value: String(text.value.dropFirst("unix:".count)), place: text.place))
            guard text.value.utf8.count > "unix:".utf8.count, path.utf8.count <= 107 else {
                problems.add(
                    text.place, "\(quoted(text.value)) is no path of a socket",
                    hint: "it may have up to 107 bytes: unix:/run/user/1000/proxy.sock")
                return []
            }
            return [.socketFile(path: path)]
        }
        if text.value == "systemd" { return [.inherited(name: nil)] }
        if text.value.hasPrefix("systemd:") {
            return [.inherited(name: String(text.value.dropFirst("systemd:".count)))]
        }
        return ListenAddress.read(text, problems).map { .address($0) }
    }

    private func access(_ mapping: MappingReader) -> ListenerSettings.FileAccess {
        var access = ListenerSettings.FileAccess()
        if let mode = mapping.text("mode") {
            let digits = mode.value.hasPrefix("0o") ? mode.value.dropFirst(2) : mode.value[...]
            if let bits = UInt32(digits, radix: 8), (1...0o777).contains(bits),
                digits.utf8.count >= 3, digits.utf8.allSatisfy({ $0 &- 0x30 < 8 })
            {
                access.mode = bits
            } else {
                problems.add(
                    mode.place, "\(quoted(mode.value)) is no file mode",
                    hint: "write it in octal, such as \"0660\"")
            }
        }
        access.owner = mapping.name("owner")?.value
        access.group = mapping.name("group")?.value
        access.users = (mapping.texts("users") ?? []).map(\.value)
        return access
    }

    private func identity(_ mapping: MappingReader) -> ListenerSettings.Identity? {
        guard let node = mapping.node("tls"),
            let inner = MappingReader(
                node, "\"tls\"", keys: ["certificate", "key"], problems: problems)
        else { return nil }
        for key in ["certificate", "key"] where !inner.has(key) {
            inner.missing(
                key, hint: "\"proxy certificate\" makes a certificate and a key for this machine")
        }
        guard let certificate = inner.name("certificate"), let key = inner.name("key") else {
            return nil
        }
        return ListenerSettings.Identity(
            certificateFile: paths.resolve(certificate), keyFile: paths.resolve(key))
    }
}
