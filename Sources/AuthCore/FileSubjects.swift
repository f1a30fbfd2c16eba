// Whom the token or key in a file or a variable stands for, without reading the file again until it
// has changed. Of a program's output nothing is known until it is run, which is not done for this.

import Bytes
import Synchronization
import TokenStore
import Vocabulary

/// Remembers one subject for each file.
final class FileSubjects: Sendable {
    private struct Seen {
        let stamp: FileStamp
        let subject: SecretBytes
    }

    private let seen = Mutex<[String: Seen]>([:])

    /// - Parameter subject: from the contents, where they could be read.
    func subject(
        of source: SecretSource, in surroundings: Surroundings,
        _ subject: @Sendable (SecretBytes) -> SecretBytes
    ) async -> SecretBytes? {
        guard case .file(let path) = source else {
            if case .command = source { return nil }
            return try? await subject(source.readRaw(in: surroundings))
        }
        guard let stamp = await SecretFile.stamp(path) else { return nil }
        if let known = seen.withLock({ $0[path] }), known.stamp == stamp { return known.subject }
        guard let contents = try? await source.readRaw(in: surroundings) else { return nil }
        let fresh = Seen(stamp: stamp, subject: subject(contents))
        seen.withLock { $0[path] = fresh }
        return fresh.subject
    }
}
