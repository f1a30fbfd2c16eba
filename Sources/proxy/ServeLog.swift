// How `serve` speaks: log lines, and in the same form the few things that it says as a command.

import Configuration
import Diagnostics

/// The log of a running proxy on standard error.
struct ServeLog: Sendable {
    let log: Log
    private let isJSON: Bool
    private let console: Console

    init(_ settings: LogSettings, on console: Console) {
        self.console = console
        isJSON =
            switch settings.format {
            case .auto: !console.errors.isTerminal
            case .json: true
            case .text: false
            }
        log = Log(level: Log.Level(settings.level), format: isJSON ? .json : .text)
    }

    /// A program that reads the log reads these as lines of it; a person reads them in any case.
    func listening(on url: String) {
        if isJSON, log.isEnabled(.info) {
            log.info("listening", ("address", .text(url)))
        } else {
            console.note("listening on \(url)")
        }
    }

    /// What a reload has closed.
    func notListening(on url: String) {
        if isJSON, log.isEnabled(.info) {
            log.info("not listening any more", ("address", .text(url)))
        } else {
            console.note("not listening on \(url) any more")
        }
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
}

extension Log.Level {
    init(_ level: LogSettings.Level) {
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
