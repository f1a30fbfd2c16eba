// How a replaced file is noticed: by what stat(2) says of it, once per look, without opening it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Tells two contents of one name apart without reading them.
package struct FileStamp: Hashable, Sendable {
    private let device: UInt64
    private let inode: UInt64
    private let size: Int64
    private let changed: [Int64]

    init?(_ directory: Int32, _ name: String) {
        var status = stat()
        guard fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.init(status)
    }

    /// The same for a path.
    init?(path: String) { self.init(AT_FDCWD, path) }

    /// What a path leads to, through any links; nil when nothing is there.
    package init?(following path: String) {
        var status = stat()
        guard fstatat(AT_FDCWD, path, &status, 0) == 0 else { return nil }
        self.init(status)
    }

    /// The same for what is open.
    init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// The same as one word, for a note.
    package var text: String {
        ([String(device), String(inode), String(size)] + changed.map { String($0) })
            .joined(separator: ".")
    }

    func isSameFile(as other: FileStamp) -> Bool {
        device == other.device && inode == other.inode
    }

    private init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        #if canImport(Darwin)
            let (modified, changed) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (modified, changed) = (status.st_mtim, status.st_ctim)
        #endif
        self.changed = [modified, changed].flatMap { [Int64($0.tv_sec), Int64($0.tv_nsec)] }
    }
}
