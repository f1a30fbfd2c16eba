// The status page of a running proxy, from its sockets to what stands behind it.

import Reactor
import Admin
import AuthCore
import Bytes
import Configuration
import Diagnostics
import Synchronization
import Vocabulary

final class AdminRun: Sendable {
    /// A URL, or `unix:` and a path, for each socket.
    let addresses: [String]
    private let listeners: [BoundListener]
    private let plane: AdminPlane
    private let site: AdminSite
    private let servers: Mutex<AdminServers>
    private let sampling: Task<Void, Never>

    /// Nil where the configuration wants none. The sockets are closed by `stop`.
    ///
    /// - Parameters:
    ///   - addresses: of the proxy itself, as they are at the moment.
    ///   - traffic: asks the workers.
    ///   - log: the proxy's, which knows what it had no room for.
    init?(
        _ running: Running, _ listeners: [BoundListener], secret: SecretBytes?,
        _ control: ControlPlane, _ surroundings: AuthCore.Surroundings,
        addresses: @escaping @Sendable () -> [String],
        traffic: @escaping @Sendable () async -> TrafficReport, log: Log
    ) throws(CommandFailure) {
        guard !listeners.isEmpty else { return nil }
        var sources = AdminPlane.Sources(
            settings: { running.settings }, addresses: addresses,
            isDraining: { running.isDraining })
        sources.configurationProblems = { running.reloads.refusal.map(\.text) }
        sources.traffic = traffic
        let startedAt = surroundings.time.wallTime()
        sources.metrics = {
            var facts = MetricsText.Facts()
            facts.version = VersionCommand.number
            facts.startedAt = startedAt
            facts.lostLogLines = log.lostLines
            facts.reloads = UInt64(running.reloads.count)
            facts.isReloadRefused = !running.reloads.refusal.isEmpty
            return MetricsText.write(
                await traffic(), surroundings.tally.report(at: surroundings.time), facts)
        }
        if running.settings.admin.allowsQuit { sources.quit = { running.end() } }
        let plane = AdminPlane(sources, plane: control, in: surroundings)
        let site = AdminSite(plane)
        servers = Mutex(
            try AdminServers(listeners, running.settings.access, secret: secret, site: site))
        self.addresses = listeners.map(\.url)
        self.listeners = listeners
        self.plane = plane
        self.site = site
        sampling = Task { await plane.sampleTraffic() }
    }

    /// Goes by other rules about who may come. Pages ask again by themselves.
    func apply(_ access: AccessSettings, secret: SecretBytes?) throws(CommandFailure) {
        let next = try AdminServers(listeners, access, secret: secret, site: site)
        let last = servers.withLock { servers in
            defer { servers = next }
            return servers
        }
        last.stop()
    }

    /// The proxy takes no more requests, and nobody logs in any more.
    func noteEnd() async { await plane.close() }

    func stop() {
        sampling.cancel()
        servers.withLock { $0 }.stop()
        for listener in listeners { listener.socket.close() }
    }
}
