// One entry of `listen`: a place, who may come there, and whether TLS is spoken.

/// Where and how clients are listened for.
package struct ListenerSettings: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case address(ListenAddress)
        case socketFile(path: String)
        /// Sockets that the service manager has opened: those of a name, or all that no other listener
        /// names (sd_listen_fds(3)).
        case inherited(name: String?)
    }

    /// The access that a socket file gives.
    package struct FileAccess: Hashable, Sendable {
        /// Permission bits.
        package var mode: UInt32 = 0o600
        /// Names or numbers; nil for the process's own.
        package var owner: String?
        package var group: String?
        /// Whose processes are let in besides the proxy's own user and root, whatever the mode: names
        /// or numbers.
        package var users: [String] = []
    }

    /// A certificate chain, leaf first, and its key; PEM.
    package struct Identity: Hashable, Sendable {
        package var certificateFile: String
        package var keyFile: String
    }

    package var place: Place
    /// What routes call it by; nil when none can.
    package var name: String?
    package var access = FileAccess()
    package var tls: Identity?

    package init(_ place: Place) { self.place = place }

    package init(_ address: ListenAddress) { place = .address(address) }

    /// Whether only this machine can reach it; not known of inherited sockets.
    package var isLoopback: Bool {
        switch place {
        case .address(let address): address.isLoopback
        case .socketFile, .inherited: true
        }
    }

    /// Its TCP address, if it has one.
    package var address: ListenAddress? {
        if case .address(let address) = place { address } else { nil }
    }
}

extension ListenerSettings: CustomStringConvertible {
    package var description: String {
        switch place {
        case .address(let address): address.description
        case .socketFile(let path): "unix:\(path)"
        case .inherited(let name): name.map { "systemd:\($0)" } ?? "systemd"
        }
    }
}
