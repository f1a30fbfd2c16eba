// The child processes that whole-binary tests run in, and the search for secrets in them.

import Support
import Testing

@Suite(.ownThread) struct `Child process` {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func run(_ script: String, input: Octets = "") throws -> ChildProcess {
        try ChildProcess(
            ["/bin/sh", "-c", script], environment: ["ONLY": "this"], directory: directory.path,
            input: input)
    }

    @Test func `keeps what is printed and how it ended`() throws {
        let child = try run("cat; echo oops >&2; pwd; env; exit 3", input: "hello\n")
        #expect(try child.waitForEnd() == .exited(3))
        let output = child.printed(.output)
        #expect(output.hasPrefix("hello\n"))
        #expect(output.contains(Octets(directory.path)))
        #expect(output.contains("ONLY=this"))
        #expect(!output.contains("HOME="))
        #expect(child.printed(.error) == "oops\n")
    }

    @Test func `has no terminal and inherits no descriptors`() throws {
        let child = try run("ls /proc/self/fd; tty; exec 3</dev/tty || exit 9")
        #expect(try child.waitForEnd() != .exited(0))
        // 3 is the directory that ls reads.
        #expect(child.printed(.output) == "0\n1\n2\n3\nnot a tty\n")
    }

    @Test func `is killed with its children`() throws {
        let child = try run("sleep 100 & sleep 100")
        try waited(for: "its children") { child.family.count == 3 ? () : nil }
        child.kill(9, wholeGroup: true)
        #expect(try child.waitForEnd() == .killed(signal: 9))
    }

    @Test func `is watched for secrets in arguments and environments`() throws {
        let child = try run("SECRET=canary-in-environment sleep 100 & sleep 1234567890")
        let watch = ProcessWatch(child)
        let search = SecretSearch(["canary-in-environment", "1234567890", "canary-elsewhere"])
        let found = try waited(for: "both to be seen") {
            let found = search.found(in: watch.seen)
            return found.count == 2 ? found : nil
        }
        #expect(found == ["canary-in-environment", "1234567890"])
    }

    @Test func `secrets are found in base64 and hexadecimal too`() {
        let search = SecretSearch(["canary-secret-value"])
        #expect(search.found(in: "a canary-secret-") == ["canary-secret-value"])
        #expect(
            search.found(in: "x 63616e6172792d7365637265742d76616c7565") == ["canary-secret-value"])
        // base64 of "Bearer canary-secret-value" and of two shorter beginnings.
        #expect(search.found(in: "QmVhcmVyIGNhbmFyeS1zZWNyZXQtdmFsdWU=").count == 1)
        #expect(search.found(in: "OmNhbmFyeS1zZWNyZXQtdmFsdWU=").count == 1)
        #expect(search.found(in: "Y2FuYXJ5LXNlY3JldC12YWx1ZQ==").count == 1)
        #expect(search.found(in: "nothing of the kind").isEmpty)
    }
}
