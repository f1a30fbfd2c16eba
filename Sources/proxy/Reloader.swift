// Reads the configuration again and hands it to the running proxy: whole, or not at all. A file with an
// error, or with a change that needs a restart, leaves everything as it was and says why.

import AuthCore
import Configuration
import Diagnostics
import TokenStore
import Vocabulary

/// One reload after the other.
actor Reloader {
    private let running: Running
    private let proxy: RunningProxy
    private let request: SettingsRequest
    private let world: World
    private let log: ServeLog
    private var last: Task<Void, Never>?

    init(
        _ running: Running, _ proxy: RunningProxy, _ request: SettingsRequest, in world: World,
        log: ServeLog
    ) {
        self.running = running
        self.proxy = proxy
        self.request = request
        self.world = world
        self.log = log
    }

    /// Returns when the configuration is in use, or refused.
    func reload() async {
        let before = last
        let task = Task {
            await before?.value
            await self.readAgain()
        }
        last = task
        await task.value
    }

    /// Returns when nothing is being read or taken up; to be called once the proxy is to end, so that
    /// nothing more will be.
    func finish() async {
        await last?.value
        await forgetRefusal()
    }

    /// SIGHUP.
    func hangup() async {
        guard running.settings.reload != .off else {
            return log.log.warning("SIGHUP changes nothing: reload is off in the configuration")
        }
        await reload()
    }

    /// Other processes are told of a refusal by a note, for as long as it is true.
    private func forgetRefusal() async { await RefusalNote.remove(from: store) }

    private var store: FileLoginStore { proxy.tools.surroundings.store }

    private func readAgain() async {
        guard !running.isDraining else { return }
        let now = SystemTime().wallTime()
        let stamp = RefusalNote.stamp(of: running.settings.file)
        do throws(CommandFailure) {
            guard let settings = try world.settings(running.settings, again: request) else {
                log.log.warning("there is no configuration file that could be read again")
                return
            }
            let changes = try await proxy.apply(settings)
            running.replace(settings, at: now)
            await forgetRefusal()
            log.apply(settings.log)
            for url in changes.closed { log.notListening(on: url) }
            for url in changes.opened { log.listening(on: url) }
            log.log.info(
                "the configuration was loaded again", ("file", .text(settings.file ?? "")),
                ("routes", .number(Int64(settings.routeSpecs.count))),
                ("credentials", .number(Int64(settings.credentials.count))))
        } catch {
            running.noteRefusal(error.messages, at: now)
            await RefusalNote.write(
                error.messages.map(\.text), of: running.settings.file, stamp: stamp, to: store)
            for message in error.messages {
                log.log.error(
                    "the configuration was not loaded; the one before stays in use",
                    ("reason", .text(message.text)), ("hint", .text(message.hint ?? "")))
            }
        }
    }
}
