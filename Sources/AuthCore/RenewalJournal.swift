// What happened to a credential lately, for the log and for `proxy status` in another process: one
// line when renewals begin to fail and one when they work again, and a note without secrets.

import Bytes
import Diagnostics
import TokenStore
import Vocabulary

/// The record of one credential's renewals.
actor RenewalJournal {
    private let id: CredentialID
    private let surroundings: Surroundings
    private var note = RenewalNote()
    private var writingFails = false
    private var clockWasWarnedOf = false

    init(_ id: CredentialID, in surroundings: Surroundings) {
        self.id = id
        self.surroundings = surroundings
    }

    /// A proxy that starts knows of no failure yet, whatever the one before it saw.
    func begin() async {
        guard let old = await RenewalNote.read(id, in: surroundings) else { return }
        note = RenewalNote(renewedAt: old.renewedAt, clock: old.clock)
        if note != old { await write() }
    }

    func renewed(after trouble: Bool, clock: ClockDifference? = nil) async {
        if trouble {
            surroundings.log.info("credential is renewed again", ("credential", .text(id.name)))
        }
        note = RenewalNote(renewedAt: surroundings.time.wallTime(), clock: seen(clock))
        await write()
    }

    /// Somebody else has done what we could not: logged in, or put a file right.
    func mended() async {
        guard note.failure != nil else { return }
        surroundings.log.info("credential is usable again", ("credential", .text(id.name)))
        note = RenewalNote(renewedAt: note.renewedAt, clock: note.clock)
        await write()
    }

    /// - Parameter nextAttemptInMilliseconds: nil where none is planned.
    func failed(
        _ lack: Lack, nextAttemptInMilliseconds: UInt64? = nil, clock: ClockDifference? = nil
    ) async {
        guard let failure = lack.text else { return }
        let now = surroundings.time.wallTime()
        let isNew = note.failure != failure
        note.failingSince = note.failingSince ?? now
        note.failure = failure
        note.kind = lack.kind
        note.failedAt = now
        note.nextAttemptAt = nextAttemptInMilliseconds.map {
            now.advanced(by: Int64(clamping: $0 / 1000))
        }
        note.clock = seen(clock)
        if isNew {
            surroundings.log.warning(
                "credential cannot be renewed", ("credential", .text(id.name)),
                ("reason", .text(failure)))
        }
        await write()
    }

    private func seen(_ clock: ClockDifference?) -> ClockDifference? {
        guard let clock else { return note.clock }
        if clock.isLarge, !clockWasWarnedOf {
            clockWasWarnedOf = true
            surroundings.log.warning(
                "this machine's clock and the provider's disagree", ("credential", .text(id.name)),
                ("seconds_ahead", .number(clock.seconds)))
        }
        return clock
    }

    /// A place that cannot be written is told once and tried each time: it may be put right. Until it is,
    /// whoever asks in this process finds the note in memory.
    private func write() async {
        let note = note
        surroundings.unwrittenNotes.add(note, of: id, at: surroundings.time.wallTime())
        do {
            try await surroundings.store.saveNote(RenewalNote.name(id), note.document)
            surroundings.unwrittenNotes.remove(note, of: id)
            writingFails = false
        } catch {
            guard !writingFails else { return }
            writingFails = true
            surroundings.log.warning(
                "status cannot be kept", ("credential", .text(id.name)),
                ("reason", .text(error.message)))
        }
    }
}
