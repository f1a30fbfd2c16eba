// Completion as shells do it: the script is loaded by the real one and asked what may follow.

import Support
import Testing

@testable import proxy

@Suite struct `Completion` {
    /// What bash offers for the last of some words. `proxy` is a function here: it stands for a
    /// program that knows two credentials.
    private static func bash(_ words: [String]) throws -> Set<String> {
        let program =
            CompletionScript.bash.text + """

                program() { [[ "$*" == "completion names" ]] && printf 'github\\ngoogle\\n'; }
                COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
                _proxy program
                printf '%s\\n' "${COMPREPLY[@]}"
                """
        return try lines(["/bin/bash", "-c", program, "bash"] + words)
    }

    private static func lines(_ command: [String], input: Octets = "") throws -> Set<String> {
        let directory = try TemporaryDirectory()
        try directory.write("x", to: "pro xy.yaml")
        try directory.makeDirectory("folder")
        let child = try ChildProcess(
            command,
            environment: ["PATH": "/usr/bin:/bin", "HOME": directory.path, "LANG": "C.UTF-8"],
            directory: directory.path, input: input)
        let result = try CommandResult(of: child)
        #expect(result.status == 0, "\(result.error)")
        #expect(result.error == "")
        return Set(result.output.split(separator: "\n").map(String.init))
    }

    private static func isHere(_ shell: String) -> Bool {
        (try? Files.read("/usr/bin/\(shell)")) != nil
    }

    @Test func `offers every command`() throws {
        #expect(try Self.bash(["proxy", ""]) == Set(CommandTable.commands.map { $0.help.name }))
        #expect(try Self.bash(["proxy", "log"]) == ["login", "logout"])
    }

    @Test(arguments: CommandWords.all.map(\.name))
    func `offers every flag of a command`(name: String) throws {
        let command = try #require(CommandWords.all.first { $0.name == name })
        #expect(try Self.bash(["proxy", name, "--"]) == Set(command.flags.map(\.name)))
    }

    @Test func `offers the names of credentials, and words where there are some`() throws {
        #expect(try Self.bash(["proxy", "login", "g"]) == ["github", "google"])
        #expect(try Self.bash(["proxy", "store", ""]) == ["encrypt", "decrypt"])
        #expect(try Self.bash(["proxy", "init", "git"]) == ["github", "gitlab"])
        #expect(try Self.bash(["proxy", "completion", "z"]) == ["zsh"])
        #expect(try Self.bash(["proxy", "version", ""]) == [])
    }

    @Test func `offers files, directories and nothing behind flags that want them`() throws {
        #expect(
            try Self.bash(["proxy", "check", "--config", ""]) == ["pro xy.yaml", "folder"])
        #expect(try Self.bash(["proxy", "check", "--config", "=", "pro"]) == ["pro xy.yaml"])
        #expect(try Self.bash(["proxy", "certificate", "--dir", ""]) == ["folder"])
        #expect(try Self.bash(["proxy", "login", "--timeout", ""]) == [])
        #expect(try Self.bash(["proxy", "login", "--browser", "base64"]) == ["base64"])
    }

    @Test(.enabled(if: isHere("fish"))) func `is understood by fish`() throws {
        func offered(_ line: String) throws -> Set<String> {
            let script =
                CompletionScript.fish.text
                + "function proxy; printf 'github\\ngoogle\\n'; end\ncomplete -C \(shellWord(line))\n"
            let lines = try Self.lines(
                ["/usr/bin/fish", "--no-config"], input: Octets(script.utf8))
            return Set(lines.map { $0.components(separatedBy: "\t")[0] })
        }
        #expect(try offered("proxy log") == ["login", "logout"])
        #expect(try offered("proxy login g") == ["github", "google"])
        #expect(try offered("proxy login --add") == ["--add-scope"])
        #expect(try offered("proxy help sto") == ["store"])
    }

    private func shellWord(_ text: String) -> String { "'\(text)'" }

    @Test(.enabled(if: isHere("zsh"))) func `is understood by zsh`() throws {
        // Without a terminal nothing completes: the functions that zsh's own would call are asked.
        let script =
            """
            compdef() { :; }
            _describe() { for word in "${known[@]}"; print -r -- "${word%%:*}"; }
            _arguments() { for word in "$@"; print -r -- "$word"; }
            function program() { print -l github google; }

            """ + CompletionScript.zsh.text + """

                words=(program "") CURRENT=2; _proxy
                words=(program login "") CURRENT=3; _proxy
                """
        let offered = try Self.lines(["/usr/bin/zsh", "-f"], input: Octets(script.utf8))
        #expect(offered.isSuperset(of: ["serve", "login", "1:credential:(github google)"]))
        #expect(offered.contains { $0.hasPrefix("*--add-scope=[") })
    }
}
