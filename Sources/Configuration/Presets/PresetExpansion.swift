// Puts a preset's keys under those of a credential. Nothing is judged here but what the preset itself
// asks for; the readers judge the result, which stands at the place of the `provider` key.

import Vocabulary

/// Replaces `provider` by what it stands for.
struct PresetExpansion {
    let problems: ProblemList

    static let key = "provider"
    /// Keys whose entries are joined with the credential's own.
    private static let joinedKeys: Set<String> = ["authorization_params", "token_params"]

    /// The mapping without `provider`; as it was when it names none, nil when something is wrong.
    func expanded(_ node: YAMLNode) -> YAMLNode? {
        guard case .mapping(let own) = node.content,
            let provider = own.first(where: { $0.key == Self.key })
        else { return node }
        guard let name = ValueReader(problems).text(provider.value, Self.key) else { return nil }
        guard let preset = Preset.named(name.value) else {
            let names = Preset.all.map(\.name)
            problems.add(
                name.place, "no provider named \(quoted(name.value)) is known here",
                hint: nearestName(to: name.value, among: names).map { "did you mean \"\($0)\"?" }
                    ?? "one of \(names.joined(separator: ", ")); or leave the key out and write issuer"
            )
            return nil
        }
        guard let values = values(of: preset, own, provider.place) else { return nil }
        let given = own.filter { entry in
            entry.key != Self.key && !preset.parameters.contains { $0.key == entry.key }
        }
        let added = entries(of: preset, values, at: provider.place)
        return YAMLNode(node.place, .mapping(joined(given, added)))
    }

    private func joined(
        _ given: [YAMLNode.Entry], _ added: [YAMLNode.Entry]
    ) -> [YAMLNode.Entry] {
        var result = given
        for entry in added {
            guard let index = result.firstIndex(where: { $0.key == entry.key }) else {
                result.append(entry)
                continue
            }
            guard Self.joinedKeys.contains(entry.key),
                case .mapping(let own) = result[index].value.content,
                case .mapping(let more) = entry.value.content
            else { continue }
            let both = own + more.filter { new in !own.contains { $0.key == new.key } }
            let place = result[index].place
            result[index] = YAMLNode.Entry(
                key: entry.key, place: place, value: YAMLNode(place, .mapping(both)))
        }
        return result
    }

    // MARK: Parameters

    private func values(
        of preset: Preset, _ own: [YAMLNode.Entry], _ place: Place
    ) -> [String: String]? {
        var values: [String: String] = [:]
        for parameter in preset.parameters {
            guard let entry = own.first(where: { $0.key == parameter.key }) else {
                guard let fallback = parameter.fallback else {
                    problems.add(
                        place,
                        "the provider \(quoted(preset.name)) needs the key \(quoted(parameter.key))",
                        hint: "for example \(parameter.key): \(parameter.example)")
                    continue
                }
                values[parameter.key] = fallback
                continue
            }
            guard let text = ValueReader(problems).text(entry.value, parameter.key) else {
                continue
            }
            guard Self.isWord(text.value) else {
                problems.add(
                    text.place, "\(quoted(text.value)) cannot be part of a provider's address",
                    hint: "for example \(parameter.key): \(parameter.example)")
                continue
            }
            values[parameter.key] = text.value
        }
        return values.count == preset.parameters.count ? values : nil
    }

    /// What may be put into an address without changing what the rest of it means: names, ports, and
    /// the path of a server that has one.
    private static func isWord(_ text: String) -> Bool {
        let isPlain = text.utf8.allSatisfy { byte in
            (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || "-._~:/".utf8.contains(byte)
        }
        return isPlain && !text.isEmpty && !text.hasPrefix("/") && !text.hasSuffix("/")
            && !text.contains("//") && !text.split(separator: "/").contains("..")
    }

    private func entries(
        of preset: Preset, _ values: [String: String], at place: Place
    ) -> [YAMLNode.Entry] {
        let root: YAMLNode?
        do throws(ConfigurationProblem) {
            root = try YAMLReader.read(Array(preset.keys(with: values).utf8), file: nil)
        } catch {
            preconditionFailure("the preset \(preset.name) is no YAML: \(error.message)")
        }
        guard case .mapping(let entries)? = root?.moved(to: place).content else { return [] }
        return entries
    }
}

extension Preset {
    /// The keys as one would write them for these parameters.
    func keys(with values: [String: String]) -> String {
        var text = keys
        for (key, value) in values {
            text = text.split(separator: "{\(key)}", omittingEmptySubsequences: false)
                .joined(separator: value)
        }
        return text
    }
}

extension YAMLNode {
    /// The same with another place, for messages about what the user did not write.
    fileprivate func moved(to place: Place) -> YAMLNode {
        switch content {
        case .scalar: YAMLNode(place, content)
        case .sequence(let items): YAMLNode(place, .sequence(items.map { $0.moved(to: place) }))
        case .mapping(let entries):
            YAMLNode(
                place,
                .mapping(
                    entries.map {
                        Entry(key: $0.key, place: place, value: $0.value.moved(to: place))
                    }))
        }
    }
}
