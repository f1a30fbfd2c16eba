// `proxy version`.

import Vocabulary

/// Prints which proxy this is.
struct VersionCommand: Command {
    static let number = "0.1.0"
    /// When this number was given.
    static let date = "2026-11-30"

    static let help = CommandHelp(
        name: "version", summary: "print the version",
        examples: [.init("proxy version", "the version, on one line")],
        synopsis: "[--json]", flags: [.init("--json", "for programs")])

    private let isJSON: Bool

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isJSON = try arguments.flag("--json")
        try arguments.finish()
    }

    func run(in world: World) async -> ExitCode {
        if isJSON {
            world.console.json(["version": .string(Self.number)])
        } else {
            world.console.line("proxy \(Self.number)")
        }
        return .success
    }
}
