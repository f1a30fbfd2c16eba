// The system calls in which a save can fail half-way. They are values, so that a test can make one
// of them fail as a full disk or a lockless file system would; there is no other reason for them.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Each reports failure as the call itself does: -1 and `errno`.
package struct FileCalls: Sendable {
    /// A file that was not there before, for us alone; its descriptor.
    package var create: @Sendable (_ directory: Int32, _ name: String) -> Int32
    package var write:
        @Sendable (_ descriptor: Int32, UnsafeRawPointer, _ count: Int, _ offset: Int) -> Int
    package var synchronize: @Sendable (_ descriptor: Int32) -> Int32
    package var rename: @Sendable (_ directory: Int32, _ from: String, _ to: String) -> Int32
    /// Exclusive and without waiting.
    package var lock: @Sendable (_ descriptor: Int32) -> Int32

    package static let system = FileCalls(
        create: { directory, name in
            openat(
                directory, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                mode_t(0o600))
        },
        write: { pwrite($0, $1, $2, off_t($3)) },
        synchronize: { descriptor in
            #if canImport(Darwin)
                // fsync(2) of Darwin stops at the drive's cache.
                if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
            #endif
            return fsync(descriptor)
        },
        rename: { renameat($0, $1, $0, $2) },
        lock: { flock($0, LOCK_EX | LOCK_NB) })
}
