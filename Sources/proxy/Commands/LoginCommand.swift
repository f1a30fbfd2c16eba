// `proxy login`: one person, once. The login itself is the login desk's; this shows it and waits.

import AuthCore
import Bytes
import Configuration
import OAuth
import TokenStore
import Vocabulary

/// Logs in to one credential.
struct LoginCommand: Command {
    /// How the person gets to the provider's page and back.
    private enum Way {
        /// A browser where there is a desktop, else the address.
        case automatic
        case browser([String])
        case printURL
        case paste
    }

    static let help = CommandHelp(
        name: "login", summary: "log in, once; the proxy keeps the login fresh from then on",
        examples: [
            .init("proxy login", "in the browser, to the only credential"),
            .init("proxy login github --print-url", "show the address; open it yourself"),
            .init("proxy login --paste", "the browser is on another machine, as over SSH"),
            .init("proxy login --browser \"firefox --private-window\"", "in that browser"),
        ],
        synopsis: "[NAME] [--paste | --browser CMD | --print-url] [--scope S]... [--add-scope S]..."
            + " [--hint USER] \(SettingsArguments.synopsis)",
        flags: [
            .init("--browser CMD", "run this command, the address as its last argument; no shell"),
            .init("--print-url", "print the address on standard output and wait"),
            .init("--paste", "print the address and read the final address from standard input"),
            .init("--scope S", "ask for this scope instead of the configured ones; often"),
            .init("--add-scope S", "ask for this scope too; often"),
            .init("--hint USER", "tell the provider who is about to log in"),
        ] + SettingsArguments.help,
        notes: [
            "It waits for five minutes. It ends with 4 when the login was denied, with 5 when\n"
                + "nobody finished it, and what was stored before stays as it was."
        ])

    private static let timeoutSeconds: Int64 = 300

    private let name: String?
    private let way: Way
    private let scopes: [String]
    private let additionalScopes: [String]
    private let hint: String?
    private let settings: SettingsArguments

    init(_ arguments: inout ArgumentReader) throws(UsageError) {
        try arguments.refuse("--device", hint: "use \"--paste\" where there is no browser")
        let isPaste = try arguments.flag("--paste")
        let isPrintURL = try arguments.flag("--print-url")
        let browser = try arguments.value(of: "--browser", "CMD")
        let ways = [
            ("--paste", isPaste), ("--print-url", isPrintURL), ("--browser", browser != nil),
        ].filter { $0.1 }
        if ways.count > 1 { throw .exclusiveFlags(ways.map(\.0)) }
        way = try Self.way(isPaste: isPaste, isPrintURL: isPrintURL, browser: browser)
        additionalScopes = try arguments.values(of: "--add-scope", "S")
        hint = try arguments.value(of: "--hint", "USER")
        var settings = try SettingsArguments(&arguments)
        scopes = settings.takeLoginScopes()
        name = try arguments.operand()
        try arguments.finish()
        self.settings = settings
    }

    private static func way(
        isPaste: Bool, isPrintURL: Bool, browser: String?
    ) throws(UsageError) -> Way {
        if let browser {
            guard let words = PersonPresence.words(browser), !words.isEmpty else {
                throw .invalidValue(of: "--browser", browser, expected: "a command and its words")
            }
            return .browser(words)
        }
        return isPaste ? .paste : isPrintURL ? .printURL : .automatic
    }

    func run(in world: World) async throws(CommandFailure) -> ExitCode {
        let signals = SignalWatch.start()
        let loaded = try world.settings(for: settings)
        let chosen = try loaded.credential(named: name, for: "login") { $0.isInteractive }
        let tools = try CredentialTools(loaded, for: settings, in: world)
        defer { tools.stop() }
        let discovery = DiscoveryDesk(in: tools.surroundings)
        let desk = LoginDesk(
            loaded.credentials, person: .absent, discovery: discovery, in: tools.surroundings)
        let session: LoginSession
        do throws(LoginFailure) {
            session = try await begin(chosen.id, at: desk, in: world)
        } catch {
            throw CommandFailure(error)
        }
        let result = await wait(for: session, chosen.id, signals, in: world)
        await session.close()
        switch result {
        case .success(let login):
            report(login, chosen.id, in: world)
            return .success
        case .failure(.cancelled) where SignalWatch.hasArrived:
            world.console.note("cancelled; nothing was changed")
            return .interrupted
        case .failure(let failure): throw CommandFailure(failure)
        }
    }

    // MARK: Beginning

