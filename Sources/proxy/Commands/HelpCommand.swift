// `proxy help`: the list of commands, or one command with its examples first.

/// Prints help to standard output.
struct HelpCommand: Command {
    static let help = CommandHelp(
        name: "help", summary: "explain a command, or list them all",
        examples: [
            .init("proxy help login", "how to log in"),
            .init("proxy help", "all commands"),
        ],
        synopsis: "[COMMAND]")

    private let subject: (any Command.Type)?

    init(about subject: any Command.Type) {
        self.subject = subject
    }

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        let name = try arguments.operand()
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
        lines += ["", "Usage: proxy \(help.name) \(help.synopsis)".trimmingEnd(), ""]
        lines.append(help.summary.prefix(1).uppercased() + help.summary.dropFirst() + ".")
        if !help.flags.isEmpty { lines += ["", "Flags:"] + table(help.flags) }
        for note in help.notes { lines += ["", note] }
        return lines
    }

    /// Two columns; a text of several lines stays in its column.
    private static func table(_ rows: [CommandHelp.Row]) -> [String] {
        let width = rows.map(\.left.count).max() ?? 0
        return rows.flatMap { row in
            row.right.split(separator: "\n").enumerated().map { index, text in
                let left = index == 0 ? row.left : ""
                return "  \(left)\(String(repeating: " ", count: width - left.count + 2))\(text)"
            }
        }
    }
}

extension String {
    fileprivate func trimmingEnd() -> String {
        var text = self[...]
        while text.last == " " { text = text.dropLast() }
        return String(text)
    }
}
