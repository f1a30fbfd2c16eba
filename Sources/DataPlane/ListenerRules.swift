// What one listener lets in, as one worker sees it. A new configuration replaces the terms for requests that
// begin later; what a connection is (its certificate, its socket's users) stays as it was accepted.

import Crypto
import Reactor
import Routing

/// What requests that begin now are judged by and routed with.
/// Classes with constant parts can be read without touching the reference counts of what they hold.
final class ListenerTerms {
    let access: AccessGuard
    /// Which routes the listener serves, by `RouteSpec.listeners` of this table.
    let number: Int
    let installed: InstalledTable

    init(_ access: AccessGuard, number: Int, _ installed: InstalledTable) {
        self.access = access.unshared()
        self.number = number
        self.installed = installed
    }
}

/// One listener of one worker, and all connections that came through it.
final class ListenerRules {
    let identity: ServerIdentity?
    let users: Set<UInt32>?
    private(set) var terms: ListenerTerms
    /// The listener has gone: its connections end with what they are at, under its last terms.
    private(set) var isRetired = false

    /// Whether its clients speak TLS.
    var isSecure: Bool { identity != nil }

    init(_ listener: DataListener, _ installed: InstalledTable) {
        identity = listener.identity
        users = listener.users
        terms = ListenerTerms(listener.access, number: listener.number, installed)
    }

    func replace(by listener: DataListener, _ installed: InstalledTable) {
        terms = ListenerTerms(listener.access, number: listener.number, installed)
    }

    func retire() { isRetired = true }

    /// Whether the process at the other end may talk to us at all (SO_PEERCRED).
    func admits(_ client: ByteStream) -> Bool {
        guard let users else { return true }
        return client.peerUser.map(users.contains) ?? false
    }
}
