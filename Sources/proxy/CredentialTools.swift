// What every command that works with credentials needs of the outside: store, network, clock, log.
// Made from the settings once, put away at the end.

import AuthCore
import Bytes
import Configuration
import Diagnostics
import Fetch
import TokenStore
import Vocabulary

/// The surroundings of the auth core, and the thread that does its requests.
struct CredentialTools: Sendable {
    let surroundings: AuthCore.Surroundings
    let forwardProxy: ForwardProxy
    let driver: CurlDriver

    /// - Parameters:
    ///   - listening: our own ports, to which no forward proxy may lead.
    ///   - loginCommand: what somebody pastes into a shell in order to log in.
    init(
        _ settings: Settings, log: Log, listening: [UInt16] = [],
        loginCommand: @escaping @Sendable (CredentialID) -> String, in world: World
    ) throws(CommandFailure) {
        do throws(ForwardProxyError) {
            forwardProxy = try settings.forwardProxy.resolve(world.environment, listening)
        } catch {
            throw CommandFailure(.configuration, error.reason, hint: error.hint)
        }
        driver = CurlDriver()
        var surroundings = AuthCore.Surroundings(
            store: FileLoginStore(directory: settings.stateDirectory),
            fetcher: CurlFetcher(driver: driver, proxy: forwardProxy, caFile: settings.caFile),
            log: log, environment: world.environment,
            secretVariables: settings.secretVariables, loginCommand: loginCommand)
        surroundings.store = FileLoginStore(
            directory: settings.stateDirectory, keys: settings.store.keys(in: surroundings))
        self.surroundings = surroundings
    }

    /// For commands: they say themselves what goes wrong.
    init(
        _ settings: Settings, for arguments: SettingsArguments, in world: World
    ) throws(CommandFailure) {
        try self.init(
            settings, log: Log(level: .error, format: .text),
            loginCommand: { arguments.loginCommand($0, in: settings) }, in: world)
    }

    func stop() { driver.stop() }
}

extension ForwardProxySettings {
    fileprivate func resolve(
        _ environment: [String: String], _ listening: [UInt16]
    ) throws(ForwardProxyError) -> ForwardProxy {
        switch self {
        case .none: .none
        case .environment: try ForwardProxy(environment: environment, listening: listening)
        case .url(let url, let exceptions):
            try ForwardProxy(
                url: url, exceptions: exceptions, setting: "forward_proxy", listening: listening)
        }
    }
}

extension LocalSecretSettings {
    /// The secret. One with a space at an end would never arrive: no field's value has any there
    /// (RFC 9112 section 5.1).
    func read(in surroundings: AuthCore.Surroundings) async throws(SecretError) -> SecretBytes {
        let secret = try await source.read(in: surroundings)
        let space = secret.withBytes { bytes in
            [bytes.startIndex, bytes.endIndex - 1].first { bytes[$0] == ASCII.space }
        }
        if let space { throw .unusableCharacter(source: source.name, at: space) }
        return secret
    }
}

extension Settings {
    /// Every secret that is read from somewhere, with the credential that it belongs to.
    var secretSources: [(owner: CredentialID?, source: SecretSource)] {
        var sources: [(CredentialID?, SecretSource)] = []
        if let local = access.localSecret { sources.append((nil, local.source)) }
        for credential in credentials {
            switch credential.kind {
            case .oauth(let oauth):
                sources += oauth.secretSources.map { (credential.id, $0) }
            case .fixed(let source): sources.append((credential.id, source))
            case .command: break
            }
        }
        return sources
    }

    /// The same for keys, which have several lines.
    var keySources: [(owner: CredentialID, source: SecretSource)] {
        var sources: [(CredentialID, SecretSource)] = []
        for credential in credentials {
            guard case .oauth(let oauth) = credential.kind else { continue }
            sources += oauth.keySources.map { (credential.id, $0) }
        }
        return sources
    }

    /// Variables that no child process may see.
    var secretVariables: Set<String> {
        Set(
            (secretSources.map(\.source) + keySources.map(\.source) + store.secretSources)
                .compactMap { source in
                    if case .environment(let name) = source { name } else { nil }
                })
    }
}
