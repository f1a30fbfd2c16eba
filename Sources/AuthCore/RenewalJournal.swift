// What happened to a credential lately, for the log and for `proxy status` in another process: one
// line when renewals begin to fail and one when they work again, and a note without secrets.

import Bytes
import Diagnostics
import TokenStore
import Vocabulary

/// The record of one credential's renewals.
actor RenewalJournal {
    /// What another process may read of it.
    struct Note: Sendable, Equatable {
        var renewedAt: WallTime?
        var failingSince: WallTime?
        var failure: String?
        var failedAt: WallTime?
    }

    private let id: CredentialID
    private let surroundings: Surroundings
    private var note = Note()
    private var isWritable = true

    init(_ id: CredentialID, in surroundings: Surroundings) {
        self.id = id
        self.surroundings = surroundings
    }

    /// A proxy that starts knows of no failure yet, whatever the one before it saw.
    func begin() async {
        guard let document = await surroundings.store.note(Self.name(id)),
            let old = Note(document)
        else { return }
        note = Note(renewedAt: old.renewedAt)
        if note != old { await write() }
    }

    func renewed(after trouble: Bool) async {
        if trouble {
            surroundings.log.info("credential is renewed again", ("credential", .text(id.name)))
        }
        note = Note(renewedAt: surroundings.time.wallTime())
        await write()
    }

    /// Somebody else has done what we could not: logged in, or put a file right.
    func mended() async {
        guard note.failure != nil else { return }
        surroundings.log.info("credential is usable again", ("credential", .text(id.name)))
        note.failingSince = nil
        note.failure = nil
        note.failedAt = nil
        await write()
    }

    func failed(_ lack: Lack) async {
        guard let failure = lack.text else { return }
        let now = surroundings.time.wallTime()
        let isNew = note.failure != failure
        note.failingSince = note.failingSince ?? now
        note.failure = failure
        note.failedAt = now
        if isNew {
            surroundings.log.warning(
                "credential cannot be renewed", ("credential", .text(id.name)),
                ("reason", .text(failure)))
        }
        await write()
    }

    /// A place that cannot be written is tried once.
    private func write() async {
        guard isWritable else { return }
        do {
            try await surroundings.store.saveNote(Self.name(id), note.document)
        } catch {
            isWritable = false
            surroundings.log.warning(
                "status cannot be kept", ("credential", .text(id.name)),
                ("reason", .text(error.message)))
        }
    }

    static func name(_ id: CredentialID) -> String { "renewal-\(id.name)" }
}

extension RenewalJournal.Note {
    var document: JSONValue {
        func time(_ time: WallTime?) -> JSONValue {
            time.map { .number(JSONNumber($0.seconds)) } ?? .null
        }
        return [
            "renewed_at": time(renewedAt), "failing_since": time(failingSince),
            "failure": failure.map { .string($0) } ?? .null, "failed_at": time(failedAt),
        ]
    }

    init?(_ document: JSONValue) {
        guard let object = document.asObject else { return nil }
        func time(_ name: String) -> WallTime? {
            object[name]?.asNumber?.asInteger.map { WallTime(seconds: $0) }
        }
        self.init(
            renewedAt: time("renewed_at"), failingSince: time("failing_since"),
            failure: object["failure"]?.asString, failedAt: time("failed_at"))
    }
}
