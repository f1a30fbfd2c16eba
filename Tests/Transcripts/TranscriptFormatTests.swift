// The format itself: a test that reads its expectations wrongly proves nothing.

import Testing

@Suite struct `Transcript format` {
    @Test func `reads files, commands, input, both outputs and the code`() throws {
        let transcript = try Transcript(
            """
            # a remark
            @ proxy.yaml
                a: b
                  c: d
            $ NO_COLOR=1 proxy status "my name" --x=y ""
            < one
            <
            | out
            |
            ! err
            = 3
            """)
        try #require(transcript.steps.count == 2)
        guard case .file("proxy.yaml", "a: b\n  c: d\n") = transcript.steps[0],
            case .command(let command) = transcript.steps[1]
        else {
            Issue.record("\(transcript.steps)")
            return
        }
        #expect(command.variables.map(\.name) == ["NO_COLOR"])
        #expect(command.words == ["proxy", "status", "my name", "--x=y", ""])
        #expect(command.input == "one\n\n")
        #expect(command.output == ["out", ""])
        #expect(command.errors == ["err"])
        #expect(command.exitCode == 3)
    }

    @Test(arguments: [
        "$ proxy version", "$ proxy version\n$ proxy help\n= 0", "| x", "$ rm -r /\n= 0",
        "$ proxy \"x\n= 0", "$ proxy x\n= zero", "$ proxy x\n? y\n= 0", "    x",
    ])
    func `refuses what it would have to guess at`(text: String) {
        #expect(throws: Transcript.Malformed.self) { try Transcript(text) }
    }

    @Test(arguments: [
        ("plain", "plain"), ("on port [number]!", "on port 8080!"), ("[...]", ""),
        ("a[...]b", "a b b"), ("at [time]", "at 2026-11-30T07:00:00Z"),
        ("[duration] left", "4m58s left"),
        ("[number][number]", "12"), ("[x] [number]", "[x] 1"),
    ])
    func `takes a line that fits`(pattern: String, line: String) {
        #expect(LinePattern(pattern).matches(line))
    }

    @Test(arguments: [
        ("plain", "plain "), ("port [number]", "port "), ("port [number]", "port x1"),
        ("a[...]b", "a bc"), ("[number]", "1x"), ("", "x"), ("x", ""),
    ])
    func `refuses a line that does not`(pattern: String, line: String) {
        #expect(!LinePattern(pattern).matches(line))
    }
}
