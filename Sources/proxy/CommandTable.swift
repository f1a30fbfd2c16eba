// Which commands there are, which there will be, and how a command line becomes an exit code.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

import Vocabulary

/// The commands by name, in the order in which help lists them.
enum CommandTable {
    static let commands: [any Command.Type] = [
        ServeCommand.self, RunCommand.self, LoginCommand.self, LogoutCommand.self,
        StatusCommand.self, WhoamiCommand.self, TokenCommand.self, RefreshCommand.self,
        ImportCommand.self, StoreCommand.self, CheckCommand.self, HealthCommand.self,
        InitCommand.self, CertificateCommand.self, DemoCommand.self, CompletionCommand.self,
        VersionCommand.self, HelpCommand.self,
    ]

    static func command(named name: String) -> (any Command.Type)? {
        commands.first { $0.help.name == name }
    }

    /// Parses and runs one command line, the program's own name left out.
    static func run(_ words: [String], in world: World) async -> ExitCode {
        let command: any Command
        do throws(UsageError) {
            command = try parse(words)
        } catch {
            world.console.error(error.message, hint: error.hint)
            return .usage
        }
        do throws(CommandFailure) {
            return settle(try await command.run(in: world), in: world)
        } catch {
            for message in error.messages { world.console.error(message.text, hint: message.hint) }
            return error.exitCode
        }
    }

    static func parse(_ words: [String]) throws(UsageError) -> any Command {
        guard let first = words.first else { throw .noCommand }
        let rest = words.dropFirst()
        // `--help` wins wherever it stands, so that it can be added to a line that does not work.
        let flags = words.prefix { $0 != "--" }
        let name =
            ["--help", "-h"].contains(first) ? "help" : first == "--version" ? "version" : first
        guard let command = command(named: name) else { throw unknown(name) }
        if flags.dropFirst().contains(where: { $0 == "--help" || $0 == "-h" }) {
            return HelpCommand(about: command)
        }
        var arguments = ArgumentReader(command: name, words: rest)
        return try command.init(&arguments)
    }

    static func unknown(_ name: String) -> UsageError {
        return .unknownCommand(
            name, nearest: nearestName(to: name, among: commands.map { $0.help.name }))
    }

    /// An answer that did not reach its reader is no success. A reader that left early
    /// (`proxy help | head -1`) knows that already.
    private static func settle(_ code: ExitCode, in world: World) -> ExitCode {
        guard code == .success, let failure = world.console.output.failure else { return code }
        if failure != EPIPE {
            world.console.error("cannot write to standard output: \(systemMessage(failure))")
        }
        return .failure
    }
}

/// What the system says of an error number.
func systemMessage(_ code: Int32) -> String {
    String(cString: strerror(code))
}
