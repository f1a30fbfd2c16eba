// How a running proxy goes from one configuration to the next. All that can fail comes first; what comes
// then is told to both planes, and requests under way notice nothing.

import AuthCore
import Configuration
import Crossing
import Crypto
import DataPlane
import Routing
import Vocabulary

extension RunningProxy {
    /// Addresses that came and went.
    struct ListenerChanges: Sendable {
        var opened: [String] = []
        var closed: [String] = []
    }

    /// Goes on with these settings; when it throws, nothing has changed. One call after the other.
    func apply(_ settings: Settings) async throws(CommandFailure) -> ListenerChanges {
        let before = running.settings
        let fixed = before.fixedKeys(changedIn: settings)
        guard fixed.isEmpty else {
            throw CommandFailure(
                .configuration,
                fixed.map { key in
                    .init(
                        text: "\"\(key)\" in \(settings.file ?? "the configuration") was changed, "
                            + "which a running proxy cannot take up",
                        hint: "restart it, or change \"\(key)\" back")
                })
        }
        let secret = try await settings.access.readSecret(in: tools.surroundings)
        let next = try currentListeners.changed(to: settings, in: world, log: log)
        do throws(TLSError) {
            try group.prepare(settings.routes)
        } catch {
            next.closeOpened()
            throw CommandFailure(.configuration, "the upstreams' TLS: \(error.reason)")
        }

        tools.surroundings.hiddenVariables.hide(settings.secretVariables)
        let slots = await plane.replace(settings.credentials)
        let table: RouteTable
        do {
            table = try settings.table(slots: slots)
        } catch {
            preconditionFailure("routes that were valid stay so with other slots: \(error)")
        }
        dials.setTimeout(milliseconds: settings.timeouts.connect)
        currentListeners = next.listeners
        // The workers, who leave last, take those that are connected already.
        next.closeRemoved()
        await withCheckedContinuation { done in
            group.reconfigure(
                table, WorkerSettings(settings, person: person),
                listeners: next.listeners.all.map {
                    $0.dataListener(settings.access, secret: secret)
                }
            ) { done.resume() }
        }
        // Every worker has its share of what was opened: another configuration may close it again.
        return ListenerChanges(opened: next.opened.map(\.url), closed: next.removed.map(\.url))
    }
}
