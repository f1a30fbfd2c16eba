// What a command is: a value parsed from words, run in a world that is handed in, with a help text
// that begins with an example.

/// What the shell learns; sysexits(3) has 78.
enum ExitCode: Int32, Sendable {
    case success = 0
    case failure = 1
    case usage = 2
    case loginNeeded = 3
    case denied = 4
    case timedOut = 5
    case configuration = 78
    /// 128 and the number of SIGINT, as shells count.
    case interrupted = 130
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
