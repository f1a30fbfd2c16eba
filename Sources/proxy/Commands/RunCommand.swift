// `proxy run`: a proxy for one program and for as long as that runs.

import Bytes
import Configuration
import Crypto
import Routing
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Listens on a free port, tells a program where, and ends with it.
struct RunCommand: Command {
    static let help = CommandHelp(
        name: "run", summary: "start a program with a proxy of its own",
        examples: [
            .init(
                "proxy run -- python agent.py", "with the variables that the routes' \"env\" names"),
            .init(
                "proxy run --env OPENAI_BASE_URL --key OPENAI_API_KEY -- python agent.py",
                "for the first route, named here"),
            .init(
                "proxy run -- sh -c 'curl \"$PROXY_URL/v1/me\"'",
                "the proxy's own address is always there"),
        ],
        synopsis:
            "[--config FILE] [--listen ADDR] [--env NAME]... [--key NAME]... -- PROGRAM [ARG]...",
        flags: [
            .init("--listen ADDR", "listen here instead of on a free port of 127.0.0.1"),
            .init("--env NAME", "a variable for the first route's URL; often"),
            .init("--key NAME", "a variable for the key that callers must show; often"),
        ] + SettingsArguments.help,
        notes: [
            "Where a key is wanted, here or by a route's \"env\", it is made anew for each run, and nobody without it may call: programs send it as their API key.",
            "The program's environment has no variable that the configuration reads a secret from.",
            "Signals are passed on to the program; the proxy ends when it does, with its exit code, or 128 and the number of the signal that ended it. 127: there is no such program; 126: it cannot be started.",
        ])

    private let settings: SettingsArguments
    private let urls: [String]
    private let keys: [String]
    private let words: [String]

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        var settings = try SettingsArguments(&arguments)
        try settings.readOneListen(&arguments)
        self.settings = settings
        urls = try arguments.values(of: "--env", "NAME")
        keys = try arguments.values(of: "--key", "NAME")
        for (flag, names) in [("--env", urls), ("--key", keys)] {
            if let name = names.first(where: { !RouteExport.isVariable($0) }) {
                throw .invalidValue(
                    of: flag, name, expected: "letters, digits and _, such as API_URL")
            }
        }
        var words = [try arguments.operand(required: "PROGRAM")]
        while let word = try arguments.operand() { words.append(word) }
        self.words = words
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        ChildProgram.takeSignals()
        var loaded = try world.settings(for: settings)
        if !urls.isEmpty || !keys.isEmpty {
            loaded.exports.append(RouteExport(route: 0, urls: urls, keys: keys))
            try checkVariables(loaded.exports)
        }
        // The status page is the one of `proxy serve`, which may run beside it.
        loaded.admin = AdminSettings()
        let secret = try demandSecret(&loaded)
        // The program's own lines are what a person looks at.
        if loaded.log.level == .info { loaded.log.level = .warning }
        if loaded.log.access == .failures { loaded.log.access = .off }
        let log = ServeLog(loaded.log, on: world.console)
        defer { log.end() }
        let running = Running(loaded)
        let settings = self.settings
        let proxy = try await RunningProxy.start(
            running, person: world.person, log: log.log,
            loginCommand: { settings.loginCommand($0, in: running.settings) }, in: world)
        let code: Result<Int32, CommandFailure>
        do throws(CommandFailure) {
            code = .success(try await runProgram(proxy, loaded, secret, world))
        } catch {
            code = .failure(error)
        }
        // Nobody is left who could ask for anything; a refresh under way is finished and saved.
        await proxy.drain(graceMilliseconds: 0)
        return try ExitCode(rawValue: code.get())
    }

    /// What the configuration makes sure of for its own names, and cannot for those of flags.
    private func checkVariables(_ exports: [RouteExport]) throws(CommandFailure) {
        var owners: [String: Int] = [:]
        let keys = Set(exports.flatMap(\.keys))
        for export in exports {
            for name in export.urls
            where keys.contains(name) || owners[name, default: export.route] != export.route {
                throw CommandFailure(
                    .usage, "the variable \"\(name)\" would have two values",
                    hint: "give each route, and the key, a variable of its own")
            }
            for name in export.urls { owners[name] = export.route }
        }
    }

    /// A key for this run alone, where somebody is to be told one.
    private func demandSecret(_ settings: inout Settings) throws(CommandFailure) -> String? {
        guard settings.exports.contains(where: { !$0.keys.isEmpty }) else { return nil }
        let digits = Array("0123456789abcdef".utf8)
        let bytes = RandomBytes.make(32).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
        do throws(RouteError) {
            try settings.demand(.known(SecretBytes(bytes)))
        } catch {
            throw CommandFailure(
                .configuration,
                "a key for callers cannot be used with the routes of this configuration",
                hint: "a route with client_authorization: keep needs local_secret: { header: X-… }")
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private func runProgram(
        _ proxy: RunningProxy, _ settings: Settings, _ secret: String?, _ world: World
    ) async throws(CommandFailure) -> Int32 {
        guard let base = proxy.addresses.first, let port = proxy.ports.first else {
            throw CommandFailure(
                .failure, "the program cannot be told of a proxy that has no TCP port",
                hint: "leave out --listen, or write --listen 127.0.0.1:0")
        }
        if let early = ChildProgram.earlySignal { return 128 + early }
        let environment = RunEnvironment(
            world.environment, settings, base: base, port: port, secret: secret)
        let child: ChildProgram
        do throws(ChildProgram.Errno) {
            child = try ChildProgram.start(words, environment: environment.variables)
        } catch {
            // As shells count (POSIX, Shell Command Language, 2.8.2).
            throw CommandFailure(
                ExitCode(rawValue: error.code == ENOENT ? 127 : 126),
                "cannot run \"\(words[0])\": \(systemMessage(error.code))",
                hint: error.code == ENOENT
                    ? "write a program's name or path behind --; it is looked for in PATH"
                    : "it must be a program, or a script with #!, that this user may run")
        }
        return await child.ended()
    }
}
