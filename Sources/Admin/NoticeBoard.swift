// What became of things that were asked for on the page, kept for a while under names that nobody can
// guess: no text of ours is taken from an address. Old ones make room.

import Pages
import Synchronization
import Vocabulary

final class NoticeBoard: Sendable {
    /// A code that somebody types elsewhere meanwhile.
    struct Prompt: Sendable {
        let url: String
        let userCode: String
        let until: BootTime
    }

    private struct Entry {
        let id: String
        var notice: Notice?
        var prompt: Prompt?
    }

    private static let entriesMax = 64
    private let entries = Mutex<[Entry]>([])

    /// A name for something that has been begun.
    func reserve() -> String {
        let id = PageNonce.fresh()
        entries.withLock { entries in
            if entries.count == Self.entriesMax { entries.removeFirst() }
            entries.append(Entry(id: id))
        }
        return id
    }

    func post(_ notice: Notice) -> String {
        let id = reserve()
        fill(id, notice)
        return id
    }

    func fill(_ id: String, _ notice: Notice) {
        change(id) { $0.notice = notice }
    }

    func show(_ prompt: Prompt, for id: String) {
        change(id) { $0.prompt = prompt }
    }

    func notice(_ id: String) -> Notice? { find(id)?.notice }

    func prompt(_ id: String) -> Prompt? { find(id)?.prompt }

    /// The notice of something that may end within a moment, as a login has when its browser comes back.
    func noticeSoon(_ id: String) async -> Notice? {
        for _ in 0..<20 {
            guard let entry = find(id) else { return nil }
            if let notice = entry.notice { return notice }
            guard (try? await Task.sleep(for: .milliseconds(50))) != nil else { return nil }
        }
        return nil
    }

    private func find(_ id: String) -> Entry? {
        entries.withLock { entries in entries.first { $0.id.isIdentical(to: id) } }
    }

    private func change(_ id: String, _ body: (inout Entry) -> Void) {
        entries.withLock { entries in
            guard let index = entries.firstIndex(where: { $0.id.isIdentical(to: id) }) else {
                return
            }
            body(&entries[index])
        }
    }
}
