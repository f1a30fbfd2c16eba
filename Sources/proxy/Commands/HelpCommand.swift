// `proxy help`: the list of commands, or one command with its examples first.

/// Prints help to standard output.
struct HelpCommand: Command {
    static let help = CommandHelp(
        name: "help", summary: "explain a command, or list them all",
        examples: [
            .init("proxy help login", "how to log in"),
            .init("proxy help", "all commands"),
            .init("proxy help --man", "all of it as a manual page"),
        ],
        synopsis: "[COMMAND | --man]",
        flags: [.init("--man", "the manual page proxy(1), as man reads it")])

    private let subject: (any Command.Type)?
    private let isManual: Bool

    init(about subject: any Command.Type) {
        self.subject = subject
        isManual = false
    }

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isManual = try arguments.flag("--man")
        let name = isManual ? nil : try arguments.operand()
        try arguments.finish()
        guard let name else {
            subject = nil
            return
        }
        guard let command = CommandTable.command(named: name) else {
            throw CommandTable.unknown(name)
        }
        subject = command
    }

    func run(in world: World) async -> ExitCode {
        if isManual {
            world.console.output.write(ManualPage.text)
            return .success
        }
        for line in subject.map({ Self.page(of: $0.help) }) ?? Self.overview() {
            world.console.line(line)
        }
        return .success
    }

    private static func overview() -> [String] {
        var lines = [
            "Forwards requests to an API and attaches a fresh credential on the way.", "",
            "Examples:",
            "  proxy demo     see it work, without an account",
            "  proxy login    log in once",
            "  proxy serve    then call http://localhost:8080/...", "",
            "Commands:",
        ]
        let rows = CommandTable.commands.map { command in
            CommandHelp.Row(command.help.name, command.help.summary)
        }
        lines += table(rows)
        lines += ["", "\"proxy help COMMAND\" or \"proxy COMMAND --help\" explains one."]
        return lines
    }

    private static func page(of help: CommandHelp) -> [String] {
        var lines = ["Examples:"]
        for example in help.examples {
            lines += ["  \(example.left)", "      \(example.right)"]
        }
        lines.append("")
        lines += wrapped("Usage: proxy \(help.name) \(help.synopsis)", indent: 10)
        lines.append("")
        lines.append(help.summary.prefix(1).uppercased() + help.summary.dropFirst() + ".")
        if !help.flags.isEmpty { lines += ["", "Flags:"] + table(help.flags) }
        for note in help.notes { lines += [""] + wrapped(note) }
        return lines
    }

    private static func table(_ rows: [CommandHelp.Row]) -> [String] {
        let width = rows.map(\.left.count).max() ?? 0
        return rows.map { row in
            "  \(row.left)\(String(repeating: " ", count: width - row.left.count + 2))\(row.right)"
        }
    }

    /// Broken at spaces, which `[` and `]` hold together; further lines are set in.
    private static func wrapped(_ text: String, indent: Int = 0, width: Int = 80) -> [String] {
        var lines: [String] = []
        var line = ""
        for word in words(of: text) {
            if line.isEmpty {
                line = word
            } else if line.count + 1 + word.count <= width {
                line += " " + word
            } else {
                lines.append(line)
                line = String(repeating: " ", count: indent) + word
            }
        }
        return line.isEmpty ? lines : lines + [line]
    }

    private static func words(of text: String) -> [String] {
        var words: [String] = []
        var depth = 0
        for part in text.split(separator: " ") {
            if depth > 0 {
                words[words.count - 1] += " " + part
            } else {
                words.append(String(part))
            }
            for letter in part { depth += letter == "[" ? 1 : letter == "]" ? -1 : 0 }
        }
        return words
    }
}
