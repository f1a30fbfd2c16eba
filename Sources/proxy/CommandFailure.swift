// Why a command did not do what it was asked: what the person reads, and what the shell learns.

/// Ends a command; CommandTable says it and gives the code.
struct CommandFailure: Error {
    struct Message: Sendable {
        let text: String
        let hint: String?
    }

    let exitCode: ExitCode
    /// In the order in which they are said; empty where everything was said already.
    let messages: [Message]

    init(_ exitCode: ExitCode, _ text: String, hint: String? = nil) {
        self.init(exitCode, [Message(text: text, hint: hint)])
    }

    init(_ exitCode: ExitCode, _ messages: [Message]) {
        self.exitCode = exitCode
        self.messages = messages
    }
}
