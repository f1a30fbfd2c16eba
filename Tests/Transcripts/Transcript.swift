// A transcript: what was typed at a shell and what came of it, in a text file that reads like one.
//
//     # a remark
//     @ proxy.yaml                        a file in the directory of the run; its lines are indented
//         upstream: https://api.example
//     $ NO_COLOR=1 proxy status --json    a command; quotes group words, variables may stand before
//     < a line of standard input
//     | a line of standard output
//     ! a line of standard error
//     = 0                                 the exit code; every command ends with it
//
// `[number]`, `[time]`, `[duration]` and `[...]` in an expected line stand for what changes from run
// to run; `[dir]` is the directory of the run, in commands, files and expectations alike.

/// The steps of one file.
struct Transcript {
    struct Command {
        let line: Int
        var variables: [(name: String, value: String)] = []
        var words: [String] = []
        var input = ""
        var output: [String] = []
        var errors: [String] = []
        var exitCode: Int32?
    }

    enum Step {
        case file(name: String, content: String)
        case command(Command)
    }

    enum Malformed: Error, Equatable {
        case line(Int, String)
        case noExitCode(line: Int)
        case unclosedQuote(line: Int)
    }

    private(set) var steps: [Step] = []

    init(_ text: String) throws(Malformed) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            try add(line, number: index + 1)
        }
        try expectExitCode()
    }

    private mutating func add(_ line: Substring, number: Int) throws(Malformed) {
        let rest = String(line.dropFirst(2))
        switch line.prefix(2) {
        case "", "#", "# ": break
        case "@ ":
            try expectExitCode()
            steps.append(.file(name: rest, content: ""))
        case "  ":
            guard case .file(let name, let content) = steps.last else {
                throw .line(number, String(line))
            }
            steps[steps.count - 1] = .file(name: name, content: content + rest.dropFirst(2) + "\n")
        case "$ ":
            try expectExitCode()
            steps.append(.command(try Self.command(rest, number: number)))
        default: try addToCommand(line, number: number)
        }
    }

    private mutating func addToCommand(_ line: Substring, number: Int) throws(Malformed) {
        guard case .command(var command) = steps.last, command.exitCode == nil else {
            throw .line(number, String(line))
        }
        let rest = String(line.dropFirst(2))
        switch line.prefix(2) {
        case "< ", "<": command.input += rest + "\n"
        case "| ", "|": command.output.append(rest)
        case "! ", "!": command.errors.append(rest)
        case "= ":
            guard let code = Int32(rest) else { throw .line(number, String(line)) }
            command.exitCode = code
        default: throw .line(number, String(line))
        }
        steps[steps.count - 1] = .command(command)
    }

    private func expectExitCode() throws(Malformed) {
        if case .command(let command) = steps.last, command.exitCode == nil {
            throw .noExitCode(line: command.line)
        }
    }

    private static func command(_ text: String, number: Int) throws(Malformed) -> Command {
        var command = Command(line: number)
        for word in try words(of: text, number: number) {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if command.words.isEmpty, parts.count == 2, !parts[0].hasPrefix("-") {
                command.variables.append((String(parts[0]), String(parts[1])))
            } else {
                command.words.append(word)
            }
        }
        guard command.words.first == "proxy" else { throw .line(number, text) }
        return command
    }

    /// Words at spaces; double quotes keep spaces and make empty words.
    private static func words(of text: String, number: Int) throws(Malformed) -> [String] {
        var words: [String] = []
        var word: String?
        var isQuoted = false
        for character in text {
            switch character {
            case "\"":
                isQuoted.toggle()
                word = word ?? ""
            case " " where !isQuoted:
                if let whole = word { words.append(whole) }
                word = nil
            default: word = (word ?? "") + String(character)
            }
        }
        guard !isQuoted else { throw .unclosedQuote(line: number) }
        if let word { words.append(word) }
        return words
    }
}