    /// Starts the login and tells the person where to go.
    private func begin(
        _ id: CredentialID, at desk: LoginDesk, in world: World
    ) async throws(LoginFailure) -> LoginSession {
        let console = world.console
        let report: @Sendable (LoginEvent) -> Void = { console.report($0) }
        switch way {
        case .browser(let words):
            return try await browse(id, words, at: desk, console, report)
        case .printURL, .paste:
            return try await show(id, at: desk, console, report)
        case .automatic:
            guard case .present(let words) = world.person
            else { return try await show(id, at: desk, console, report) }
            do throws(LoginFailure) {
                return try await browse(id, words, at: desk, console, report)
            } catch {
                guard case .browser = error else { throw error }
                console.warning(error.message)
                return try await show(id, at: desk, console, report)
            }
        }
    }

    private func browse(
        _ id: CredentialID, _ words: [String], at desk: LoginDesk, _ console: Console,
        _ report: @escaping @Sendable (LoginEvent) -> Void
    ) async throws(LoginFailure) -> LoginSession {
        let session = try await desk.begin(id, options(.browser(words)), onEvent: report)
        console.note("log in to \"\(id)\" in the browser; if none opened, visit")
        console.note("  \(session.url)")
        return session
    }

    private func show(
        _ id: CredentialID, at desk: LoginDesk, _ console: Console,
        _ report: @escaping @Sendable (LoginEvent) -> Void
    ) async throws(LoginFailure) -> LoginSession {
        let isPaste = if case .paste = way { true } else { false }
        let session = try await desk.begin(
            id, options(isPaste ? .paste : .printURL), onEvent: report)
        console.note("to log in to \"\(id)\" open this address in a browser:")
        console.line(session.url)
        if isPaste {
            console.note(
                "when the browser has ended at an address that begins with http://127.0.0.1 or "
                    + "http://localhost, whether it shows a page or an error, paste that address "
                    + "here")
        }
        return session
    }

    private func options(_ channel: LoginOptions.Channel) -> LoginOptions {
        var options = LoginOptions(channel)
        options.timeoutMilliseconds = UInt64(Self.timeoutSeconds) * 1000
        options.scopes = scopes.isEmpty ? nil : scopes
        options.additionalScopes = additionalScopes
        options.loginHint = hint
        return options
    }

    // MARK: Waiting

    private func wait(
        for session: LoginSession, _ id: CredentialID, _ signals: AsyncStream<Int32>,
        in world: World
    ) async -> Result<Login, LoginFailure> {
        let isPaste = if case .paste = way { true } else { false }
        let takesLines = isPaste || world.isConversation
        let wait = WaitLine(
            isPaste ? "waiting for the address" : "waiting for the browser",
            seconds: Self.timeoutSeconds, on: world.console)
        return await withTaskGroup(of: Void.self) { group in
            group.addTask { for await _ in signals { await session.cancel() } }
            group.addTask { await wait.run() }
            if takesLines {
                group.addTask { await takeLines(session, isOnlyWay: isPaste, in: world) }
            }
            let result: Result<Login, LoginFailure>
            do throws(LoginFailure) {
                result = .success(try await session.result())
            } catch {
                result = .failure(error)
            }
            group.cancelAll()
            return result
        }
    }

    /// Hands pasted lines to the login until one is its answer, good or bad.
    private func takeLines(
        _ session: LoginSession, isOnlyWay: Bool, in world: World
    ) async {
        for await line in linesTyped(on: world.input) {
            let text = line.withBytes { String(decoding: $0, as: UTF8.self) }
            guard text.contains(where: { !$0.isWhitespace }) else { continue }
            do throws(CallbackError) {
                try await session.paste(text)
                return
            } catch {
                world.console.error(
                    error.text, hint: "paste the whole address that the browser ended at")
            }
        }
        if isOnlyWay && !Task.isCancelled {
            world.console.error("standard input ended before an address was pasted")
            await session.cancel()
        }
    }

    // MARK: The end

    private func report(_ login: Login, _ id: CredentialID, in world: World) {
        let now = SystemTime().wallTime()
        var text = "logged in to \"\(id)\""
        if let expiresAt = login.expiresAt {
            text += "; the token lasts \(durationText(seconds: expiresAt.seconds - now.seconds))"
        }
        world.console.note(text)
        if login.refreshToken == nil {
            world.console.warning(
                "the provider gave no refresh token: when the token ends, a login is needed again")
        }
    }
}

extension Console {
    fileprivate func report(_ event: LoginEvent) {
        switch event {
        case .ignoredCallback(let error): note("ignored: \(error.text)")
        case .callbackSpokeTLS:
            warning("the browser insists on https for the way back")
            hint("run \"proxy login --paste\"")
        case .scopesMissing(let scopes):
            warning("the provider did not grant: \(scopes.joined(separator: " "))")
        }
    }
}
