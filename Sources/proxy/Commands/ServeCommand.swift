// `proxy serve`: the product itself.

import Configuration

/// Listens, forwards and attaches credentials until it is asked to end.
struct ServeCommand: Command {
    static let help = CommandHelp(
        name: "serve", summary: "listen, forward requests and attach fresh credentials",
        examples: [
            .init("proxy serve", "as the configuration says"),
            .init(
                "proxy serve --upstream https://api.example.com"
                    + " --issuer https://login.example.com --client-id my-cli",
                "without a configuration file"),
            .init("proxy serve --listen 127.0.0.1:9000", "on another port"),
        ],
        synopsis: "[--config FILE] [--listen ADDR]..."
            + " [--upstream URL --issuer URL --client-id ID [--scope S]...]",
        flags: [
            .init("--listen ADDR", "listen here instead of where the configuration says; often")
        ] + SettingsArguments.help,
        notes: [
            "It ends with SIGINT or SIGTERM: requests that run are finished first, within the configured grace period. A second signal ends it at once."
        ])

    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        var settings = try SettingsArguments(&arguments)
        try settings.readListen(&arguments)
        try arguments.finish()
        self.settings = settings
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let signals = SignalWatch.start()
        let loaded = try world.settings(for: settings)
        let settings = settings
        let log = ServeLog(loaded.log, on: world.console)
        let proxy = try await RunningProxy.start(
            loaded, person: world.person, log: log.log,
            loginCommand: { settings.loginCommand($0, in: loaded) }, in: world)
        for address in proxy.addresses { log.listening(on: address) }
        ProcessMemory.giveBackStart()
        // The first look at stores and providers, and the first requests, bring more of it in, once.
        let settling = Task {
            try await Task.sleep(for: .seconds(2))
            ProcessMemory.giveBackStart()
        }
        for await _ in signals { break }
        settling.cancel()
        let grace = Int64(clamping: loaded.shutdown.grace / 1000)
        log.ending(graceSeconds: grace)
        await proxy.drain(graceMilliseconds: loaded.shutdown.grace)
        return .success
    }
}
