// Why the store did not do what it was asked. Every case names the file, and says by itself whether
// the login may still be there: only a person, never an error, makes a record go away.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What can go wrong between a login and the disk.
package enum StoreError: Error, Hashable, Sendable {
    /// What makes a file or directory one that we neither read nor write.
    package enum Problem: Hashable, Sendable {
        case symbolicLink
        case foreignOwner(uid: UInt32, ours: UInt32)
        /// Permission bits beyond the owner's.
        case looseMode(UInt32)
        case notADirectory
    }

    /// Why a record cannot be understood.
    package enum Damage: Hashable, Sendable {
        case notAFile
        case empty
        case tooLarge(bytesMax: Int)
        case notJSON(atByte: Int?)
        case member(String)
        /// Sealed with our key, and not what was sealed: changed since, or another credential's.
        case unauthentic
    }

    /// Why a record that is whole stays closed.
    package enum Lock: Hashable, Sendable {
        case noKey
        case otherKey
        case keyUnavailable(reason: String)
    }

    /// Others could have planted it or can read it.
    case refused(path: String, Problem)
    /// A later release wrote it; it is neither read nor replaced.
    case newerVersion(path: String, version: Int64)
    /// Encrypted, and not with a key that is at hand; it is neither read nor replaced.
    case locked(path: String, Lock)
    /// Counts as absent, and is kept aside before anything is written in its place.
    case damaged(path: String, Damage)
    /// Nothing can be written here; whoever has a login keeps it in memory.
    case readOnly(path: String, code: Int32)
    /// A system call failed. The record on disk is whole: the old one or the new one.
    case failed(path: String, operation: String, code: Int32)
    /// Another process held the lock for the whole of the wait.
    case busy(path: String)
    case cancelled
}

extension StoreError {
    /// One sentence without a full stop; nothing from inside a file is ever part of it.
    package var message: String {
        switch self {
        case .refused(let path, let problem): "\"\(path)\" \(problem.message)"
        case .newerVersion(let path, let version):
            "\"\(path)\" has version \(version), written by a newer release"
        case .locked(let path, let lock): "\"\(path)\" \(lock.message)"
        case .damaged(let path, let damage): "\"\(path)\" is damaged: \(damage.message)"
        case .readOnly(let path, let code): "\"\(path)\" cannot be written: \(Self.text(code))"
        case .failed(let path, let operation, let code):
            "\(operation) of \"\(path)\" failed: \(Self.text(code))"
        case .busy(let path): "another process holds \"\(path)\""
        case .cancelled: "the wait for the store was cancelled"
        }
    }

    /// A command that mends it, where there is one.
    package var hint: String? {
        switch self {
        case .refused(let path, let problem):
            switch problem {
            case .symbolicLink: "rm \(shellQuoted(path))"
            case .foreignOwner(_, let ours): "chown \(ours) \(shellQuoted(path))"
            case .looseMode: "chmod go-rwx \(shellQuoted(path))"
            case .notADirectory: "choose another state_dir"
            }
        case .newerVersion: "upgrade the proxy, or choose another state_dir"
        case .locked(_, .noKey): "configure its key: store: { encrypt: { key: { file: path } } }"
        case .locked(_, .otherKey): "configure the key that it was encrypted with"
        case .locked(_, .keyUnavailable), .damaged, .readOnly, .failed, .busy, .cancelled: nil
        }
    }

    private static func text(_ code: Int32) -> String { String(cString: strerror(code)) }
}

extension StoreError.Problem {
    fileprivate var message: String {
        switch self {
        case .symbolicLink: "is a symbolic link"
        case .foreignOwner(let uid, let ours): "belongs to uid \(uid), not to \(ours)"
        case .looseMode(let mode): "is open to others (mode \(String(mode, radix: 8)))"
        case .notADirectory: "is no directory"
        }
    }
}

extension StoreError.Damage {
    fileprivate var message: String {
        switch self {
        case .notAFile: "it is no regular file"
        case .empty: "it is empty"
        case .tooLarge(let bytesMax): "it is larger than \(bytesMax) bytes"
        case .notJSON(let offset): "no JSON" + (offset.map { " at byte \($0)" } ?? "")
        case .member(let name): "no usable \"\(name)\""
        case .unauthentic: "it is not what was encrypted there"
        }
    }
}

extension StoreError.Lock {
    fileprivate var message: String {
        switch self {
        case .noKey: "is encrypted, and no key is configured"
        case .otherKey: "is encrypted with another key than the configured one"
        case .keyUnavailable(let reason):
            "cannot be opened, since its key cannot be read: \(reason)"
        }
    }
}

/// A path as a shell takes it for one word.
package func shellQuoted(_ word: String) -> String {
    let isPlain =
        !word.isEmpty
        && word.utf8.allSatisfy { byte in
            byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26
                || [0x2D, 0x2E, 0x2F, 0x5F].contains(byte)
        }
    if isPlain { return word }
    return "'"
        + word.split(separator: "'", omittingEmptySubsequences: false)
        .joined(separator: "'\\''") + "'"
}
