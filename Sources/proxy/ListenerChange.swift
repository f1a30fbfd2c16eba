// From the listeners of one configuration to those of the next: what is in both stays open with its
// connections, what is new is bound before anything is closed, and when something fails all is as before.

import Configuration
import Crypto
import Diagnostics
import Reactor
import Synchronization

/// The next listeners, with what has to be closed for them, or instead of them.
struct ListenerChange: Sendable {
    var listeners: BoundListeners
    /// Not there before.
    var opened: [BoundListener] = []
    /// Not there any more.
    var removed: [BoundListener] = []

    /// Goes back to what was.
    func closeOpened() { for listener in opened { listener.socket.close() } }

    func closeRemoved() { for listener in removed { listener.socket.close() } }
}

extension BoundListeners {
    /// The listeners of other settings; those here stay open.
    func changed(
        to settings: Settings, in world: World, log: Log
    ) throws(CommandFailure) -> ListenerChange {
        var next = self
        next.all = []
        var change = ListenerChange(listeners: next)
        var left = all
        do throws(CommandFailure) {
            for (number, wanted) in settings.listen.enumerated() {
                let known = left.filter { $0.settings.place == wanted.place }
                // Those of a service manager are several; any other place has one socket.
                let kept =
                    if case .inherited = wanted.place { known } else { Array(known.prefix(1)) }
                left.removeAll { listener in
                    kept.contains { $0.identifier == listener.identifier }
                }
                if kept.isEmpty {
                    change.opened += try open(wanted, number, settings, &next, log)
                    continue
                }
                for listener in kept {
                    let renewed = try listener.renewed(wanted, number, &next)
                    next.all.append(renewed)
                }
            }
        } catch {
            change.closeOpened()
            throw error
        }
        next.all += change.opened
        next.all.sort { $0.number < $1.number }
        change.listeners = next
        change.removed = left
        return change
    }

    private func open(
        _ wanted: ListenerSettings, _ number: Int, _ settings: Settings,
        _ next: inout BoundListeners, _ log: Log
    ) throws(CommandFailure) -> [BoundListener] {
        let identity = try wanted.identity()
        let users = try wanted.allowedUsers()
        // A service manager hands its sockets over at the start alone, and their keys are fixed.
        var none: [(descriptor: Int32, name: String)] = []
        var opened: [BoundListener] = []
        for socket in try Self.sockets(wanted, settings, &none, log) {
            opened.append(
                BoundListener(
                    socket: socket, settings: wanted, identifier: next.nextIdentifier,
                    number: number, identity: identity, users: socket.isUnix ? users : nil))
            next.nextIdentifier += 1
        }
        return opened
    }
}

extension BoundListener {
    /// The same socket under other settings. Connections go on, unless they would have to speak TLS from
    /// now on, or with another certificate's file, or with other users.
    fileprivate func renewed(
        _ wanted: ListenerSettings, _ number: Int, _ next: inout BoundListeners
    ) throws(CommandFailure) -> BoundListener {
        let users = socket.isUnix ? try wanted.allowedUsers() : nil
        if wanted.tls == settings.tls, users == self.users {
            return BoundListener(
                socket: socket, settings: wanted, identifier: identifier, number: number,
                identity: identity, users: users)
        }
        defer { next.nextIdentifier += 1 }
        return BoundListener(
            socket: socket, settings: wanted, identifier: next.nextIdentifier, number: number,
            identity: wanted.tls == settings.tls ? identity : try wanted.identity(), users: users)
    }
}

/// The listeners of the configuration in use, for those who come back to them.
final class SharedListeners: Sendable {
    private let listeners: Mutex<BoundListeners>

    init(_ listeners: BoundListeners) { self.listeners = Mutex(listeners) }

    var value: BoundListeners {
        get { listeners.withLock { $0 } }
        set { listeners.withLock { $0 = newValue } }
    }

    private static let certificateCheck = Duration.seconds(2)

    /// Looks at the certificate files now and then until it is cancelled.
    func watchCertificates(_ log: Log) async {
        while (try? await Task.sleep(for: Self.certificateCheck)) != nil {
            for identity in value.all.compactMap(\.identity) {
                do throws(TLSError) {
                    if try identity.reloadIfChanged() {
                        log.info(
                            "certificate loaded", ("file", .text(identity.certificateFile)))
                    }
                } catch {
                    log.warning(
                        "the certificate was not loaded; the old one stays in use",
                        ("reason", .text(error.reason)))
                }
            }
        }
    }
}
