// From the configuration's listeners to sockets that accept: binding, taking over what a service manager
// has opened, and the certificates of those that speak TLS. When anything fails nothing stays behind.

import Bytes
import Configuration
import Crypto
import DataPlane
import Diagnostics
import Reactor
import Routing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A socket that listens, with what the configuration says of it.
struct BoundListener: Sendable {
    let socket: ListenSocket
    let settings: ListenerSettings
    /// The same for as long as its connections may go on with it.
    let identifier: Int
    /// Its place in `Settings.listen`.
    var number: Int
    let identity: ServerIdentity?
    /// Whose processes a Unix socket lets in; nil on TCP.
    var users: Set<UInt32>?

    /// As it can be written into a URL, or as `unix:` and a path.
    var url: String {
        if socket.isUnix { return "unix:\(socket.address)" }
        let scheme = identity == nil ? "http" : "https"
        return "\(scheme)://\(ListenAddress(host: socket.address, port: socket.port))"
    }

    func dataListener(_ access: AccessSettings, secret: SecretBytes?) -> DataListener {
        let access = access.makeGuard(
            port: socket.port, secret: secret, isSecure: identity != nil,
            checksHost: !socket.isUnix)
        return DataListener(
            socket, access, number: number, identity: identity, users: users,
            identifier: identifier)
    }
}

/// All listeners of a run.
struct BoundListeners: Sendable {
    var all: [BoundListener] = []
    /// Those of the status page.
    private(set) var admin: [BoundListener] = []
    /// The next listener's identifier.
    var nextIdentifier = 0

    /// TCP ports.
    var ports: [UInt16] { all.map(\.socket.port).filter { $0 != 0 } }

    /// Binds what the settings say.
    init(_ settings: Settings, in world: World, log: Log) throws(CommandFailure) {
        var passed = PassedSockets(world.environment).sockets
        // Those that are asked for by name first, so that the rest is known.
        var order = Array(settings.listen.enumerated())
        order += settings.admin.listeners.map { (offset: Self.adminNumber, element: $0) }
        order.sort { !$0.element.takesTheRest && $1.element.takesTheRest }
        do throws(CommandFailure) {
            for (number, listener) in order {
                let identity = try listener.identity()
                for socket in try Self.sockets(listener, settings, &passed, log) {
                    let bound = BoundListener(
                        socket: socket, settings: listener, identifier: nextIdentifier,
                        number: number, identity: identity,
                        users: socket.isUnix ? try listener.allowedUsers() : nil)
                    nextIdentifier += 1
                    if number == Self.adminNumber {
                        admin.append(bound)
                    } else {
                        all.append(bound)
                    }
                }
            }
        } catch {
            close()
            closeAdmin()
            throw error
        }
        all.sort { $0.number < $1.number }
    }

    func close(where isLeaving: (BoundListener) -> Bool = { _ in true }) {
        for listener in all where isLeaving(listener) { listener.socket.close() }
    }

    func closeAdmin() {
        for listener in admin { listener.socket.close() }
    }

    /// Stands where routes would name a listener.
    private static let adminNumber = -1

    static func sockets(
        _ listener: ListenerSettings, _ settings: Settings,
        _ passed: inout [(descriptor: Int32, name: String)], _ log: Log
    ) throws(CommandFailure) -> [ListenSocket] {
        switch listener.place {
        case .address(let address):
            return try bind(address, of: settings, log).map { [$0] } ?? []
        case .socketFile(let path):
            let owner = try listener.access.ownerNumbers()
            do throws(ReactorError) {
                return [
                    try ListenSocket.bind(
                        path: path, mode: listener.access.mode, owner: owner.user,
                        group: owner.group)
                ]
            } catch {
                throw CommandFailure(
                    .failure, "cannot listen on \(listener): \(error.socketReason)",
                    hint: error.socketHint)
            }
        case .inherited(let name):
            let taken = passed.filter { name == nil || $0.name == name }
            passed.removeAll { name == nil || $0.name == name }
            guard !taken.isEmpty else {
                throw CommandFailure(
                    .failure,
                    "no socket was passed to the proxy"
                        + (name.map { " under the name \"\($0)\"" } ?? ""),
                    hint: "start it from a socket unit of systemd, with Accept=no")
            }
            var sockets: [ListenSocket] = []
            for socket in taken {
                sockets.append(try adopt(socket.descriptor, settings))
            }
            return sockets
        }
    }

