// What a running proxy goes by at the moment, for everybody who wants to know: settings that a reload
// replaces, what became of the last reload, and whether it ends. It does nothing by itself.

import Configuration
import Synchronization
import Vocabulary

/// What became of the configuration's changes since the start.
struct ReloadReport: Sendable {
    /// How often another configuration was taken.
    var count = 0
    /// When the configuration was last read again; nil before the first time.
    var lastAt: WallTime?
    /// Why what was read last is not in use; empty when it is.
    var refusal: [CommandFailure.Message] = []
}

/// The settings of a running proxy, and its end.
final class Running: Sendable {
    /// Why it ends.
    enum End: Sendable, Equatable {
        /// A signal's number.
        case signal(Int32)
        /// Somebody asked for it.
        case asked
        case parentGone
    }

    private struct State {
        var settings: Settings
        var reloads = ReloadReport()
        var end: End?
        var waiting: [CheckedContinuation<End, Never>] = []
    }

    private let state: Mutex<State>

    init(_ settings: Settings) { state = Mutex(State(settings: settings)) }

    /// Those in use; another configuration may take their place at any time.
    var settings: Settings { state.withLock { $0.settings } }
    var reloads: ReloadReport { state.withLock { $0.reloads } }
    /// Whether no new work is taken any more.
    var isDraining: Bool { state.withLock { $0.end != nil } }

    func replace(_ settings: Settings, at now: WallTime) {
        state.withLock { state in
            state.settings = settings
            state.reloads.count += 1
            state.reloads.lastAt = now
            state.reloads.refusal = []
        }
    }

    func noteRefusal(_ reasons: [CommandFailure.Message], at now: WallTime) {
        state.withLock { state in
            state.reloads.lastAt = now
            state.reloads.refusal = reasons
        }
    }

    /// Asks it to end as the first SIGTERM does: what runs is finished, within the grace period. Only the
    /// first reason counts.
    func end(_ reason: End = .asked) {
        let waiting = state.withLock { state -> [CheckedContinuation<End, Never>] in
            guard state.end == nil else { return [] }
            state.end = reason
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: reason) }
    }

    /// Returns once it is to end.
    func waitForEnd() async -> End {
        await withCheckedContinuation { waiting in
            let known = state.withLock { state -> End? in
                if state.end == nil { state.waiting.append(waiting) }
                return state.end
            }
            if let known { waiting.resume(returning: known) }
        }
    }
}
