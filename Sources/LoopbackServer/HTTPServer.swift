// A small HTTP/1 server for this machine alone: the login callback, the demo, the status page. It
// answers whole requests with whole answers, and never binds anything beyond the loopback interface.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Answers one request; called for one request of a connection at a time, for connections side by
/// side. Cancelled when the connection breaks or the server stops.
package typealias ServerHandler = @Sendable (ServerRequest) async -> ServerResponse

/// What happened that no handler is told.
package enum ServerEvent: Hashable, Sendable {
    /// A client spoke TLS: its browser was told, or decided, to use https.
    case tlsHandshake(peerPort: UInt16)
    /// A request was refused with that status before any handler saw it.
    case refused(status: Int, peerPort: UInt16)
}

/// Whose requests are answered, by their Host field or the authority of their target.
package enum AcceptedHosts: Hashable, Sendable {
    /// `localhost`, `127.0.0.1` and `[::1]` with the server's port; anything else is told 400. A web
    /// page whose name was bent to this machine (DNS rebinding) does not get further.
    case loopback
    case any
}

/// Listens from its initialisation until `stop`, `drain` or the end of its life.
package final class HTTPServer: Sendable {
    package let port: UInt16
    /// The addresses that it listens on, without brackets.
    package let addresses: [String]
    private let mail: ServerMail

    /// Binds and starts. A port of nil is chosen by the kernel; one that is given and taken is an
    /// error, never another port. `onEvent` is called on the server's own thread and must not block.
    package convenience init(
        port: UInt16? = nil, families: LoopbackFamilies = .both, hosts: AcceptedHosts = .loopback,
        limits: ServerLimits = .standard,
        onEvent: @escaping @Sendable (ServerEvent) -> Void = { _ in },
        handler: @escaping ServerHandler
    ) throws(ServerError) {
        try self.init(
            on: LoopbackSockets(port: port, families: families), hosts: hosts, limits: limits,
            onEvent: onEvent, handler: handler)
    }

    /// Serves on sockets that listen already, streams of any family; they stay the caller's, who closes
    /// them when this server has ended.
    ///
    /// - Parameters:
    ///   - guard: decides on each head; there are no other rules about hosts.
    ///   - admits: asked on the server's own thread about each accepted descriptor; must not block.
    package convenience init(
        sharing listening: [Int32], guard headGuard: HeadGuard,
        limits: ServerLimits = .standard, admits: (@Sendable (Int32) -> Bool)? = nil,
        handler: @escaping ServerHandler
    ) throws(ServerError) {
        try self.init(
            on: LoopbackSockets(sharing: listening), hosts: .any, limits: limits,
            headGuard: headGuard, admits: admits, onEvent: { _ in }, handler: handler)
    }

    private init(
        on opened: LoopbackSockets, hosts: AcceptedHosts, limits: ServerLimits,
        headGuard: HeadGuard? = nil, admits: (@Sendable (Int32) -> Bool)? = nil,
        onEvent: @escaping @Sendable (ServerEvent) -> Void, handler: @escaping ServerHandler
    ) throws(ServerError) {
        var sockets = opened
        guard let mail = ServerMail() else {
            let code = errno
            sockets.close()
            throw .cannotListen(code: code)
        }
        self.port = sockets.port
        addresses = sockets.addresses
        self.mail = mail
        let loop = ServerLoop(
            sockets: sockets, mail: mail, hosts: hosts, limits: limits, headGuard: headGuard,
            admits: admits, onEvent: onEvent, handler: handler)
        guard loop.start() else {
            sockets.close()
            throw .cannotListen(code: EAGAIN)
        }
    }

    deinit {
        stop()
    }

    /// Closes every socket at once, requests under way included. The port is free when it returns;
    /// called from `onEvent`, soon after.
    package func stop() {
        mail.ask(.stop)
        mail.waitForEnd()
    }

    /// Accepts nothing more, lets the requests under way have their answers, then stops; at the
    /// latest after that time.
    package func drain(milliseconds: UInt64) async {
        mail.ask(.drain(until: bootMilliseconds() + milliseconds))
        await mail.end()
    }
}
