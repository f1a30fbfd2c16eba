// Reads the keys of one mapping. Each key is known or refused, each value has the wanted form or is
// refused; what is wrong goes to the problem list and the reading goes on, so that one run shows all.

import Vocabulary

/// A mapping whose keys were checked.
struct MappingReader {
    let place: Place
    let problems: ProblemList
    /// What the mapping describes, "route"; for messages.
    private let subject: String
    private let keys: [String]
    private var entries: [String: YAMLNode.Entry] = [:]
    /// Keys that an unknown one was probably meant to be.
    private var misspelt: Set<String> = []

    /// - Parameters:
    ///   - later: keys that are understood but not supported yet, each with what to do instead.
    ///   - hints: keys that people write here, each with what is right.
    init?(
        _ node: YAMLNode, _ subject: String, keys: [String], later: [String: String] = [:],
        hints: [String: String] = [:], problems: ProblemList
    ) {
        guard case .mapping(let entries) = node.content else {
            problems.add(node.place, "\(subject) must be a mapping, and this is \(node.kind)")
            return nil
        }
        place = node.place
        self.problems = problems
        self.subject = subject
        self.keys = keys
        for entry in entries {
            if keys.contains(entry.key) {
                self.entries[entry.key] = entry
            } else if let hint = later[entry.key] {
                problems.add(
                    entry.place, "the key \(quoted(entry.key)) is not supported yet", hint: hint)
            } else {
                addUnknown(entry, hints)
            }
        }
    }

    private mutating func addUnknown(_ entry: YAMLNode.Entry, _ hints: [String: String]) {
        var hint = "known keys: " + keys.joined(separator: ", ")
        if entry.key == "<<" {
            hint = "merge keys are not part of YAML 1.2; repeat the lines"
        } else if let known = hints[entry.key] {
            hint = known
        } else if let nearest = nearestName(to: entry.key, among: keys) {
            hint = "did you mean \"\(nearest)\"?"
            misspelt.insert(nearest)
        }
        problems.add(
            entry.place, "unknown key \(quoted(entry.key)) in \(subject)", hint: hint)
    }

    /// The value of a key; nil when the key is missing or has nothing behind it.
    func node(_ key: String) -> YAMLNode? {
        assert(keys.contains(key), "reading a key that was not declared: \(key)")
        guard let entry = entries[key] else { return nil }
        guard !entry.value.isNull else {
            problems.add(
                entry.place, "the key \(quoted(key)) has no value",
                hint: key == "admin"
                    ? "write admin: 127.0.0.1:8081, or admin: off"
                    : "write it behind the colon, or leave the key out")
            return nil
        }
        return entry.value
    }

    /// Whether the key is there, with a value or without.
    func has(_ key: String) -> Bool { entries[key] != nil }

    /// Whether one of the keys was meant by a key that is unknown.
    func isMisspelt(_ keys: [String]) -> Bool { keys.contains(where: misspelt.contains) }

    /// Whether the mapping may have the key.
    func declares(_ key: String) -> Bool { keys.contains(key) }

    /// Where the key itself stands, else the mapping.
    func place(of key: String) -> Place { entries[key]?.place ?? place }

    /// The keys that are there, in the order in which they were declared.
    var present: [String] { keys.filter { entries[$0] != nil } }

    /// Reports a key that must be there, unless it was only misspelt, which is reported already.
    func missing(_ key: String, hint: String) {
        guard !misspelt.contains(key) else { return }
        problems.add(place, "\(subject) needs the key \(quoted(key))", hint: hint)
    }
}

/// A value with its place.
struct Located<Value> {
    let value: Value
    let place: Place
}

extension MappingReader {
    /// A text on one line.
    func text(_ key: String) -> Located<String>? {
        guard let node = node(key) else { return nil }
        return ValueReader(problems).text(node, key)
    }

    /// A text that is not empty.
    func name(_ key: String) -> Located<String>? {
        guard let text = text(key) else { return nil }
        guard !text.value.isEmpty else {
            problems.add(text.place, "the value of \(quoted(key)) is empty")
            return nil
        }
        return text
    }

    /// A list of texts; a single text is a list of one.
    func texts(_ key: String) -> [Located<String>]? {
        guard let node = node(key) else { return nil }
        let reader = ValueReader(problems)
        switch node.content {
        case .scalar: return reader.text(node, key).map { [$0] } ?? []
        case .sequence(let items): return items.compactMap { reader.text($0, key) }
        case .mapping:
            problems.add(node.place, "\(quoted(key)) must be a list, and this is a mapping")
            return []
        }
    }

    /// A mapping of names to texts, in order.
    func pairs(_ key: String) -> [(name: String, value: Located<String>)]? {
        guard let node = node(key) else { return nil }
        guard case .mapping(let entries) = node.content else {
            problems.add(
                node.place, "\(quoted(key)) must be a mapping, and this is \(node.kind)",
                hint: "write \(key): { name: value }")
            return []
        }
        let reader = ValueReader(problems)
        return entries.compactMap { entry in
            reader.text(entry.value, entry.key).map { (entry.key, $0) }
        }
    }

    func bool(_ key: String) -> Bool? {
        guard let text = text(key) else { return nil }
        switch text.value {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default:
            problems.add(
                text.place,
                "\(quoted(key)) must be true or false, and this is \(quoted(text.value))")
            return nil
        }
    }

    func integer(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = text(key) else { return nil }
        guard let number = Int(text.value), range.contains(number),
            text.value.utf8.allSatisfy({ $0 &- 0x30 < 10 })
        else {
            problems.add(
                text.place,
                "\(quoted(key)) must be a number from \(range.lowerBound) to "
                    + "\(range.upperBound), and this is \(quoted(text.value))")
            return nil
        }
        return number
    }

    /// One of a few words.
    func choice<Choice>(_ key: String, _ choices: [(word: String, value: Choice)]) -> Choice? {
        guard let text = text(key) else { return nil }
        if let choice = choices.first(where: { $0.word == text.value }) { return choice.value }
        let words = choices.map(\.word)
        problems.add(
            text.place, "\(quoted(text.value)) is no value for \(quoted(key))",
            hint: nearestName(to: text.value, among: words).map { "did you mean \"\($0)\"?" }
                ?? "possible values: " + words.joined(separator: ", "))
        return nil
    }

    /// Milliseconds; nil for a missing key or an error.
    func duration(_ key: String, in range: ClosedRange<UInt64>) -> UInt64? {
        guard let text = text(key) else { return nil }
        return ValueReader(problems).duration(text, key, in: range)
    }

    /// Bytes.
    func size(_ key: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = text(key) else { return nil }
        return ValueReader(problems).size(text, key, in: range)
    }
}
