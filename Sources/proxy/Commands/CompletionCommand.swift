// `proxy completion`: what a shell needs to complete command lines of this program.

import Configuration
import Vocabulary

/// Prints a script, or the names that the scripts ask for.
struct CompletionCommand: Command {
    static let help = CommandHelp(
        name: "completion", summary: "print what a shell needs to complete these commands",
        examples: [
            .init("proxy completion bash", "source <(proxy completion bash), as in ~/.bashrc"),
            .init("proxy completion zsh", "into a file _proxy in a directory of $fpath"),
            .init("proxy completion fish", "into ~/.config/fish/completions/proxy.fish"),
        ],
        synopsis: "bash|zsh|fish|names",
        notes: [
            "\"names\" prints the names of the configuration's credentials, one on each line; the scripts ask for them."
        ])

    /// Nil for the names.
    private let script: CompletionScript?
    private static let names = "names"

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        let word = try arguments.operand(required: "bash, zsh or fish")
        script = CompletionScript(rawValue: word)
        guard script != nil || word == Self.names else {
            throw .invalidValue(of: "proxy completion", word, expected: "bash, zsh or fish")
        }
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        if let script {
            world.console.output.write(script.text)
            return .success
        }
        for credential in try world.settings(for: SettingsArguments(configFile: nil)).credentials {
            world.console.line(credential.id.name)
        }
        return .success
    }
}
