// Reads how logins are kept: in files that only their user can read, or encrypted as well. The key is
// named here and never written here.

import Vocabulary

struct StoreReader {
    let mapping: MappingReader
    let problems: ProblemList
    let paths: PathResolver

    static let keys = ["encrypt", "decrypt"]
    static let kinds = ["key", "passphrase"]

    func settings() -> StoreSettings {
        var settings = StoreSettings()
        guard
            let inner = mapping.node("store").flatMap({
                MappingReader($0, quoted("store"), keys: Self.keys, problems: problems)
            })
        else { return settings }
        settings.encryption = key(inner, "encrypt")
        settings.decryption = key(inner, "decrypt")
        return settings
    }

    private func key(_ mapping: MappingReader, _ name: String) -> StoreSettings.Key? {
        guard
            let inner = mapping.node(name).flatMap({
                MappingReader($0, quoted(name), keys: Self.kinds, problems: problems)
            })
        else { return nil }
        let present = Self.kinds.filter(inner.has)
        guard present.count == 1, let node = inner.node(present[0]) else {
            if present.count != 1 {
                problems.add(
                    inner.place,
                    present.isEmpty
                        ? "\(quoted(name)) names no key" : "\(quoted(name)) names two keys",
                    hint: "write \(name): { key: { file: path } } or { passphrase: { env: NAME } }")
            }
            return nil
        }
        let source = SecretReader(problems, paths).source(node, present[0])
        return present[0] == "key" ? source.map { .key($0) } : source.map { .passphrase($0) }
    }
}
