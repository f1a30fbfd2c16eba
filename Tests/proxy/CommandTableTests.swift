// Which words make which command, and what is said of those that make none.

import Testing

@testable import proxy

@Suite struct `Command table` {
    @Test func `suggests the nearest command`() {
        #expect(throws: UsageError.unknownCommand("verison", nearest: "version")) {
            try CommandTable.parse(["verison"])
        }
        #expect(throws: UsageError.unknownCommand("fetch", nearest: nil)) {
            try CommandTable.parse(["fetch"])
        }
        #expect(throws: UsageError.noCommand) { try CommandTable.parse([]) }
    }

    @Test(arguments: [
        ["--help"], ["-h"], ["help"], ["version", "--help"], ["version", "--unknown", "-h"],
    ])
    func `takes a wish for help wherever it stands`(words: [String]) throws {
        #expect(try CommandTable.parse(words) is HelpCommand)
    }

    @Test func `takes --version for the command`() throws {
        #expect(try CommandTable.parse(["--version"]) is VersionCommand)
    }

    @Test func `has an example first in the help of every command`() {
        for command in CommandTable.commands {
            let help = command.help
            let first = help.examples.first?.left ?? ""
            #expect(first.contains("proxy \(help.name)"), "\(help.name)")
            #expect(!help.summary.isEmpty && !help.summary.hasSuffix("."), "\(help.name)")
        }
    }
}