    /// A socket that others can reach needs the secret like one of ours.
    private static func adopt(
        _ descriptor: Int32, _ settings: Settings
    ) throws(CommandFailure) -> ListenSocket {
        let socket: ListenSocket
        do throws(ReactorError) {
            socket = try ListenSocket.adopt(descriptor: descriptor)
        } catch {
            throw CommandFailure(
                .failure,
                "the socket passed as descriptor \(descriptor) does not listen for streams",
                hint: "use ListenStream= and Accept=no in the socket unit")
        }
        let address = ListenAddress(host: socket.address, port: socket.port)
        guard socket.isUnix || address.isLoopback || settings.access.localSecret != nil else {
            throw CommandFailure(
                .configuration,
                "\(address), which was passed to the proxy, can be reached from other machines, "
                    + "and no local_secret is set",
                hint: "add local_secret: { file: path }, or let the unit listen on 127.0.0.1")
        }
        return socket
    }

    private static func bind(
        _ address: ListenAddress, of settings: Settings, _ log: Log
    ) throws(CommandFailure) -> ListenSocket? {
        do throws(ReactorError) {
            return try ListenSocket.bind(address: address.host, port: address.port)
        } catch {
            // A machine without IPv6 has no ::1; whoever asked for "localhost" still has the other
            // half of it. Every other failure ends the start.
            if address.host == "::1", error.meansNoSuchFamily,
                (settings.listen + settings.admin.listeners).contains(where: {
                    $0.address == address.twin
                })
            {
                log.warning(
                    "not listening", ("address", .text("\(address)")),
                    ("reason", .text(error.reason)))
                return nil
            }
            throw CommandFailure(
                .failure, "cannot listen on \(address): \(error.reason)",
                hint: hint(
                    for: error, at: address,
                    isAdmin: !settings.listen.contains { $0.address == address }))
        }
    }

    private static func hint(
        for error: ReactorError, at address: ListenAddress, isAdmin: Bool
    ) -> String? {
        switch error {
        case .addressInUse where isAdmin:
            "end what listens there, or give \"admin\" in the configuration another address, or off"
        case .addressInUse:
            "end what listens there, or run \"proxy serve --listen "
                + "\(ListenAddress(host: address.host, port: 0))\" for a free port"
        case .accessDenied:
            "ports below 1024 are root's and the service manager's: listen on "
                + "\(ListenAddress(host: address.host, port: 8080)), or let systemd hold the port "
                + "(listen: systemd)"
        case .addressNotAvailable: "listen on an address of this machine, such as 127.0.0.1"
        default: nil
        }
    }
}

// MARK: Settings

extension ListenerSettings {
    fileprivate var takesTheRest: Bool { place == .inherited(name: nil) }

    func identity() throws(CommandFailure) -> ServerIdentity? {
        guard let tls else { return nil }
        do throws(TLSError) {
            return try ServerIdentity(
                certificateFile: tls.certificateFile, keyFile: tls.keyFile,
                alpn: ["h2", "http/1.1"])
        } catch {
            throw CommandFailure(
                .configuration, "the listener \(self): \(error.reason)",
                hint: "\"proxy certificate\" makes a certificate and a key for this machine")
        }
    }

    func allowedUsers() throws(CommandFailure) -> Set<UInt32> {
        var users: Set<UInt32> = [0, geteuid()]
        for name in access.users {
            guard let user = UserNames.user(name) else { throw .unknownUser(name) }
            users.insert(user)
        }
        return users
    }
}

extension ListenerSettings.FileAccess {
    fileprivate func ownerNumbers() throws(CommandFailure) -> (user: UInt32?, group: UInt32?) {
        let user = owner.map { UserNames.user($0) }
        if let owner, user == .some(nil) { throw .unknownUser(owner) }
        let group = self.group.map { UserNames.group($0) }
        if let name = self.group, group == .some(nil) {
            throw CommandFailure(.configuration, "this machine has no group \"\(name)\"")
        }
        return (user ?? nil, group ?? nil)
    }
}

extension CommandFailure {
    fileprivate static func unknownUser(_ name: String) -> CommandFailure {
        CommandFailure(.configuration, "this machine has no user \"\(name)\"")
    }
}

extension ListenAddress {
    /// The other loopback address, same port.
    fileprivate var twin: ListenAddress { ListenAddress(host: "127.0.0.1", port: port) }
}

extension ReactorError {
    fileprivate static let accessDenied = ReactorError(code: -EACCES)
    fileprivate static let noSuchDirectory = ReactorError(code: -ENOENT)

    fileprivate var meansNoSuchFamily: Bool {
        self == .addressNotAvailable || self == .familyNotSupported
    }

    fileprivate var socketReason: String {
        self == .socketPathTaken ? "something that is no socket is there" : reason
    }

    fileprivate var socketHint: String? {
        switch self {
        case .addressInUse: "another process listens there; end it, or choose another path"
        case .noSuchDirectory: "make the directory first, with mkdir -p, or choose another path"
        case .accessDenied: "choose a path in a directory that this user may write to"
        case .socketPathTaken: "choose another path; the proxy removes nothing but dead sockets"
        default: nil
        }
    }
}
