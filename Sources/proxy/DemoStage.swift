// The demo's stage: a provider and an API on free ports, a configuration and a store in a directory
// that goes afterwards, and the proxy in front, all in this process.

import AuthCore
import Configuration
import Demo
import Diagnostics
import LoopbackServer
import Vocabulary

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

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
    private let directory: String
    private let proxy: RunningProxy

    /// The proxy, for a URL.
    var address: String { "http://" + proxy.addresses[0] }

    static func set(
        isAutomatic: Bool, port: UInt16, in world: World
    ) async throws(CommandFailure) -> DemoStage {
        let directory = try makeDirectory(world.environment["TMPDIR"])
        do throws(CommandFailure) {
            return try await DemoStage(
                directory, isAutomatic: isAutomatic, port: port, in: world)
        } catch {
            try? FileManager.default.removeItem(atPath: directory)
            throw error
        }
    }

    private init(
        _ directory: String, isAutomatic: Bool, port: UInt16, in world: World
    ) async throws(CommandFailure) {
        self.directory = directory
        do throws(ServerError) {
            servers = try DemoWorld.start(
                .init(
                    accessTokenLifetimeSeconds: Self.accessTokenSeconds, isAutomatic: isAutomatic))
        } catch {
            throw CommandFailure(.failure, "the demo's provider cannot be started: \(error)")
        }
        configuration = """
            listen: "127.0.0.1:\(port)"
            state_dir: state
            upstream: \(servers.api)
            credential:
              issuer: \(servers.issuer)
              client_id: \(servers.clientID)
              scopes: [\(servers.scopes.joined(separator: ", "))]

            """
        configurationFile = directory + "/proxy.yaml"
        do {
            try configuration.write(toFile: configurationFile, atomically: false, encoding: .utf8)
            // Only names of parts of this program; a tour is no place for its log.
            var arguments = ArgumentReader(command: "demo", words: ["--config", configurationFile])
            let flags = try SettingsArguments(&arguments)
            let settings = try world.settings(for: flags)
            self.settings = settings
            tools = try CredentialTools(settings, for: flags, in: world)
            proxy = try await RunningProxy.start(
                settings, person: .absent, log: Log(level: .error, format: .text),
                loginCommand: { flags.loginCommand($0, in: settings) }, in: world)
        } catch let failure as CommandFailure {
            servers.stop()
            throw failure
        } catch {
            servers.stop()
            throw CommandFailure(.failure, "the demo cannot write to \"\(directory)\"")
        }
    }

    /// Ends everything and leaves nothing behind.
    func strike() async {
        await proxy.drain(graceMilliseconds: Self.graceMilliseconds)
        servers.stop()
        tools.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A directory of our own, 0700 (mkdtemp(3)).
    private static func makeDirectory(_ parent: String?) throws(CommandFailure) -> String {
        let parent = parent.flatMap { $0.hasPrefix("/") ? $0 : nil } ?? "/tmp"
        var template = Array("\(parent)/credential-proxy-demo.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw CommandFailure(
                .failure, "cannot make a directory in \"\(parent)\": \(systemMessage(errno))",
                hint: "set TMPDIR to a directory that can be written")
        }
        return String(cString: made)
    }
}
