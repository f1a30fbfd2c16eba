// Serves the status page on the sockets that were bound for it, one small server for each port.

import Admin
import Bytes
import Configuration
import LoopbackServer
import Reactor
import Routing

/// Serving from its initialisation until `stop`.
struct AdminServers: Sendable {
    private let servers: [HTTPServer]

    /// - Parameter secret: the local secret, where one is configured.
    init(
        _ listeners: [BoundListener], _ access: AccessSettings, secret: SecretBytes?,
        site: AdminSite
    ) throws(CommandFailure) {
        var servers: [HTTPServer] = []
        var byPort: [UInt16: [BoundListener]] = [:]
        for listener in listeners { byPort[listener.socket.port, default: []].append(listener) }
        do throws(ServerError) {
            for (port, group) in byPort {
                // Sockets of the Unix domain have no port; each has its own users.
                let parts = port == 0 ? group.map { [$0] } : [group]
                for part in parts {
                    servers.append(try Self.serve(part, port, access, secret, site))
                }
            }
        } catch {
            for server in servers { server.stop() }
            throw CommandFailure(.failure, "the status page cannot be served: \(error)")
        }
        self.servers = servers
    }

    func stop() {
        for server in servers { server.stop() }
    }

    private static func serve(
        _ listeners: [BoundListener], _ port: UInt16, _ access: AccessSettings,
        _ secret: SecretBytes?, _ site: AdminSite
    ) throws(ServerError) -> HTTPServer {
        let isUnix = port == 0
        let users = listeners[0].users
        return try HTTPServer(
            sharing: listeners.map(\.socket.descriptor),
            guard: .admin(
                port: isUnix ? nil : port, allowedHosts: access.allowedHosts,
                localSecret: secret.map {
                    LocalSecret(secret: $0, field: access.localSecret?.field)
                }),
            limits: ServerLimits(bodyBytesMax: 4096, connectionsMax: 64),
            admits: users.map(Self.admission),
            handler: { request in await site.answer(request, isForBrowsers: !isUnix) })
    }

    /// Whose processes may connect, whatever the mode of the socket's file.
    private static func admission(_ users: Set<UInt32>) -> @Sendable (Int32) -> Bool {
        { descriptor in
            guard let user = PeerFacts.user(descriptor) else { return false }
            return users.contains(user)
        }
    }
}
