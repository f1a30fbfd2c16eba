// Notices that the configuration's file has become another: written in place, replaced by a rename, or
// reached through a link that leads elsewhere now, as Kubernetes swaps them. It reads nothing.

import TokenStore

/// Looks at one path now and then. stat(2) sees every kind of change on every kind of file system, which
/// watches of the kernel's do not, and what is half written is told from what is done by looking twice.
struct ConfigurationWatch: Sendable {
    private let path: String
    /// As it was when it was read.
    private let first: FileStamp?
    private static let pause = Duration.milliseconds(400)

    /// To be made as soon as the file was read: what changes from then on is noticed.
    init(_ path: String) {
        self.path = path
        first = FileStamp(following: path)
    }

    /// One element for each change, once the file has looked the same for a while. A file that is gone is
    /// a change when it comes back.
    func changes() -> AsyncStream<Void> {
        AsyncStream { continuation in
            let task = Task {
                var seen = first
                var candidate = seen
                while (try? await Task.sleep(for: Self.pause)) != nil {
                    let now = FileStamp(following: path)
                    let isSettled = now == candidate
                    candidate = now
                    guard isSettled, let now, now != seen else { continue }
                    seen = now
                    continuation.yield()
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}
