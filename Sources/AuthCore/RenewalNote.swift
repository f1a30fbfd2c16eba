// What one process leaves for another to read of a credential's renewals. It holds no secret, and
// whatever is lost of it costs an answer of `proxy status`, nothing else.

import Crossing
import Synchronization
import TokenStore
import Vocabulary

/// The newest facts; those of a failure are nil together.
struct RenewalNote: Hashable, Sendable {
    /// What a failure means for whoever looks at it.
    enum Kind: String, Sendable {
        case loginRequired = "login_required"
        case transient
        case misconfigured, denied, unavailable
    }

    var renewedAt: WallTime?
    var failingSince: WallTime?
    var failure: String?
    var kind: Kind?
    var failedAt: WallTime?
    /// Nil where nothing is tried before somebody does something.
    var nextAttemptAt: WallTime?
    var clock: ClockDifference?

    static func name(_ id: CredentialID) -> String { "renewal-\(id.name)" }

    static func read(_ id: CredentialID, in surroundings: Surroundings) async -> RenewalNote? {
        let written = await surroundings.store.note(name(id)).flatMap { RenewalNote($0) }
        return surroundings.unwrittenNotes.newest(of: id, besides: written)
    }

    /// Of what it tells last; nil where it tells nothing.
    fileprivate var newestAt: WallTime? { [renewedAt, failedAt].compactMap(\.self).max() }
}

/// Notes of this process that are not on disk, since nothing can be written there, or not yet.
final class UnwrittenNotes: Sendable {
    private struct Entry {
        let note: RenewalNote
        let at: WallTime
    }

    private let entries = Mutex<[CredentialID: Entry]>([:])

    func add(_ note: RenewalNote, of id: CredentialID, at time: WallTime) {
        entries.withLock { $0[id] = Entry(note: note, at: time) }
    }

    /// It was written. One that came after it stays.
    func remove(_ note: RenewalNote, of id: CredentialID) {
        entries.withLock { if $0[id]?.note == note { $0[id] = nil } }
    }

    /// Ours, unless another process has written something later.
    func newest(of id: CredentialID, besides written: RenewalNote?) -> RenewalNote? {
        guard let entry = entries.withLock({ $0[id] }) else { return written }
        guard let written, let at = written.newestAt, entry.at < at else { return entry.note }
        return written
    }
}

extension RenewalNote {
    var document: JSONValue {
        func time(_ time: WallTime?) -> JSONValue {
            time.map { .number(JSONNumber($0.seconds)) } ?? .null
        }
        return [
            "renewed_at": time(renewedAt), "failing_since": time(failingSince),
            "failure": failure.map { .string($0) } ?? .null,
            "kind": kind.map { .string($0.rawValue) } ?? .null, "failed_at": time(failedAt),
            "next_attempt_at": time(nextAttemptAt),
            "clock_difference": clock.map { .number(JSONNumber($0.seconds)) } ?? .null,
            "clock_seen_at": time(clock?.at),
        ]
    }

    init?(_ document: JSONValue) {
        guard let object = document.asObject else { return nil }
        func number(_ name: String) -> Int64? { object[name]?.asNumber?.asInteger }
        func time(_ name: String) -> WallTime? { number(name).map { WallTime(seconds: $0) } }
        self.init(
            renewedAt: time("renewed_at"), failingSince: time("failing_since"),
            failure: object["failure"]?.asString,
            kind: object["kind"]?.asString.flatMap { Kind(rawValue: $0) },
            failedAt: time("failed_at"), nextAttemptAt: time("next_attempt_at"))
        if let seconds = number("clock_difference"), let at = time("clock_seen_at") {
            clock = ClockDifference(seconds: seconds, at: at)
        }
    }
}

extension Lack {
    /// Nil where nothing failed.
    var kind: RenewalNote.Kind? {
        switch self {
        case .loginNeeded: .loginRequired
        case .transient: .transient
        case .misconfigured: .misconfigured
        case .denied: .denied
        case .unavailable: .unavailable
        case .nothingNewer: nil
        case .partMissing(_, let refusal):
            switch refusal {
            case .loginRequired: .loginRequired
            case .loginDenied: .denied
            case .tokenEndpointUnreachable: .transient
            case .credentialMisconfigured: .misconfigured
            case .credentialUnavailable: .unavailable
            }
        }
    }
}
