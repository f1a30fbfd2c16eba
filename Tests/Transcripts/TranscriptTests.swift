// Runs the transcripts beside this file against the binary of this build, each in an empty directory
// that is also its home.

import Support
import Testing

@Suite struct Transcripts {
    private static let folder = #filePath.components(separatedBy: "/").dropLast()
        .joined(separator: "/")

    private static let names = Files.list(folder).filter { $0.hasSuffix(".txt") }

    @Test func `are there`() {
        #expect(!Self.names.isEmpty)
    }

    @Test(arguments: names)
    func `come out as written`(name: String) throws {
        let text = try #require(try Files.read("\(Self.folder)/\(name)")).text
        let directory = try TemporaryDirectory()
        for step in try Transcript(text.replacing("[dir]", with: directory.path)).steps {
            switch step {
            case .file(let file, let content):
                try directory.write(Octets(content.utf8), to: file)
            case .command(let command):
                try check(command, of: name, in: directory)
            }
        }
    }

    private func check(
        _ command: Transcript.Command, of name: String, in directory: TemporaryDirectory
    ) throws {
        let place = "\(name):\(command.line)"
        var environment = ["HOME": directory.path, "PATH": "/usr/bin:/bin"]
        for (name, value) in command.variables { environment[name] = value }
        let child = try ChildProcess(
            [Binary.path] + command.words.dropFirst(), environment: environment,
            directory: directory.path, input: Octets(command.input.utf8))
        let ending = try child.waitForEnd()
        expect(child.printed(.output).text, fits: command.output, "standard output", place)
        expect(child.printed(.error).text, fits: command.errors, "standard error", place)
        #expect(ending == .exited(command.exitCode ?? 0), "\(place)")
    }

    private func expect(
        _ text: String, fits patterns: [String], _ stream: String, _ place: String
    ) {
        var lines = text.components(separatedBy: "\n")
        #expect(lines.last == "", "\(place): \(stream) ends inside a line")
        lines.removeLast()
        let fits =
            lines.count == patterns.count
            && zip(patterns, lines).allSatisfy { LinePattern($0).matches($1) }
        #expect(
            fits,
            """
            \(place): \(stream) should be
            \(patterns.joined(separator: "\n"))
            and is
            \(lines.joined(separator: "\n"))
            """)
    }
}
