// What tells one state of a file from the next without reading it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

struct FileStamp: Equatable {
    private let inode: UInt64
    private let size: Int64
    private let seconds: Int
    private let nanoseconds: Int

    /// Throws where the file cannot be read.
    init(of path: String) throws(TLSError) {
        var status = stat()
        guard stat(path, &status) == 0, access(path, R_OK) == 0 else {
            throw .fileUnreadable(path: path)
        }
        #if canImport(Darwin)
            let changed = status.st_mtimespec
        #else
            let changed = status.st_mtim
        #endif
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        seconds = changed.tv_sec
        nanoseconds = changed.tv_nsec
    }
}
