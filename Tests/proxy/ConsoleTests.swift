// What a person sees, byte for byte.

import Testing

@testable import proxy

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

@Suite struct `Console output` {
    /// Runs `body` with a console whose two streams are pipes, and gives what was written.
    private func written(
        environment: [String: String] = [:], isTerminal: Bool = false, _ body: (Console) -> Void
    ) -> (output: String, errors: String) {
        var output: [Int32] = [0, 0]
        var errors: [Int32] = [0, 0]
        pipe(&output)
        pipe(&errors)
        body(
            Console(
                output: TextOutput(descriptor: output[1], isTerminal: isTerminal),
                errors: TextOutput(descriptor: errors[1], isTerminal: isTerminal),
                environment: environment))
        close(output[1])
        close(errors[1])
        return (drain(output[0]), drain(errors[0]))
    }

    private func drain(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &block, block.count)
            guard count > 0 else { break }
            bytes += block[..<count]
        }
        close(descriptor)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `puts the error and then the hint on standard error`() {
        let (output, errors) = written { console in
            console.error("no credential named \"x\"", hint: "run \"proxy login x\"")
        }
        #expect(output == "")
        #expect(
            errors == """
                proxy: error: no credential named "x"
                proxy: hint: run "proxy login x"

                """)
    }

    @Test func `keeps facts apart from news`() {
        let (output, errors) = written { console in
            console.note("waiting")
            console.line("a fact")
        }
        #expect(output == "a fact\n")
        #expect(errors == "proxy: waiting\n")
    }

    @Test func `lets no text steer the terminal or forge a line`() {
        let (_, errors) = written { console in
            console.error("bad \u{1B}[2J\r\nproxy: error: forged\u{202E}\u{9B}1m\u{2028}")
        }
        #expect(
            errors == """
                proxy: error: bad \\u{1b}[2J\\u{d}\\u{a}proxy: error: forged\\u{202e}\\u{9b}1m\\u{2028}

                """)
    }

    @Test func `colours the labels on a terminal only, and not under NO_COLOR`() {
        let plain = "proxy: error: x\n"
        let coloured = "proxy: \u{1B}[1;31merror:\u{1B}[0m x\n"
        func errors(_ environment: [String: String], isTerminal: Bool = true) -> String {
            written(environment: environment, isTerminal: isTerminal) { $0.error("x") }.errors
        }
        #expect(errors([:]) == coloured)
        #expect(errors(["NO_COLOR": ""]) == coloured)
        #expect(errors(["NO_COLOR": "1"]) == plain)
        #expect(errors(["TERM": "dumb"]) == plain)
        #expect(errors([:], isTerminal: false) == plain)
    }

    @Test func `remembers that a reader has gone`() {
        signal(SIGPIPE, SIG_IGN)
        var ends: [Int32] = [0, 0]
        pipe(&ends)
        close(ends[0])
        let output = TextOutput(descriptor: ends[1])
        #expect(output.failure == nil)
        output.write("x")
        #expect(output.failure == EPIPE)
        close(ends[1])
    }
}
