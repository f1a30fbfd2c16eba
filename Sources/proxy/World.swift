// Everything outside that a command may look at or touch, handed in so that a test can hand in
// another. Nothing else in this room reads the environment or a standard descriptor.

import CProcess

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The surroundings of one run of a command.
struct World: Sendable {
    let console: Console
    let environment: [String: String]
    /// Where tokens and pasted addresses are read from.
    let input: Int32
    let isInputTerminal: Bool

    init(input: Int32, output: Int32, errors: Int32, environment: [String: String]) {
        self.input = input
        self.environment = environment
        isInputTerminal = isatty(input) == 1
        console = Console(
            output: TextOutput(descriptor: output), errors: TextOutput(descriptor: errors),
            environment: environment)
    }

    /// The process's own.
    static func ofProcess() -> World {
        World(input: 0, output: 1, errors: 2, environment: processEnvironment())
    }

    /// The environment as the process was given it (environ(7)). A name that occurs twice has the value
    /// that getenv(3) would find.
    private static func processEnvironment() -> [String: String] {
        var environment: [String: String] = [:]
        var entry = cprocess_environment()
        while let text = entry?.pointee {
            let parts = String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2, environment[String(parts[0])] == nil {
                environment[String(parts[0])] = String(parts[1])
            }
            entry = entry?.successor()
        }
        return environment
    }

    /// Whether somebody can be asked: both ends of the conversation are a terminal.
    var isConversation: Bool { isInputTerminal && console.errors.isTerminal }
}
