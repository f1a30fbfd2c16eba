// The state directory, held open by descriptor: every file in it is named relative to that, never
// followed through a link, and judged by what was opened, not by what a path said a moment ago.
// It knows nothing of what the files mean.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// One open directory with mode 0700 that belongs to us.
final class StateDirectory: Sendable {
    let path: String
    let descriptor: Int32
    let calls: FileCalls

    /// Nil when there is no directory. A link in the path to the directory is the user's own choice
    /// and is followed; the directory that it leads to must be ours and closed to others.
    static func open(
        _ path: String, creating: Bool, calls: FileCalls
    ) throws(StoreError) -> StateDirectory? {
        if creating { try create(path) }
        let descriptor = retrying { openDirectory(path) }
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ENOTDIR: throw .refused(path: path, .notADirectory)
            case let code: throw .failed(path: path, operation: "opening", code: code)
            }
        }
        let directory = StateDirectory(path: path, descriptor: descriptor, calls: calls)
        let status = try directory.status(ofOpen: descriptor, name: nil)
        try Self.judge(status, path: path)
        return directory
    }

    private init(path: String, descriptor: Int32, calls: FileCalls) {
        self.path = path
        self.descriptor = descriptor
        self.calls = calls
    }

    deinit { close(descriptor) }

    func path(of name: String) -> String { path + "/" + name }

    // MARK: Reading

    /// A file's bytes, or nil when there is none.
    func read(_ name: String, bytesMax: Int) throws(StoreError) -> SecretBytes? {
        let file = path(of: name)
        // O_NONBLOCK: a pipe in the file's place must not hang us.
        let descriptor = retrying {
            openat(self.descriptor, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        }
        guard descriptor >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw .refused(path: file, .symbolicLink)
            case ENXIO: throw .damaged(path: file, .notAFile)
            case let code: throw .failed(path: file, operation: "opening", code: code)
            }
        }
        defer { close(descriptor) }
        let status = try status(ofOpen: descriptor, name: name)
        guard status.st_mode & S_IFMT == S_IFREG else { throw .damaged(path: file, .notAFile) }
        try Self.judge(status, path: file)
        guard status.st_size <= bytesMax else {
            throw .damaged(path: file, .tooLarge(bytesMax: bytesMax))
        }
        return try readWhole(descriptor, path: file, count: Int(status.st_size))
    }

    /// Files are replaced, never changed, so the size that was found is the size to read.
    private func readWhole(
        _ descriptor: Int32, path: String, count: Int
    ) throws(StoreError) -> SecretBytes {
        var code: Int32 = 0
        var filled = 0
        let bytes = SecretBytes(count: count) { target in
            guard let base = target.baseAddress else { return }
            while filled < count {
                let taken = retrying { systemRead(descriptor, base + filled, count - filled) }
                if taken < 0 { code = errno }
                guard taken > 0 else { break }
                filled += taken
            }
            wipe(UnsafeMutableRawBufferPointer(rebasing: target[filled...]))
        }
        guard code == 0 else { throw .failed(path: path, operation: "reading", code: code) }
        return filled == count
            ? bytes : bytes.withBytes { SecretBytes(copying: .init(rebasing: $0[..<filled])) }
    }

    /// The names in the directory that satisfy a condition, in no order.
    func names(_ condition: (String) -> Bool) throws(StoreError) -> [String] {
        // The stream owns the descriptor it is given, and the position with it.
        let copy = openat(descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else {
            let code = errno
            if copy >= 0 { close(copy) }
            throw .failed(path: path, operation: "listing", code: code)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if condition(name) { names.append(name) }
        }
        return names
    }

    /// Whether it is still the one that its path leads to.
    var isInPlace: Bool {
        guard let open = FileStamp(descriptor: descriptor), let there = FileStamp(following: path)
        else { return false }
        return open.isSameFile(as: there)
    }

    /// What stands under a name, itself and not what it links to; nil when nothing does.
    func stamp(_ name: String) -> FileStamp? { FileStamp(descriptor, name) }

    // MARK: Judging

    private func status(ofOpen descriptor: Int32, name: String?) throws(StoreError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw .failed(path: name.map(path(of:)) ?? path, operation: "fstat", code: errno)
        }
        return status
    }

    static func judge(_ status: stat, path: String) throws(StoreError) {
        let ours = geteuid()
        guard status.st_uid == ours else {
            throw .refused(path: path, .foreignOwner(uid: status.st_uid, ours: ours))
        }
        guard status.st_mode & 0o077 == 0 else {
            throw .refused(path: path, .looseMode(UInt32(status.st_mode & 0o7777)))
        }
    }

    /// Makes the directory, and what is missing of the way to it, with mode 0700 (XDG Base Directory
    /// Specification 0.8).
    private static func create(_ path: String) throws(StoreError) {
        if make(path) { return }
        if errno == ENOENT, let parent = parent(of: path) {
            try create(parent)
            if make(path) { return }
        }
        switch errno {
        case ENOTDIR: throw .refused(path: path, .notADirectory)
        case EROFS, EACCES, EPERM: throw .readOnly(path: path, code: errno)
        case let code: throw .failed(path: path, operation: "mkdir", code: code)
        }
    }

    /// Whether there is something under the path now.
    private static func make(_ path: String) -> Bool {
        guard mkdir(path, 0o700) == 0 else { return errno == EEXIST }
        // The umask may have taken bits of the owner's own.
        chmod(path, 0o700)
        return true
    }

    private static func parent(of path: String) -> String? {
        let end = path.lastIndex { $0 != "/" } ?? path.startIndex
        guard let slash = path[..<end].lastIndex(of: "/"), slash > path.startIndex else {
            return nil
        }
        return String(path[..<slash])
    }
}

/// Repeats a call that a signal interrupted.
func retrying<Value: SignedInteger>(_ call: () -> Value) -> Value {
    while true {
        let value = call()
        if value != -1 || errno != EINTR { return value }
    }
}

private func openDirectory(_ path: String) -> Int32 {
    open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
}

private func systemRead(_ descriptor: Int32, _ base: UnsafeMutableRawPointer, _ count: Int) -> Int {
    read(descriptor, base, count)
}
