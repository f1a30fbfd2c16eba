// The words that may follow a command, read out of its help text: what shells complete and the manual
// page lists is what "proxy help" says, and nothing else.

import Configuration

/// A command as completion scripts and the manual page see it.
struct CommandWords: Sendable {
    struct Flag: Sendable {
        enum Value: Sendable {
            case none, file, directory, program
            /// Anything else, such as a duration.
            case text
        }

        /// With its dashes.
        let name: String
        /// `FILE`, where a value follows.
        let placeholder: String?
        let text: String
        /// Whether it may be given more than once.
        let isRepeatable: Bool

        var value: Value {
            switch placeholder {
            case nil: .none
            case "FILE": .file
            case "DIR": .directory
            case "CMD": .program
            default: .text
            }
        }
    }

    enum Operand: Sendable {
        case none
        /// The name of a credential of the configuration.
        case credential
        case words([String])
    }

    let name: String
    let summary: String
    let flags: [Flag]
    let operand: Operand

    static let all = CommandTable.commands.map { CommandWords($0.help) }

    init(_ help: CommandHelp) {
        name = help.name
        summary = help.summary
        flags = help.flags.map { row in
            let words = row.left.split(separator: " ", maxSplits: 1).map(String.init)
            let ending = "; often"
            return Flag(
                name: words[0], placeholder: words.count > 1 ? words[1] : nil,
                text: row.right.hasSuffix(ending)
                    ? String(row.right.dropLast(ending.count)) : row.right,
                isRepeatable: row.right.hasSuffix(ending))
        }
        operand = Self.operand(help.synopsis)
    }

    /// What the first word of a synopsis stands for.
    private static func operand(_ synopsis: String) -> Operand {
        let first = synopsis.split(separator: " ").first.map(String.init) ?? ""
        switch first {
        case "[NAME]": return .credential
        case "[COMMAND", "[COMMAND]": return .words(CommandTable.commands.map { $0.help.name })
        case "[PROVIDER]": return .words(Preset.all.map(\.name))
        default:
            let words = first.split(separator: "|").map(String.init)
            let areWords = words.count > 1 && words.allSatisfy { $0.allSatisfy(\.isLowercase) }
            return areWords ? .words(words) : .none
        }
    }
}
