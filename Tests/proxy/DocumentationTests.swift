// Command lines that people are told to type: in the README and in the help texts. Each must be one
// that the commands take.

import Support
import Testing

@testable import proxy

@Suite struct Documentation {
    private static let readme =
        #filePath.components(separatedBy: "/").dropLast(3).joined(separator: "/") + "/README.md"

    /// Lines of the README's shell blocks that run the proxy.
    private static func lines() throws -> [String] {
        let text = try #require(try Files.read(readme)).text
        var isShell = false
        var lines: [String] = []
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") { isShell = line == "```sh" }
            if isShell, line.hasPrefix("proxy ") { lines.append(line) }
        }
        return lines
    }

    /// The words behind `proxy`, without what is the shell's.
    private static func words(_ line: String) -> [String] {
        let command = line.components(separatedBy: "proxy ").dropFirst().joined(separator: "proxy ")
        var words: [String] = []
        var isQuoted = false
        for part in command.components(separatedBy: "<")[0].components(separatedBy: " ") {
            let text = part.components(separatedBy: "\"").joined()
            if isQuoted {
                words[words.count - 1] += " " + text
            } else if !text.isEmpty {
                words.append(text)
            }
            if part.components(separatedBy: "\"").count % 2 == 0 { isQuoted.toggle() }
        }
        return words
    }

    @Test func `shows command lines in the README`() throws {
        #expect(try Self.lines().count >= 8)
    }

    @Test func `shows only command lines that are understood`() throws {
        for line in try Self.lines() {
            #expect(throws: Never.self, "\(line)") { try CommandTable.parse(Self.words(line)) }
        }
    }

    @Test func `names only commands that there are`() throws {
        let text = try #require(try Files.read(Self.readme)).text
        for mention in text.components(separatedBy: "`proxy ").dropFirst() {
            let name = mention.prefix { $0.isLetter }
            #expect(CommandTable.command(named: String(name)) != nil, "\(name)")
        }
    }

    @Test func `names every command`() throws {
        let text = try #require(try Files.read(Self.readme)).text
        for command in CommandTable.commands {
            #expect(text.contains("`proxy \(command.help.name)"), "\(command.help.name)")
        }
    }

    @Test func `gives examples in help that are understood`() {
        for command in CommandTable.commands {
            for example in command.help.examples {
                let line = example.left.components(separatedBy: "| ").last ?? ""
                #expect(throws: Never.self, "\(line)") {
                    try CommandTable.parse(Self.words(line))
                }
            }
        }
    }
}
