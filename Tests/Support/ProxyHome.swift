// One user's world on disk: a home directory, a configuration, a store. Several processes of the real
// binary can live in it, and everything that any of them prints is kept for the search for secrets.

import Glibc
import Synchronization

/// Gone with its owner, like the processes started in it.
package final class ProxyHome: Sendable {
    package let directory: TemporaryDirectory
    private let children = Mutex<[ChildProcess]>([])

    package init(configuration: String = "") throws {
        directory = try TemporaryDirectory()
        for name in ["home", "state", "settings", "bin"] { try directory.makeDirectory(name) }
        try write(configuration: configuration)
    }

    package var configurationFile: String { directory.path("settings/proxy.yaml") }

    /// Where the store is by default.
    package var stateDirectory: String { directory.path("state/credential-proxy") }

    /// The file of one login.
    package func loginFile(_ credential: String = "default") -> String {
        "\(stateDirectory)/\(credential).json"
    }

    package func write(configuration: String) throws {
        try directory.write(Octets(configuration.utf8), to: "settings/proxy.yaml")
    }

    /// A program at the front of PATH for the proxy's children, such as a browser of ours.
    @discardableResult
    package func install(_ script: String, as name: String) throws -> String {
        try directory.writeScript(script, to: "bin/\(name)")
    }

    /// What processes get instead of the test runner's environment: nothing that names a terminal, a
    /// display, a proxy or a configuration.
    package var environment: [String: String] {
        let own = [
            "PATH": "\(directory.path("bin")):/usr/bin:/bin", "HOME": directory.path("home"),
            "XDG_STATE_HOME": directory.path("state"),
            "XDG_CONFIG_HOME": directory.path("home/.config"),
            "LANG": "C.UTF-8", "NO_COLOR": "1",
        ]
        return own.merging(Self.forSanitizers) { own, _ in own }
    }

    /// What a binary under a sanitizer is told (Tests/Sanitizers/run).
    private static let forSanitizers: [String: String] = {
        var found: [String: String] = [:]
        for name in ["ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "PROXY_ALLOW_DUMPS"] {
            if let value = getenv(name) { found[name] = String(cString: value) }
        }
        return found
    }()

    /// Starts a command and leaves it running.
    package func start(
        _ arguments: [String], environment changes: [String: String] = [:], input: Octets = ""
    ) throws -> ChildProcess {
        let child = try ChildProcess(
            [Binary.path] + arguments,
            environment: environment.merging(changes) { $1 }, directory: directory.path("home"),
            input: input)
        children.withLock { $0.append(child) }
        return child
    }

    /// Starts a script of /bin/sh, with the words as `$0`, `$1` and so on.
    package func startShell(_ script: String, _ words: [String]) throws -> ChildProcess {
        let child = try ChildProcess(
            ["/bin/sh", "-c", script] + words, environment: environment,
            directory: directory.path("home"), input: "")
        children.withLock { $0.append(child) }
        return child
    }

    /// Runs a command with this home's configuration to its end.
    @discardableResult
    package func run(
        _ arguments: [String], environment: [String: String] = [:], input: Octets = "",
        within limit: Duration = .seconds(30)
    ) throws -> CommandResult {
        let child = try start(
            arguments + ["--config", configurationFile], environment: environment, input: input)
        return try CommandResult(of: child, within: limit)
    }

    /// Starts `proxy serve` and waits until it listens.
    package func serve(
        _ arguments: [String] = [], environment: [String: String] = [:],
        within limit: Duration = .seconds(20)
    ) throws -> ProxyProcess {
        try ProxyProcess(
            start(
                ["serve", "--config", configurationFile] + arguments, environment: environment),
            within: limit)
    }

    /// Everything that was printed on standard error, and on standard output too where that is not
    /// a command's own business (`proxy token` prints a token there).
    package func printed(byErrorStreamOnly: Bool = false) -> [Octets] {
        children.withLock { children in
            children.flatMap { child in
                byErrorStreamOnly
                    ? [child.printed(.error)] : [child.printed(.error), child.printed(.output)]
            }
        }
    }

    /// The processes that were started here.
    package var processes: [ChildProcess] { children.withLock { $0 } }
}

/// How a command ended.
package struct CommandResult: Sendable {
    package let ending: ChildProcess.Ending
    package let output: String
    package let error: String

    package init(of child: ChildProcess, within limit: Duration = .seconds(30)) throws {
        ending = try child.waitForEnd(within: limit)
        output = String(decoding: child.printed(.output).bytes, as: UTF8.self)
        error = String(decoding: child.printed(.error).bytes, as: UTF8.self)
    }

    /// The exit code; nil when a signal ended it.
    package var status: Int32? {
        if case .exited(let status) = ending { status } else { nil }
    }
}

/// Where the program under test is: beside the test runner, or where PROXY_BINARY says.
package enum Binary {
    package static let path: String = {
        if let chosen = getenv("PROXY_BINARY") { return String(cString: chosen) }
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
        precondition(count > 0, "readlink /proc/self/exe failed with \(errno)")
        let runner = String(
            decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return runner.components(separatedBy: "/").dropLast().joined(separator: "/") + "/proxy"
    }()
}
