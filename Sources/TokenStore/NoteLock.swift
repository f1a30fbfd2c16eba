// A lock beside a note, for documents that must be made once by whichever process comes first; and
// names for notes about things whose own names no file could have.

import Bytes
import Crypto
import Synchronization
import Vocabulary

/// Held until `release` or the end of the value; freed by the kernel when the process dies.
package final class NoteLock: Sendable {
    private let lock: Mutex<StoreLock?>

    init(_ lock: StoreLock) { self.lock = Mutex(lock) }

    package func release() { lock.withLock { $0 = nil } }
}

extension FileLoginStore {
    /// Waits for the lock of one note. Where nothing can be written there is nothing to keep others
    /// from, and the lock is had at once.
    package func lockNote(
        _ name: String, timeoutMilliseconds: UInt64 = lockTimeoutMilliseconds
    ) async throws(StoreError) -> NoteLock {
        let file = name + ".lock"
        let deadline = time.bootTime().advanced(byMilliseconds: timeoutMilliseconds)
        var pause: UInt64 = 1
        while true {
            let lock = try await disk.perform { () throws(StoreError) -> NoteLock? in
                guard let directory = try open(creating: true) else { return nil }
                switch try StoreLock.attempt(file, in: directory) {
                case .held(let lock): return NoteLock(lock)
                case .heldByAnother: return nil
                }
            }
            if let lock { return lock }
            guard time.bootTime() < deadline else { throw .busy(path: directory + "/" + file) }
            do {
                try await time.sleep(milliseconds: pause)
            } catch {
                throw .cancelled
            }
            pause = min(pause * 2, 50)
        }
    }

    /// A name for a note about something, such as an issuer: fit for a file, and the same in every
    /// process. Two things share one only where SHA-256 fails; the note should still say whose it is.
    package static func noteName(_ kind: String, of thing: String) -> String {
        let digest = Digest.sha256(Array(thing.utf8)).prefix(16)
        return digest.reduce(kind + "-") { name, byte in
            name + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }
    }
}
