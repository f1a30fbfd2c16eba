// config/reference.yaml has every key that the readers know, and none besides. The readers say
// themselves what they know: a key that nobody knows is put into each mapping of the file, one after
// the other, and the message about it lists the others.

import Testing

@testable import Configuration

@Suite struct `Reference of the configuration` {
    private static let folder =
        #filePath.split(separator: "/").dropLast(3).reduce("") { "\($0)/\($1)" } + "/config"

    /// A mapping of the file: its keys, and the whole file with one key more in it.
    private struct Spot {
        let keys: [String]
        let changed: YAMLNode
    }

    private static let unknown = "zzzzzzzz"

    private static func spots(in node: YAMLNode) -> [Spot] {
        switch node.content {
        case .scalar: return []
        case .sequence(let items):
            return items.indices.flatMap { index in
                spots(in: items[index]).map { spot in
                    var items = items
                    items[index] = spot.changed
                    return Spot(keys: spot.keys, changed: YAMLNode(node.place, .sequence(items)))
                }
            }
        case .mapping(let entries):
            let more = YAMLNode.Entry(
                key: unknown, place: node.place, value: .text("x", node.place))
            let own = Spot(
                keys: entries.map(\.key),
                changed: YAMLNode(node.place, .mapping(entries + [more])))
            return [own]
                + entries.indices.flatMap { index in
                    let entry = entries[index]
                    return spots(in: entry.value).map { spot in
                        var entries = entries
                        entries[index] = YAMLNode.Entry(
                            key: entry.key, place: entry.place, value: spot.changed)
                        return Spot(
                            keys: spot.keys, changed: YAMLNode(node.place, .mapping(entries)))
                    }
                }
        }
    }

    /// What the reader of the changed mapping knows; nil where any name may stand.
    private static func known(_ root: YAMLNode) -> [String]? {
        let reader = SettingsReader(
            problems: ProblemList(), paths: PathResolver(folder, "/home/me", ProblemList()),
            defaults: Defaults(stateDirectory: "/state", workers: 1))
        do {
            _ = try reader.settings(root, file: nil, listenFlags: [])
            return nil
        } catch {
            let prefix = "known keys: "
            let hints = error.problems.filter { $0.message.contains("unknown key \"\(unknown)\"") }
                .compactMap(\.hint)
            guard let hint = hints.first, hint.hasPrefix(prefix) else { return nil }
            return hint.dropFirst(prefix.count).split(separator: ", ").map(String.init)
        }
    }

    @Test func `has every key of every mapping that it has`() throws {
        let bytes = try ConfigurationFile.contents(of: "\(Self.folder)/reference.yaml").get()
        let root = try #require(try YAMLReader.read(bytes, file: "reference.yaml"))
        let comments = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
            .compactMap { line in line.firstIndex(of: "#").map { line[$0...] } }
        var present: [[String]: Set<String>] = [:]
        for spot in Self.spots(in: root) {
            if let known = Self.known(spot.changed) {
                present[known, default: []].formUnion(spot.keys)
            }
        }
        // The file as a whole, routes, credentials, secrets, timeouts, limits and what else there is.
        #expect(present.count >= 18, "\(present.keys)")
        for (known, present) in present {
            var missing = Set(known).subtracting(present)
            // The short form has the keys of a route at the top; the file shows them in routes.
            if known == SettingsReader.keys { missing.subtract(RouteReader.sharedKeys) }
            // What excludes another key, or names something that the file has not, is in a comment.
            missing = missing.filter { key in !comments.contains { $0.contains("\(key):") } }
            #expect(missing.isEmpty, "\(missing) of \(known)")
        }
    }

    @Test func `names every preset's own key`() throws {
        let text = try String(
            decoding: ConfigurationFile.contents(of: "\(Self.folder)/reference.yaml").get(),
            as: UTF8.self)
        #expect(text.contains("\(PresetExpansion.key):"))
        for preset in Preset.all {
            for parameter in preset.parameters {
                #expect(text.contains("\(parameter.key)"), "\(preset.name): \(parameter.key)")
            }
        }
    }

    @Test(arguments: ["container/proxy.yaml"])
    func `has neighbours that are valid`(name: String) {
        #expect(throws: Never.self) {
            try Settings.load(
                SettingsRequest(configFile: "\(Self.folder)/\(name)"), in: surroundings)
        }
    }

    @Test func `is what the manifest for Kubernetes has in it`() throws {
        let text = try String(
            decoding: ConfigurationFile.contents(
                of: "\(Self.folder)/container/kubernetes.yaml"
            ).get(), as: UTF8.self)
        // The block behind "config.yaml: |", four columns in.
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex { $0.hasSuffix("config.yaml: |") })
        let block = lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.map { $0.dropFirst(4) }
        #expect(block.count > 5)
        #expect(problems(block.joined(separator: "\n") + "\n") == [])
    }
}
