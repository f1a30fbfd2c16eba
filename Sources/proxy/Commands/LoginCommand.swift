// `proxy login`: one person, once.

import AuthCore
import Configuration
import TokenStore
import Vocabulary

/// Logs in to one credential.
struct LoginCommand: Command {
    static let help = CommandHelp(
        name: "login", summary: "log in, once; the proxy keeps the login fresh from then on",
        examples: [
            .init("proxy login", "in the browser, to the only credential"),
            .init("proxy login github --print-url", "show the address; open it yourself"),
            .init("proxy login --paste", "the browser is on another machine, as over SSH"),
            .init("proxy login --device", "with a code that is typed on any other device"),
            .init("proxy login --browser \"firefox --private-window\"", "in that browser"),
            .init("proxy login --add-scope files.write", "with more than was granted so far"),
        ],
        synopsis:
            "[NAME] [--paste | --device | --browser CMD | --print-url] [--scope S]... [--add-scope S]..."
            + " [--strict-scope] [--hint USER] [--switch-user] [--locale L]... [--prompt P]..."
            + " [--acr A]... [--max-age D] [--timeout D]",
        flags: [
            .init("--browser CMD", "run this command, the address as its last argument; no shell"),
            .init("--print-url", "print the address on standard output and wait"),
            .init("--paste", "print the address and read the final address from standard input"),
            .init("--device", "print an address and a code, for a browser on any other device"),
            .init("--scope S", "ask for this scope instead of the configured ones; often"),
            .init("--add-scope S", "ask for this scope besides what was granted so far; often"),
            .init("--strict-scope", "fail where less is granted than was asked for"),
            .init("--hint USER", "tell the provider who is about to log in"),
            .init("--switch-user", "let it become another person's, or another configuration's"),
            .init("--locale L", "the language of the provider's pages, such as cy; often"),
            .init("--prompt P", "login, consent or select_account; often"),
            .init("--acr A", "how the provider is to be sure who it is; often"),
            .init("--max-age D", "how long ago the person may have authenticated, such as 5m"),
            .init("--timeout D", "how long to wait; five minutes by itself"),
        ] + SettingsArguments.helpOfLogin,
        notes: [
            "It ends with 4 when the login was denied, with 5 when nobody finished it in time, and what was stored before stays as it was.",
            "A login stays one person's: when another one logs in, nothing is stored without --switch-user.",
        ])

    private let name: String?
    private let conversation: LoginConversation
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        let isDevice = try arguments.flag("--device")
        let isPaste = try arguments.flag("--paste")
        let isPrintURL = try arguments.flag("--print-url")
        let browser = try arguments.value(of: "--browser", "CMD")
        let ways = [
            ("--paste", isPaste), ("--print-url", isPrintURL), ("--browser", browser != nil),
            ("--device", isDevice),
        ].filter { $0.1 }
        if ways.count > 1 { throw .exclusiveFlags(ways.map(\.0)) }
        var conversation = LoginConversation(
            isDevice
                ? .device
                : try Self.way(isPaste: isPaste, isPrintURL: isPrintURL, browser: browser))
        conversation.additionalScopes = try arguments.values(of: "--add-scope", "S")
        conversation.wishes = try LoginWishes(&arguments)
        var settings = try SettingsArguments(&arguments)
        conversation.scopes = settings.takeLoginScopes()
        name = try arguments.operand()
        try arguments.finish()
        self.conversation = conversation
        self.settings = settings
    }

    private static func way(
        isPaste: Bool, isPrintURL: Bool, browser: String?
    ) throws(UsageError) -> LoginConversation.Way {
        if let browser { return .browser(try words(browser)) }
        return isPaste ? .paste : isPrintURL ? .printURL : .automatic
    }

    /// The value of `--browser`.
    static func words(_ browser: String) throws(UsageError) -> [String] {
        guard let words = PersonPresence.words(browser), !words.isEmpty else {
            throw .invalidValue(of: "--browser", browser, expected: "a command and its words")
        }
        return words
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let signals = SignalWatch.start()
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "login") { $0.isInteractive }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let desk = LoginDesk(
            loaded.credentials, person: .absent,
            discovery: DiscoveryDesk(in: tools.surroundings), in: tools.surroundings)
        let result = await SignalWatch.run(until: signals) { () -> Result<Login, LoginFailure> in
            do throws(LoginFailure) {
                return .success(try await conversation.run(chosen.id, at: desk, in: world))
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .success: return .success
        case .failure(.cancelled) where SignalWatch.hasArrived:
            world.console.note("cancelled; nothing was changed")
            return .interrupted
        case .failure(let failure): throw CommandFailure(failure)
        }
    }
}
