// Ends a login: on this machine first, whatever happens elsewhere, then at the provider as far as it
// helps. Nothing that fails there brings the login back, and every step says what it did.

import Bytes
import Diagnostics
import OAuth
import TokenStore
package import Vocabulary

/// How a log-out is to go.
package struct LogoutOptions: Sendable {
    /// Who opens the provider's page that ends the session.
    package enum Channel: Sendable {
        /// The URL is appended to these words.
        case browser([String])
        /// The caller shows the URL.
        case printURL
        case nobody
    }

    package var channel: Channel
    /// Whether the provider is left alone.
    package var isLocal = false
    /// How long the browser is waited for.
    package var timeoutMilliseconds: UInt64 = 120_000

    package init(_ channel: Channel) {
        self.channel = channel
    }
}

/// What happens on the way, for whoever shows it.
package enum LogoutEvent: Sendable {
    /// To be opened by the person, within the time that the options give.
    case address(String)
    /// A browser was told to open it.
    case browserStarted(String)
    /// Something came back that is not this log-out's answer.
    case ignoredAnswer
    /// The provider dropped `state`.
    case stateMissing
}

/// The desk of one command.
package struct LogoutDesk: Sendable {
    private let discovery: DiscoveryDesk
    private let surroundings: Surroundings

    package init(discovery: DiscoveryDesk, in surroundings: Surroundings) {
        self.discovery = discovery
        self.surroundings = surroundings
    }

    /// Always returns a whole report. When the task is cancelled, what is left of the provider's part
    /// is left out; the login is gone all the same.
    package func logOut(
        _ id: CredentialID, _ configured: OAuthSettings, _ options: LogoutOptions,
        onEvent: @escaping @Sendable (LogoutEvent) -> Void = { _ in }
    ) async -> LogoutReport {
        var report = LogoutReport()
        let forgotten = await forget(id, options.isLocal ? nil : configured)
        let (login, local) = (forgotten.login, forgotten.line)
        report.lines.append(local)
        guard !forgotten.isForeign else {
            for step in LogoutReport.Step.allCases.dropFirst() {
                report.lines.append(.init(step, .skipped, "it is another configuration's login"))
            }
            return report
        }
        await ChallengeBook.clear(id, in: surroundings)
        guard let login else {
            let outcome: LogoutReport.Outcome = local.outcome == .absent ? .absent : .skipped
            let detail = local.outcome == .absent ? nil : "the login could not be read"
            for step in LogoutReport.Step.allCases.dropFirst() {
                report.lines.append(.init(step, outcome, detail))
            }
            return report
        }
        guard !options.isLocal else {
            for step in LogoutReport.Step.allCases.dropFirst() {
                report.lines.append(.init(step, .skipped, Self.localOnly))
            }
            return report
        }
        let settings: OAuthSettings
        switch await client(configured, of: login) {
        case .success(let found)?: settings = found
        case let end:
            var reason: String?
            if case .failure(let error)? = end { reason = error.message }
            let outcome: LogoutReport.Outcome = reason == nil ? .interrupted : .failed
            for step in LogoutReport.Step.allCases.dropFirst() {
                report.lines.append(.init(step, outcome, reason))
            }
            return report
        }
        _ = await unlessCancelled { [discovery] in await discovery.lookAgain(settings) }
        let endpoint = TokenEndpoint(
            id: id, settings: settings, discovery: discovery, surroundings: surroundings)
        // The refresh token first: some providers end the whole grant with it (RFC 7009 section 2.1).
        report.lines.append(
            await revoke(login.refreshToken, .refreshToken, .refreshToken, endpoint))
        report.lines.append(await revoke(login.accessToken, .accessToken, .accessToken, endpoint))
        report.lines.append(await endSession(login, settings, options, onEvent))
        return report
    }

    // MARK: Here

    /// Takes the login out of the store, under its lock: a refresh that runs elsewhere ends first,
    /// and what it brought is what is then revoked.
    ///
    /// - Parameter settings: whose login it must be; nil for whatever lies there.
    private func forget(_ id: CredentialID, _ settings: OAuthSettings?) async -> Forgotten {
        // Detached: no Ctrl-C stops it half-way.
        let (store, surroundings) = (surroundings.store, surroundings)
        return await Task.detached {
            var login: Login?
            do throws(StoreError) {
                let wasThere = await store.stamp(id) != nil
                let held = try await store.lock(id)
                defer { held.release() }
                login = (try? await held.load()) ?? nil
                if let settings, let foreign = login?.foreign(to: settings, id, in: surroundings) {
                    return Forgotten(
                        line: .init(.local, .failed, foreign.message, hint: Self.foreignHint),
                        isForeign: true)
                }
                try await held.remove()
                return Forgotten(login: login, line: .init(.local, wasThere ? .done : .absent))
            } catch {
                // What cannot be removed can still be made useless.
                if login == nil { login = (try? await store.load(id)) ?? nil }
                return Forgotten(
                    login: login, line: .init(.local, .failed, error.message, hint: error.hint))
            }
        }.value
    }

    /// What was done on this machine.
    private struct Forgotten: Sendable {
        var login: Login?
        let line: LogoutReport.Line
        var isForeign = false
    }

    private static let foreignHint =
        "log out with the configuration that it is of, or forget it on this machine alone: --local"

    // MARK: At the provider

    private func client(
        _ configured: OAuthSettings, of login: Login
    ) async -> Result<OAuthSettings, DiscoveryError>? {
        await unlessCancelled { [discovery] in
            do throws(DiscoveryError) {
                return .success(try await discovery.client(configured, continuing: login))
            } catch {
                return .failure(error)
            }
        }
    }

    private func addressOfEnd(
        _ settings: OAuthSettings
    ) async -> Result<String?, DiscoveryError>? {
        await unlessCancelled { [discovery] in
            do throws(DiscoveryError) {
                return .success(try await discovery.url(of: .endSession, for: settings))
            } catch {
                return .failure(error)
            }
        }
    }

    private func revoke(
        _ token: SecretBytes?, _ kind: Revocation.Kind, _ step: LogoutReport.Step,
        _ endpoint: TokenEndpoint
    ) async -> LogoutReport.Line {
        guard let token else { return .init(step, .absent) }
        return switch await unlessCancelled({ await endpoint.revoke(token, kind) }) {
        case .revoked: .init(step, .done)
        case .unsupported(let reason): .init(step, .unsupported, reason)
        case .failed(let reason): .init(step, .failed, reason)
        case .interrupted, nil: .init(step, .interrupted)
        }
    }

    private func endSession(
        _ login: Login, _ settings: OAuthSettings, _ options: LogoutOptions,
        _ onEvent: @escaping @Sendable (LogoutEvent) -> Void
    ) async -> LogoutReport.Line {
        let url: String
        switch await addressOfEnd(settings) {
        case .success(let found?)?: url = found
        case .success(nil)?:
            return .init(.session, .unsupported, "the provider names no address for it")
        case .failure(let error)?: return .init(.session, .failed, error.message)
        case nil: return .init(.session, .interrupted)
        }
        if case .nobody = options.channel {
            return .init(
                .session, .skipped, "it needs a browser, and nobody is here to open one",
                hint: "log out on the provider's own page; another time: proxy logout --print-url")
        }
        do throws(SessionEndError) {
            let end = try SessionEnd.start(
                at: url, login, settings, in: surroundings, onEvent: onEvent)
            return await wait(for: end, options, onEvent)
        } catch {
            return .init(.session, .failed, error.message)
        }
    }

    private func wait(
        for end: SessionEnd, _ options: LogoutOptions,
        _ onEvent: @escaping @Sendable (LogoutEvent) -> Void
    ) async -> LogoutReport.Line {
        if case .browser(let words) = options.channel {
            do throws(ProgramError) {
                try Browser.open(end.url, with: words, in: surroundings)
                onEvent(.browserStarted(end.url))
            } catch {
                await end.close()
                return .init(.session, .failed, error.message, hint: "proxy logout --print-url")
            }
        } else {
            onEvent(.address(end.url))
        }
        let result = await end.result(timeoutMilliseconds: options.timeoutMilliseconds)
        await end.close()
        return switch result {
        case .returned: .init(.session, .done)
        case .sent: .init(.session, .done, "the browser was sent to the provider's log-out page")
        case .notOpened: .init(.session, .timedOut, "nobody opened the address in time")
        case .notReturned:
            .init(
                .session, .timedOut, "the provider did not send the browser back in time",
                hint: "register the post_logout_redirect_uri there, or leave it out")
        case .cancelled: .init(.session, .interrupted)
        }
    }

    /// As the flag says it.
    package static let localOnly = "--local"
}
