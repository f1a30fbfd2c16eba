// What a running proxy leaves beside the logins while it goes on with an earlier configuration than the file's,
// so that `proxy status` can say so. It holds no secret, and losing it costs that word.

import TokenStore
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The note of one process about one file.
struct RefusalNote: Sendable {
    let file: String
    /// Of the file that was refused; what was written since has not been read yet.
    let stamp: String
    let reasons: [String]

    private static let prefix = "reload-"

    private static var ownName: String { prefix + String(getpid()) }

    /// A place that cannot be written has no such note.
    ///
    /// - Parameter stamp: of the file before it was read.
    static func write(
        _ reasons: [String], of file: String?, stamp: String, to store: FileLoginStore
    ) async {
        guard let file else { return }
        let note = RefusalNote(file: canonical(file), stamp: stamp, reasons: reasons)
        try? await store.saveNote(ownName, note.document)
    }

    /// Removes this process's note and those of processes that have ended. A new process may have the number
    /// of one that was killed, in a container most of all.
    static func remove(from store: FileLoginStore) async {
        for name in await store.notes(beginning: prefix) where name == ownName || !isAlive(name) {
            try? await store.removeNote(name)
        }
    }

    /// Why processes that run now go on with something else than the file.
    static func reasons(of file: String?, in store: FileLoginStore) async -> [String] {
        guard let file = file.map(canonical) else { return [] }
        let stamp = stamp(of: file)
        var found: [String] = []
        for name in await store.notes(beginning: prefix) where isAlive(name) {
            guard let note = await store.note(name).flatMap({ RefusalNote($0) }),
                note.file == file, note.stamp == stamp
            else { continue }
            found += note.reasons.filter { !found.contains($0) }
        }
        return found
    }

    /// Empty where there is no file.
    static func stamp(of file: String?) -> String {
        file.flatMap { FileStamp(following: $0) }?.text ?? ""
    }

    /// By the number in the note's name: kill(2) without a signal asks for the process.
    private static func isAlive(_ name: String) -> Bool {
        guard let process = pid_t(name.dropFirst(prefix.count)), process > 0 else { return false }
        return kill(process, 0) == 0 || errno == EPERM
    }

    /// One name for a file, however it was named (realpath(3)).
    private static func canonical(_ file: String) -> String {
        guard let path = realpath(file, nil) else { return file }
        defer { free(path) }
        return String(cString: path)
    }
}

extension RefusalNote {
    private var document: JSONValue {
        [
            "file": .string(file), "stamp": .string(stamp),
            "reasons": .array(reasons.map { .string($0) }),
        ]
    }

    private init?(_ document: JSONValue) {
        guard let object = document.asObject, let file = object["file"]?.asString,
            let stamp = object["stamp"]?.asString, let reasons = object["reasons"]?.asArray
        else { return nil }
        self.init(file: file, stamp: stamp, reasons: reasons.compactMap { $0.asString })
    }
}
