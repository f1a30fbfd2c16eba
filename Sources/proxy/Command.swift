// What a command is: a value parsed from words, run in a world that is handed in, with a help text
// that begins with an example.

/// What the shell learns; sysexits(3) has 78. `proxy run` ends with the code of its program.
struct ExitCode: Equatable, Sendable {
    let rawValue: Int32

    static let success = ExitCode(rawValue: 0)
    static let failure = ExitCode(rawValue: 1)
    static let usage = ExitCode(rawValue: 2)
    static let loginNeeded = ExitCode(rawValue: 3)
    static let denied = ExitCode(rawValue: 4)
    static let timedOut = ExitCode(rawValue: 5)
    static let configuration = ExitCode(rawValue: 78)
    /// 128 and the number of SIGINT, as shells count.
    static let interrupted = ExitCode(rawValue: 130)
}

/// One command of `proxy`, one file each.
protocol Command: Sendable {
    static var help: CommandHelp { get }

    /// Reads the words after the command's name; every flag first, then the operands.
    init(_ arguments: inout ArgumentReader) throws(UsageError)

    func run(in world: World) async throws(CommandFailure) -> ExitCode
}

/// The help text of a command, as data.
struct CommandHelp: Sendable {
    struct Row: Sendable {
        let left: String
        let right: String

        init(_ left: String, _ right: String) {
            self.left = left
            self.right = right
        }
    }

    let name: String
    /// What it does, in words that fit the list of commands.
    let summary: String
    /// Whole command lines and what each is for; the first is the commonest use.
    let examples: [Row]
    /// What may follow `proxy NAME`.
    let synopsis: String
    var flags: [Row] = []
    /// Sentences that flags cannot say.
    var notes: [String] = []
}
