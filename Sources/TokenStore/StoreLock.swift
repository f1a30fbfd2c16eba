// The lock between processes: flock(2) on a file beside the record that is never removed and never
// renamed. The kernel frees it when its holder dies, so there is no such thing as a stale lock.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A held lock; letting go of the value frees it.
final class StoreLock: Sendable {
    /// Nil where this file system has no locks, or nothing can be written and no lock file exists:
    /// then nothing keeps other processes out.
    private let descriptor: Int32?
    /// Why there is no lock, where there is none.
    let absence: StoreError?

    deinit {
        guard let descriptor else { return }
        // A child between its fork and its exec still has the descriptor; closing ours alone would
        // leave the lock to it for that long.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private init(descriptor: Int32?, absence: StoreError?) {
        self.descriptor = descriptor
        self.absence = absence
    }

    enum Attempt {
        case held(StoreLock)
        case heldByAnother
    }

    /// Tries once and never waits. Each attempt opens the file anew, so that two holders exclude each
    /// other within a process too.
    static func attempt(
        _ name: String, in directory: StateDirectory
    ) throws(StoreError) -> Attempt {
        let path = directory.path(of: name)
        let descriptor = open(name, in: directory)
        guard descriptor >= 0 else {
            switch errno {
            case ELOOP: throw .refused(path: path, .symbolicLink)
            case EROFS, EACCES, EPERM, ENOENT:
                return .held(
                    StoreLock(
                        descriptor: nil, absence: .readOnly(path: directory.path, code: errno)))
            case let code: throw .failed(path: path, operation: "opening", code: code)
            }
        }
        var isKept = false
        defer { if !isKept { close(descriptor) } }
        guard retrying({ directory.calls.lock(descriptor) }) == 0 else {
            switch errno {
            case EWOULDBLOCK: return .heldByAnother
            case ENOLCK, ENOSYS, EOPNOTSUPP, EINVAL:
                return .held(
                    StoreLock(
                        descriptor: nil,
                        absence: .failed(path: path, operation: "locking", code: errno)))
            case let code: throw .failed(path: path, operation: "locking", code: code)
            }
        }
        // Whoever clears the directory by hand may have removed the file that we locked; what others
        // will find under the name is what counts.
        guard let locked = FileStamp(descriptor: descriptor), let there = directory.stamp(name),
            there.isSameFile(as: locked)
        else { return .heldByAnother }
        isKept = true
        return .held(StoreLock(descriptor: descriptor, absence: nil))
    }

    private static func open(_ name: String, in directory: StateDirectory) -> Int32 {
        let parent = directory.descriptor
        let flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK
        let descriptor = retrying { openat(parent, name, O_RDWR | O_CREAT | flags, mode_t(0o600)) }
        // The mode at creation lost what the umask takes away.
        if descriptor >= 0 { fchmod(descriptor, 0o600) }
        guard descriptor < 0, [EROFS, EACCES, EPERM].contains(errno) else { return descriptor }
        // A lock needs no right to write.
        return retrying { openat(parent, name, O_RDONLY | flags) }
    }
}
