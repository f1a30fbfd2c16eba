// Takes a command's words apart: a command asks for its flags, then for its operands, then says
// that it is done, and whatever nobody asked for is refused. It knows no command.

import Vocabulary

/// The words after a command's name.
///
/// Flags may stand anywhere before `--`; a value follows as `--flag=value` or `--flag value`, and
/// one that begins with `-` only in the first form, so that no order of asking changes the meaning.
struct ArgumentReader {
    private let command: String
    private var words: [String]
    /// What follows `--`: operands, however they look.
    private var protected: [String]
    /// Every flag that was asked for, for the hint on one that is not known.
    private var offered: [String] = []

    init(command: String, words: some Sequence<String>) {
        self.command = command
        let words = Array(words)
        let end = words.firstIndex(of: "--") ?? words.endIndex
        self.words = Array(words[..<end])
        protected = Array(words[end...].dropFirst())
    }

    /// Whether a flag that takes no value is there.
    mutating func flag(_ name: String) throws(UsageError) -> Bool {
        offered.append(name)
        guard let index = words.firstIndex(where: { Self.isFlag($0, named: name) }) else {
            return false
        }
        guard words[index] == name else { throw .unexpectedValue(flag: name) }
        words.remove(at: index)
        if words.contains(where: { Self.isFlag($0, named: name) }) {
            throw .repeatedFlag(name)
        }
        return true
    }

    /// The value of a flag that may be given once; `placeholder` names the value in messages.
    mutating func value(of name: String, _ placeholder: String) throws(UsageError) -> String? {
        let values = try values(of: name, placeholder)
        guard values.count < 2 else { throw .repeatedFlag(name) }
        return values.first
    }

    /// The same, read as something; `parse` returns nil for a text that is no such thing.
    mutating func value<Value>(
        of name: String, _ placeholder: String, as parse: (String) -> Value?, expected: String
    ) throws(UsageError) -> Value? {
        guard let text = try value(of: name, placeholder) else { return nil }
        guard let value = parse(text) else {
            throw .invalidValue(of: name, text, expected: expected)
        }
        return value
    }

    /// The values of a flag that may be given often, in order.
    mutating func values(of name: String, _ placeholder: String) throws(UsageError) -> [String] {
        offered.append(name)
        var values: [String] = []
        while let index = words.firstIndex(where: { Self.isFlag($0, named: name) }) {
            let word = words.remove(at: index)
            if word != name {
                values.append(String(word.dropFirst(name.count + 1)))
            } else if index < words.endIndex, !Self.looksLikeFlag(words[index]) {
                values.append(words.remove(at: index))
            } else {
                throw .missingValue(flag: name, placeholder)
            }
        }
        guard !values.contains("") else { throw .missingValue(flag: name, placeholder) }
        return values
    }

    /// Refuses a flag that a later version will have; `hint` says what to do until then.
    mutating func refuse(_ name: String, hint: String) throws(UsageError) {
        if words.contains(where: { Self.isFlag($0, named: name) }) {
            throw .notSupportedYet("\"\(name)\"", hint: hint)
        }
    }

    /// The next operand. Asking for one says that every flag has been asked for.
    mutating func operand() throws(UsageError) -> String? {
        try refuseUnknownFlags()
        if !words.isEmpty { return words.removeFirst() }
        return protected.isEmpty ? nil : protected.removeFirst()
    }

    /// The next operand, which must be there.
    mutating func operand(required placeholder: String) throws(UsageError) -> String {
        guard let operand = try operand() else {
            throw .missingOperand(placeholder, command: command)
        }
        return operand
    }

    /// Says that the command needs no more: anything left is refused.
    mutating func finish() throws(UsageError) {
        if let operand = try operand() { throw .unexpectedOperand(operand, command: command) }
    }

    private func refuseUnknownFlags() throws(UsageError) {
        guard let word = words.first(where: Self.looksLikeFlag) else { return }
        let name = String(word.prefix { $0 != "=" })
        throw .unknownFlag(
            name, nearest: nearestName(to: name, among: offered), command: command)
    }

    private static func isFlag(_ word: String, named name: String) -> Bool {
        word == name || word.hasPrefix(name + "=")
    }

    /// A lone `-` is an operand: it names standard input or output.
    private static func looksLikeFlag(_ word: String) -> Bool {
        word.hasPrefix("-") && word != "-"
    }
}
