// The demo's provider and API on two ports of this machine: something to try the proxy on without an
// account. They listen on the loopback interface only, know one person and one client, give tokens to
// whoever asks on this machine and forget everything when they stop. Never put them before anything
// real.

import Bytes
package import LoopbackServer
import Synchronization
package import Vocabulary

/// Both servers, running until `stop` or the end of its life.
package final class DemoWorld: Sendable {
    package struct Settings: Sendable {
        package var accessTokenLifetimeSeconds: Int64
        /// Whether the authorization endpoint allows at once, without asking anybody.
        package var isAutomatic: Bool
        /// Nil lets the kernel choose.
        package var issuerPort: UInt16?
        package var apiPort: UInt16?

        package init(
            accessTokenLifetimeSeconds: Int64 = 5, isAutomatic: Bool = false,
            issuerPort: UInt16? = nil, apiPort: UInt16? = nil
        ) {
            self.accessTokenLifetimeSeconds = accessTokenLifetimeSeconds
            self.isAutomatic = isAutomatic
            self.issuerPort = issuerPort
            self.apiPort = apiPort
        }
    }

    /// What the servers have seen so far.
    package struct Counters: Hashable, Sendable {
        /// By `grant_type`, refused ones included.
        package var tokenRequests: [String: Int]
        /// Refresh tokens that came a second time; each ended its family.
        package var reusesDetected: Int
        /// Logins that were allowed.
        package var logins: Int
        package var apiRequests: Int
    }

    /// Of both servers, for a configuration: `issuer`, `upstream`, `client_id`, `scopes`.
    package let issuer: String
    package let api: String
    package var clientID: String { AuthorizationDesk.clientID }
    package var scopes: [String] { AuthorizationDesk.scopes }

    private let desk: AuthorizationDesk
    private let window: DemoAPI
    private let servers: [HTTPServer]

    package static func start(
        _ settings: Settings = Settings(), time: any TimeSource = SystemTime()
    ) throws(ServerError) -> DemoWorld {
        try DemoWorld(settings, time: time)
    }

    private init(_ settings: Settings, time: any TimeSource) throws(ServerError) {
        // The issuer has the server's port in it, so the server is there first.
        let opening = Opening()
        let issuerServer = try HTTPServer(port: settings.issuerPort) { request in
            opening.desk?.reply(to: request) ?? .line("not ready", status: 503)
        }
        issuer = "http://127.0.0.1:\(issuerServer.port)"
        let desk = AuthorizationDesk(
            issuer: issuer, decision: settings.isAutomatic ? .automatic : .page,
            accessTokenLifetimeSeconds: settings.accessTokenLifetimeSeconds, time: time)
        opening.open(desk)
        let window = DemoAPI { desk.standing(of: $0) }
        let apiServer = try HTTPServer(port: settings.apiPort) { request in
            DemoWorld.response(window.answer(to: request), time: time)
        }
        api = "http://127.0.0.1:\(apiServer.port)"
        self.desk = desk
        self.window = window
        servers = [issuerServer, apiServer]
    }

    /// Frees both ports before it returns.
    package func stop() {
        for server in servers { server.stop() }
    }

    // MARK: Making trouble

    /// The API refuses every access token that was given so far; refresh tokens stay good.
    package func revokeAccessTokens() { desk.revokeAccessTokens() }

    /// No refresh token that was given so far works any more; access tokens live on until they
    /// expire.
    package func killRefreshTokens() { desk.killRefreshTokens() }

    // MARK: Looking

    package var counters: Counters {
        let counts = desk.counts
        return Counters(
            tokenRequests: counts.tokenRequests, reusesDetected: counts.reuses,
            logins: counts.logins, apiRequests: window.requestCount)
    }

    /// The latest requests to the API, the newest last.
    package var seenRequests: [SeenRequest] { window.seen }

    // MARK: Events

    private static func response(_ answer: DemoAPI.Answer, time: any TimeSource) -> ServerResponse {
        switch answer {
        case .reply(let response): return response
        case .events(let source):
            let next = Mutex(1)
            return ServerResponse(
                status: 200,
                fields: [
                    ServerField("Content-Type", "text/event-stream"),
                    ServerField("Cache-Control", "no-store"),
                ],
                rest: {
                    let number = next.withLock { number in
                        defer { number += 1 }
                        return number
                    }
                    guard number <= source.count else { return nil }
                    if number > 1 {
                        do { try await time.sleep(milliseconds: source.intervalMilliseconds) } catch
                        { return nil }
                    }
                    return Array(source.event(number).utf8)
                })
        }
    }
}

/// Holds the desk once there is one.
private final class Opening: Sendable {
    private let content = Mutex<AuthorizationDesk?>(nil)

    var desk: AuthorizationDesk? { content.withLock { $0 } }

    func open(_ desk: AuthorizationDesk) { content.withLock { $0 = desk } }
}
