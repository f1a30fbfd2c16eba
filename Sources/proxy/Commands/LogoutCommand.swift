// `proxy logout`: the end of a login, here and at the provider.

import AuthCore
import Configuration
import TokenStore
import Vocabulary

/// Removes one login from the store, whatever the provider says; a running proxy notices within a
/// second.
struct LogoutCommand: Command {
    static let help = CommandHelp(
        name: "logout", summary: "end a login, on this machine and at the provider",
        examples: [
            .init("proxy logout", "the only credential's login"),
            .init("proxy logout github --local", "without a word to the provider"),
            .init("proxy logout --print-url", "show the log-out page's address; open it yourself"),
            .init("proxy logout --json", "what each step did, for programs"),
        ],
        synopsis: "[NAME] [--local | --browser CMD | --print-url] [--timeout D] [--json]",
        flags: [
            .init("--local", "leave the provider alone"),
            .init("--browser CMD", "run this command for the log-out page; no shell"),
            .init("--print-url", "print the page's address on standard output and wait"),
            .init("--timeout D", "how long to wait for the browser; two minutes by itself"),
            .init("--json", "what each step did, for programs"),
        ] + SettingsArguments.help,
        notes: [
            "The login is forgotten here first; then its tokens are revoked, and a browser ends the session at the provider, where the provider offers these and somebody is here.",
            "It ends with 1 when a step failed, with 5 when the browser did not finish in time.",
        ])

    private let name: String?
    private let isLocal: Bool
    private let isJSON: Bool
    private let browser: [String]?
    private let isPrintURL: Bool
    private let timeoutSeconds: Int64
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        isLocal = try arguments.flag("--local")
        isPrintURL = try arguments.flag("--print-url")
        let command = try arguments.value(of: "--browser", "CMD")
        let ways = [
            ("--local", isLocal), ("--browser", command != nil), ("--print-url", isPrintURL),
        ].filter { $0.1 }
        if ways.count > 1 { throw .exclusiveFlags(ways.map(\.0)) }
        browser = try command.map(LoginCommand.words)
        isJSON = try arguments.flag("--json")
        timeoutSeconds = try LoginWishes.seconds("--timeout", from: 1, &arguments) ?? 120
        settings = try SettingsArguments(&arguments)
        name = try arguments.operand()
        try arguments.finish()
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let signals = SignalWatch.start()
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "logout") { $0.isInteractive }
        guard case .oauth(let oauth) = chosen.kind else {
            throw CommandFailure(
                .failure, "\"\(chosen.id)\" has no login: its token comes from the configuration")
        }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let desk = LogoutDesk(
            discovery: DiscoveryDesk(in: tools.surroundings), in: tools.surroundings)
        let options = options(in: world)
        let (console, isJSON) = (world.console, isJSON)
        let report = await SignalWatch.run(until: signals) {
            await desk.logOut(chosen.id, oauth, options) { event in
                console.report(event, isJSON: isJSON)
            }
        }
        if isJSON {
            world.console.json([
                "credential": .string(chosen.id.name), "steps": report.document,
            ])
        }
        for line in report.lines { world.console.report(line, chosen.id, isJSON: isJSON) }
        return exitCode(report)
    }

    private func options(in world: World) -> LogoutOptions {
        var channel = LogoutOptions.Channel.nobody
        if let browser {
            channel = .browser(browser)
        } else if isPrintURL {
            channel = .printURL
        } else if case .present(let words) = world.person {
            channel = .browser(words)
        }
        var options = LogoutOptions(channel)
        options.isLocal = isLocal
        options.timeoutMilliseconds = UInt64(timeoutSeconds) * 1000
        return options
    }

    private func exitCode(_ report: LogoutReport) -> ExitCode {
        if report.has(.failed) { return .failure }
        if report.has(.interrupted) { return .interrupted }
        return report.has(.timedOut) ? .timedOut : .success
    }
}

extension Console {
    fileprivate func report(_ event: LogoutEvent, isJSON: Bool) {
        switch event {
        case .address(let url):
            note("to end the session at the provider open this address in a browser here:")
            // Standard output is for programs then.
            if isJSON { note("  \(url)") } else { line(url) }
        case .browserStarted(let url):
            note("ending the session at the provider in the browser; if none opened, visit")
            note("  \(url)")
        case .ignoredAnswer: note("ignored: an answer to another log-out")
        case .stateMissing:
            warning("the provider did not repeat the state of the log-out; it counts all the same")
        }
    }

    /// One line for a step, so that what did not happen is as clear as what did.
    fileprivate func report(_ line: LogoutReport.Line, _ id: CredentialID, isJSON: Bool) {
        let what = line.step.words
        let why = line.detail.map { ": \($0)" } ?? ""
        switch line.outcome {
        case .done:
            if !isJSON { note(line.step.done(id) + (line.detail.map { " (\($0))" } ?? "")) }
        case .absent:
            if !isJSON, line.step == .local { note("there is no login of \"\(id)\" here") }
        case .skipped:
            if !isJSON, line.detail != LogoutDesk.localOnly {
                warning("\(what) was left out\(why)")
            }
        case .unsupported:
            if !isJSON { note("\(what) is not possible\(why)") }
        case .failed: error("\(what) failed\(why)")
        case .timedOut: error("\(what) was not finished\(why)")
        case .interrupted: warning("\(what) was left out: interrupted")
        }
        if let hint = line.hint, line.outcome != .done { self.hint(hint) }
    }
}

extension LogoutReport.Step {
    fileprivate var words: String {
        switch self {
        case .local: "forgetting the login on this machine"
        case .refreshToken: "revoking the refresh token"
        case .accessToken: "revoking the access token"
        case .session: "ending the session at the provider"
        }
    }

    fileprivate func done(_ id: CredentialID) -> String {
        switch self {
        case .local: "the login of \"\(id)\" is forgotten on this machine"
        case .refreshToken: "the refresh token is revoked"
        case .accessToken: "the access token is revoked"
        case .session: "the session at the provider is ended"
        }
    }
}

extension CredentialSettings {
    /// Whether somebody can log in to it.
    var isInteractive: Bool {
        if case .oauth(let oauth) = kind { oauth.grant.needsPerson } else { false }
    }
}
