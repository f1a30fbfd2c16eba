// `proxy init`: a configuration to start from, with comments. It never replaces a file.

import Configuration
import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Writes a starter.
struct InitCommand: Command {
    static let help = CommandHelp(
        name: "init", summary: "write a commented configuration to start from",
        examples: [
            .init("proxy init github", "./proxy.yaml, for GitHub's API"),
            .init("proxy init", "for any OpenID Connect provider"),
            .init("proxy init google --output -", "only show it"),
        ],
        synopsis: "[PROVIDER] [--output FILE]",
        flags: [.init("--output FILE", "where to; \"-\" is standard output; default: proxy.yaml")],
        notes: [
            "A file that exists is left as it is. Providers: \(Preset.all.map(\.name).joined(separator: ", "))."
        ])

    private let preset: Preset
    private let output: String

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        output = try arguments.value(of: "--output", "FILE") ?? "proxy.yaml"
        let name = try arguments.operand() ?? "oidc"
        guard let preset = Preset.named(name) else {
            throw .unknownProvider(
                name, nearest: nearestName(to: name, among: Preset.all.map(\.name)))
        }
        self.preset = preset
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        guard output != "-" else {
            world.console.output.write(preset.starter)
            return .success
        }
        // Created here or not at all: what somebody wrote is never lost, a link is not followed.
        let descriptor = open(output, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
        guard descriptor >= 0 else { throw failure(errno) }
        let file = TextOutput(descriptor: descriptor, isTerminal: false)
        file.write(preset.starter)
        if let code = file.failure {
            close(descriptor)
            unlink(output)
            throw failure(code)
        }
        guard close(descriptor) == 0 else { throw failure(errno) }
        world.console.line("wrote \(output), for \(preset.title)")
        world.console.line("next: fill in what it says, then")
        world.console.line("  proxy check\(flag)")
        world.console.line("  proxy login\(flag)")
        return .success
    }

    /// What makes other commands read the file, where they would not find it themselves.
    private var flag: String { output == "proxy.yaml" ? "" : " --config \(shellQuoted(output))" }

    private func failure(_ code: Int32) -> CommandFailure {
        let hint =
            code == EEXIST
            ? "look at it, or name another file: proxy init \(preset.name) --output FILE" : nil
        return CommandFailure(
            .failure, "cannot write \(output): \(systemMessage(code))", hint: hint)
    }
}
