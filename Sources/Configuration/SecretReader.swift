// Reads where a secret comes from. The secret itself never stands in the file, and a text in its place
// is refused without being repeated.

import Vocabulary

struct SecretReader {
    private let problems: ProblemList
    private let paths: PathResolver

    init(_ problems: ProblemList, _ paths: PathResolver) {
        self.problems = problems
        self.paths = paths
    }

    static let keys = ["file", "env", "command"]

    /// `{file: path}`, `{env: NAME}` or `{command: [program, argument]}`, as the value of a key.
    func source(_ node: YAMLNode, _ key: String) -> SecretSource? {
        guard case .mapping = node.content else {
            problems.add(
                node.place, "a secret must not stand in the configuration",
                hint: "write \(key): { file: path }, { env: NAME } or { command: [program] }")
            return nil
        }
        guard let mapping = MappingReader(node, quoted(key), keys: Self.keys, problems: problems)
        else { return nil }
        return source(mapping, key)
    }

    /// The same, in a mapping that may have more keys.
    func source(_ mapping: MappingReader, _ key: String) -> SecretSource? {
        let present = Self.keys.filter(mapping.has)
        guard present.count == 1 else {
            problems.add(
                mapping.place,
                present.isEmpty
                    ? "\(quoted(key)) names no source" : "\(quoted(key)) names several sources",
                hint: "write one of { file: path }, { env: NAME } and { command: [program] }")
            return nil
        }
        switch present[0] {
        case "file": return mapping.name("file").map { .file(path: paths.resolve($0)) }
        case "env": return mapping.name("env").flatMap(environment)
        default: return command(mapping, "command").map { .command($0) }
        }
    }

    /// A program and its arguments. It is started as it stands, without a shell.
    func command(_ mapping: MappingReader, _ key: String) -> [String]? {
        guard let node = mapping.node(key) else { return nil }
        guard case .sequence(let items) = node.content, !items.isEmpty else {
            problems.add(
                node.place, "\(quoted(key)) must be a list of a program and its arguments",
                hint: "write \(key): [program, argument]; for a shell write [sh, -c, \"…\"]")
            return nil
        }
        let reader = ValueReader(problems)
        let located = items.compactMap { reader.text($0, key) }
        let words = located.map(\.value)
        guard words.count == items.count else { return nil }
        guard !words[0].isEmpty else {
            problems.add(items[0].place, "the program's name is empty")
            return nil
        }
        return [words[0].contains("/") ? paths.resolve(located[0]) : words[0]] + words.dropFirst()
    }

    private func environment(_ name: Located<String>) -> SecretSource? {
        let isName = name.value.utf8.enumerated().allSatisfy { offset, byte in
            (byte | 0x20) &- 0x61 < 26 || byte == 0x5F || (offset > 0 && byte &- 0x30 < 10)
        }
        guard isName else {
            problems.add(
                name.place, "\(quoted(name.value)) is no name of an environment variable",
                hint: "write the name alone, such as API_TOKEN")
            return nil
        }
        return .environment(name: name.value)
    }
}

/// Makes paths absolute: those of a file are relative to its directory, `~/` is the home directory.
struct PathResolver {
    let baseDirectory: String
    let home: String?
    private let problems: ProblemList

    init(_ baseDirectory: String, _ home: String?, _ problems: ProblemList) {
        self.baseDirectory = baseDirectory
        self.home = home
        self.problems = problems
    }

    /// A path of the configuration. One with a `~` that cannot be resolved is a problem, and never the name
    /// of a directory beside the file.
    func resolve(_ path: Located<String>) -> String {
        if path.value == "~" || path.value.hasPrefix("~/") {
            if let home { return (home == "/" ? "" : home) + path.value.dropFirst() }
            problems.add(
                path.place, "`~` needs HOME, which is not set",
                hint: "write the whole path")
        } else if path.value.hasPrefix("~") {
            problems.add(
                path.place, "\(quoted(path.value)) names another person's home",
                hint: "write the whole path, or \(quoted("./" + path.value)) beside the file")
        }
        return Self.absolute(path.value, in: baseDirectory)
    }

    static func absolute(_ path: String, in directory: String) -> String {
        if path.hasPrefix("/") { return path }
        return directory.hasSuffix("/") ? directory + path : "\(directory)/\(path)"
    }
}
