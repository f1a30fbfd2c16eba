// How `serve` speaks: log lines, and in the same form the few things that it says as a command. A thread of its
// own writes them, so that nothing which serves requests waits for whoever reads the log.

import Bytes
import Configuration
import DataPlane
import Diagnostics
import Synchronization
import Vocabulary

/// The log of a running proxy on standard error.
final class ServeLog: Sendable {
    let log: Log
    private let isJSON: Bool
    private let console: Console
    private let queue: LogQueue?
    private let configured: Mutex<Log.Level>

    /// How long the end of the process waits for a reader.
    private static let endMilliseconds: Int32 = 1000

    init(_ settings: LogSettings, on console: Console) {
        self.console = console
        let format: Log.Format =
            switch settings.format {
            case .auto where console.errors.isTerminal: .terminal(colours: console.usesColours)
            case .auto, .json: .json
            case .text: .text
            }
        isJSON = format == .json
        let level = Log.Level(settings.level)
        configured = Mutex(level)
        queue = LogQueue(format)
        // Without a pipe for the queue lines go out at once; a process that has no descriptor left
        // has more to fear than a slow reader.
        log = Log(level: level, format: format, to: queue.map { .queue($0) } ?? .descriptor(2))
        if let queue { startThread { queue.run(writingTo: 2) } }
    }

    /// A program that reads the log reads this as a line of it. It is said at every level: without it
    /// nobody would know a port that the kernel has chosen.
    func listening(on url: String) {
        guard isJSON else { return console.note("listening on \(url)") }
        announce("listening", ("address", .text(url)))
    }

    private func announce(_ message: StaticString, _ field: (StaticString, Log.Value)) {
        var bytes = ByteBuffer()
        log.line.begin(.info, message, at: SystemTime().wallMilliseconds(), into: &bytes)
        log.line.add(field.0, field.1, into: &bytes)
        log.line.end(into: &bytes)
        log.writeWhole(bytes.bytes)
    }

    /// What a reload has closed.
    func notListening(on url: String) {
        guard isJSON else { return console.note("not listening on \(url) any more") }
        announce("not listening any more", ("address", .text(url)))
    }

    func statusPage(at url: String) {
        guard isJSON else { return console.note("status page at \(url)") }
        announce("status page", ("address", .text(url)))
    }

    func ending(graceSeconds: Int64) {
        if isJSON {
            log.info("ending", ("grace_seconds", .number(graceSeconds)))
        } else {
            console.note(
                "ending; running requests have \(durationText(seconds: graceSeconds)), "
                    + "a second signal ends it at once")
        }
    }

    // MARK: While it runs

    /// Another level was configured. What a line looks like stays as it is.
    func apply(_ settings: LogSettings) {
        let level = Log.Level(settings.level)
        configured.withLock { $0 = level }
        log.setLevel(level)
    }

    /// Says everything from now on, or what is configured.
    func follow(_ wish: LevelSignals.Wish) {
        let level =
            switch wish {
            case .everything: Log.Level.debug
            case .asConfigured: configured.withLock { $0 }
            }
        log.setLevel(min(level, .info))
        log.info("log level changed", ("now", .text("\(level)")))
        log.setLevel(level)
    }

    /// Nothing more will be said: waits a moment for whoever reads.
    func end() { queue?.finish(waitingMilliseconds: Self.endMilliseconds) }
}

extension LogSettings {
    var loggedRequests: LoggedRequests {
        switch access {
        case .off: .none
        case .failures: .failed
        case .all: .all
        }
    }
}

extension Log.Level {
    fileprivate init(_ level: LogSettings.Level) {
        self =
            switch level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            case .off: .off
            }
    }
}
