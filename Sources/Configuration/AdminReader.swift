// Reads `admin`: where the status page, health and metrics are, as `listen` says where clients are listened
// for, or `off`.

import Vocabulary

struct AdminReader {
    let listeners: ListenerReader

    static let keys = ["address"] + ListenerReader.fileKeys + ["quit"]

    func settings(_ node: YAMLNode?) -> (AdminSettings, [Located<ListenerSettings>]) {
        var settings = AdminSettings()
        var found: [Located<ListenerSettings>] = []
        guard let node else { return (settings, found) }
        if case .sequence(let items) = node.content {
            if items.isEmpty {
                listeners.problems.add(
                    node.place, "there is no address for \"admin\"",
                    hint: "write admin: off, or admin: 127.0.0.1:8081")
            }
            for item in items { found += read(item, &settings) }
        } else {
            found = read(node, &settings)
        }
        settings.listeners = found.map(\.value)
        return (settings, found)
    }

    private func read(
        _ node: YAMLNode, _ settings: inout AdminSettings
    ) -> [Located<ListenerSettings>] {
        guard case .mapping = node.content else {
            guard let text = ValueReader(listeners.problems).text(node, "admin") else { return [] }
            if text.value == "off" { return [] }
            if ["no", "false", "none", "never", "disabled"].contains(text.value.lowercased()) {
                listeners.problems.add(
                    text.place, "\(quoted(text.value)) is no address", hint: "write admin: off")
                return []
            }
            return listeners.listeners(text)
        }
        guard
            let mapping = MappingReader(
                node, "\"admin\"", keys: Self.keys,
                hints: [
                    "tls": "the status page speaks http; put it on a Unix socket or on 127.0.0.1"
                ],
                problems: listeners.problems)
        else { return [] }
        if mapping.bool("quit") ?? false { settings.allowsQuit = true }
        return listeners.listeners(mapping)
    }
}
