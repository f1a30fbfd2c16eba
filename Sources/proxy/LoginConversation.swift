// A login as a person sees it: where to go, how long there is, what came of it. The login itself is
// the login desk's.

import AuthCore
import Bytes
import OAuth
import TokenStore
import Vocabulary

/// Leads one person through one login.
struct LoginConversation: Sendable {
    /// How the person gets to the provider's page and back.
    enum Way: Sendable {
        /// A browser where there is a desktop, else the address.
        case automatic
        case browser([String])
        case printURL
        case paste
        /// On another device, with a code to be typed there.
        case device
    }

    let way: Way
    /// In place of the configured ones, where there are any.
    var scopes: [String] = []
    var additionalScopes: [String] = []
    var wishes = LoginWishes()

    init(_ way: Way) {
        self.way = way
    }

    /// Returns when the login is stored; ends with `cancelled` when the task is.
    func run(
        _ id: CredentialID, at desk: LoginDesk, in world: World
    ) async throws(LoginFailure) -> Login {
        let session = try await begin(id, at: desk, in: world)
        let result = await withTaskCancellationHandler {
            await wait(for: session, in: world)
        } onCancel: {
            Task { await session.cancel() }
        }
        await session.close()
        let login = try result.get()
        report(login, id, in: world)
        return login
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
        case .printURL, .paste, .device:
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
        if let device = session.device {
            show(device, session.url, id, console)
            return session
        }
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
        if let device = session.device {
            show(device, session.url, id, console)
            return session
        }
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

    /// Everything that RFC 8628 section 3.3 wants shown; the address alone on standard output.
    private func show(
        _ device: DevicePrompt, _ completeURL: String, _ id: CredentialID, _ console: Console
    ) {
        console.note("to log in to \"\(id)\" open this address on any device:")
        console.line(device.verificationURI)
        console.note("and enter the code  \(device.userCode)")
        if completeURL != device.verificationURI {
            console.note("or open \(completeURL), and compare the code")
        }
    }

    private func options(_ channel: LoginOptions.Channel) -> LoginOptions {
        var options = LoginOptions(channel)
        options.scopes = scopes.isEmpty ? nil : scopes
        options.additionalScopes = additionalScopes
        if case .device = way { options.usesDevice = true }
        wishes.apply(to: &options)
        return options
    }

    // MARK: Waiting

    private func wait(
        for session: LoginSession, in world: World
    ) async -> Result<Login, LoginFailure> {
        let isPaste = if case .paste = way { true } else { false }
        let takesLines = session.device == nil && (isPaste || world.isConversation)
        let what =
            session.device != nil
            ? "waiting for the other device"
            : isPaste ? "waiting for the address" : "waiting for the browser"
        let wait = WaitLine(
            what, seconds: session.device.map { wishes.seconds(of: $0) } ?? wishes.timeoutSeconds,
            on: world.console)
        return await withTaskGroup(of: Void.self) { group in
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
        case .addressExpires(let seconds):
            note("the address is good once, for \(durationText(seconds: seconds))")
        }
    }
}
