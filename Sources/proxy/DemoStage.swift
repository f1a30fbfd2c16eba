// The demo's stage: a provider and an API on free ports, a configuration and a store in a directory
// that goes afterwards, and the proxy in front, all in this process.

import AuthCore
import Configuration
import Demo
import Diagnostics
import LoopbackServer
import Vocabulary

/// Everything that runs during a demo.
struct DemoStage: Sendable {
    /// Long enough to be looked at, short enough to be waited for.
    static let accessTokenSeconds: Int64 = 4
    private static let graceMilliseconds: UInt64 = 1000

    let servers: DemoWorld
    let configuration: String
    let configurationFile: String
    let settings: Settings
    /// For logins and requests of the demo's own.
    let tools: CredentialTools
    private let folder: DemoFolder
    private let proxy: RunningProxy

    /// The proxy, for a URL.
    var address: String { proxy.addresses[0] }
    /// The status page, for a browser.
    var statusPage: String { proxy.adminAddresses[0] + "/" }

    static func set(
        isAutomatic: Bool, port: UInt16, in world: World
    ) async throws(CommandFailure) -> DemoStage {
        let folder = try DemoFolder(in: world)
        do throws(CommandFailure) {
            return try await DemoStage(folder, isAutomatic: isAutomatic, port: port, in: world)
        } catch {
            folder.remove()
            throw error
        }
    }

    private init(
        _ folder: DemoFolder, isAutomatic: Bool, port: UInt16, in world: World
    ) async throws(CommandFailure) {
        self.folder = folder
        do throws(ServerError) {
            servers = try DemoWorld.start(
                .init(
                    accessTokenLifetimeSeconds: Self.accessTokenSeconds, isAutomatic: isAutomatic))
        } catch {
            throw CommandFailure(.failure, "the demo's provider cannot be started: \(error)")
        }
        configuration = """
            listen: "127.0.0.1:\(port)"
            admin: "127.0.0.1:0"
            state_dir: state
            upstream: \(servers.api)
            credential:
              issuer: \(servers.issuer)
              client_id: \(servers.clientID)
              scopes: [\(servers.scopes.joined(separator: ", "))]

            """
        do throws(CommandFailure) {
            configurationFile = try folder.write(configuration, to: "proxy.yaml")
            let flags = SettingsArguments(configFile: configurationFile)
            var quiet = try world.settings(for: flags)
            quiet.log.access = .off
            let settings = quiet
            self.settings = settings
            tools = try CredentialTools(settings, for: flags, in: world)
            // A tour is no place for a log.
            let running = Running(settings)
            proxy = try await RunningProxy.start(
                running, person: .absent, log: Log(level: .error, format: .text),
                loginCommand: { flags.loginCommand($0, in: running.settings) }, in: world)
        } catch {
            servers.stop()
            throw error
        }
    }

    /// Ends everything and leaves nothing behind.
    func strike() async {
        await proxy.drain(graceMilliseconds: Self.graceMilliseconds)
        servers.stop()
        tools.stop()
        folder.remove()
    }
}
