// The manual page says all that help says, in roff that no formatter complains of.

import Support
import Testing

@testable import proxy

@Suite struct `Manual page` {
    private static let lines = ManualPage.text.components(separatedBy: "\n")

    @Test func `has every command with every flag`() {
        for command in CommandTable.commands {
            #expect(Self.lines.contains(".SS \"proxy \(command.help.name)\""))
            for flag in CommandWords(command.help).flags {
                let name = flag.name.components(separatedBy: "-").joined(separator: "\\-")
                #expect(
                    Self.lines.contains { $0.hasPrefix("\\fB\(name)") },
                    "\(command.help.name) \(name)")
            }
        }
    }

    @Test func `has every exit code`() {
        let codes: [ExitCode] = [
            .success, .failure, .usage, .loginNeeded, .denied, .timedOut, .configuration,
            .interrupted,
        ]
        for code in codes {
            #expect(Self.lines.contains("\\fB\(code.rawValue)\\fR"))
        }
    }

    @Test func `lets no text become a macro or an escape`() {
        let macros: Set = [".TH", ".SH", ".SS", ".PP", ".TP", ".in", ".nf", ".fi"]
        for line in Self.lines where line.hasPrefix(".") || line.hasPrefix("'") {
            #expect(macros.contains(line.components(separatedBy: " ")[0]), "\(line)")
        }
        for line in Self.lines {
            for escape in line.components(separatedBy: "\\").dropFirst() {
                #expect("-(ef&".contains(escape.prefix(1)), "\(line)")
            }
        }
    }

    private static let linter = "/usr/bin/mandoc"

    @Test(.enabled(if: (try? Files.read(linter)) != nil))
    func `pleases mandoc`() throws {
        let directory = try TemporaryDirectory()
        let child = try ChildProcess(
            [Self.linter, "-Tlint", "-Wstyle"], environment: ["LANG": "C.UTF-8"],
            directory: directory.path, input: Octets(ManualPage.text.utf8))
        let result = try CommandResult(of: child)
        #expect(result.output + result.error == "")
        #expect(result.status == 0)
    }
}
