// `proxy serve`: the product itself.

import AuthCore
import Configuration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
        ] + SettingsArguments.help + [
            .init(
                "--exit-with-parent",
                "end, as with SIGTERM, when the process that started it has gone")
        ],
        notes: [
            "It ends with SIGINT or SIGTERM: requests that run are finished first, within the configured grace period. A second signal ends it at once.",
            "It reads a changed configuration again by itself, and with SIGHUP; a file with an error changes nothing.",
            "SIGUSR1 makes the log say everything, SIGUSR2 what is configured.",
        ])

    private let settings: SettingsArguments
    private let endsWithParent: Bool

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        var settings = try SettingsArguments(&arguments)
        try settings.readListen(&arguments)
        endsWithParent = try arguments.flag("--exit-with-parent")
        try arguments.finish()
        self.settings = settings
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        // Asked now: a parent that goes during the start has gone.
        let parent = endsWithParent ? getppid() : nil
        let signals = SignalWatch.start()
        let hangups = HangupWatch.start()
        let running = Running(try world.settings(for: settings))
        let loaded = running.settings
        let watch = loaded.reload == .watch ? loaded.file.map { ConfigurationWatch($0) } : nil
        let settings = settings
        let log = ServeLog(running.settings.log, on: world.console)
        defer { log.end() }
        let wishes = LevelSignals.start()
        let levels = Task { for await wish in wishes { log.follow(wish) } }
        defer { levels.cancel() }
        let proxy = try await RunningProxy.start(
            running, person: world.person, log: log.log,
            loginCommand: { settings.loginCommand($0, in: running.settings) }, in: world)
        // One may lie there from a process of the same number that was killed.
        await RefusalNote.remove(from: proxy.tools.surroundings.store)
        for address in proxy.addresses { log.listening(on: address) }
        for address in proxy.adminAddresses { log.statusPage(at: address) }
        let reloader = Reloader(running, proxy, settings.request, in: world, log: log)
        let events = ServeEvents(
            of: running, signals: signals, hangups: hangups, file: watch, parent: parent,
            reloader: reloader)
        ProcessMemory.giveBackStart()
        // The first look at stores and providers, and the first requests, bring more of it in, once.
        let settling = Task {
            try await Task.sleep(for: .seconds(2))
            ProcessMemory.giveBackStart()
        }
        _ = await running.waitForEnd()
        settling.cancel()
        events.stop()
        await reloader.finish()
        let grace = running.settings.shutdown.grace
        log.ending(graceSeconds: Int64(clamping: grace / 1000))
        await proxy.drain(graceMilliseconds: grace)
        return .success
    }
}
