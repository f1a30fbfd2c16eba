// How a file is replaced: written under a name of its own, made durable, renamed. Whatever dies in
// between, the old file or the new one is there whole.

import Bytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A file that nobody else writes, waiting to take another's place.
final class TemporaryFile: Sendable {
    let descriptor: Int32
    let name: String

    init(descriptor: Int32, name: String) {
        self.descriptor = descriptor
        self.name = name
    }

    deinit { close(descriptor) }

    /// Unique per writer: two must never share one, not even across process namespaces.
    static func name(for name: String) -> String {
        let random = UInt64.random(in: .min ... .max)
        return prefix(for: name) + "\(getpid())-\(String(random, radix: 16)).tmp"
    }

    static func prefix(for name: String) -> String { ".\(name)." }

    static func isTemporary(_ candidate: String, of name: String) -> Bool {
        candidate.hasPrefix(prefix(for: name)) && candidate.hasSuffix(".tmp")
    }
}

extension StateDirectory {
    /// Opens a temporary file of its own for one later `commit`, filled with `count` line feeds: they
    /// hold the room, and behind a record they are white space, so that what a killed writer leaves
    /// is either a beginning or whole.
    func temporary(for name: String, reserving count: Int) throws(StoreError) -> TemporaryFile {
        let temporary = TemporaryFile.name(for: name)
        let descriptor = retrying { calls.create(self.descriptor, temporary) }
        guard descriptor >= 0 else { throw unwritable(path(of: temporary), "creating") }
        let file = TemporaryFile(descriptor: descriptor, name: temporary)
        do throws(StoreError) {
            // The mode at creation lost what the umask takes away, the owner's own bits even.
            guard fchmod(descriptor, 0o600) == 0 else {
                throw unwritable(path(of: temporary), "chmod")
            }
            try write(SecretBytes([UInt8](repeating: ASCII.lineFeed, count: count)), to: file)
        } catch {
            discard(file)
            throw error
        }
        return file
    }

    /// Writes the bytes, makes them durable and puts them in the place of `name`: after a kill at any
    /// point, or a failure, `name` is the whole old file or the whole new one.
    func commit(
        _ file: TemporaryFile, _ bytes: SecretBytes, as name: String
    ) throws(StoreError) {
        let temporary = path(of: file.name)
        do throws(StoreError) {
            try write(bytes, to: file)
            // Cuts what the reservation left over.
            guard retrying({ ftruncate(file.descriptor, off_t(bytes.count)) }) == 0 else {
                throw unwritable(temporary, "cutting")
            }
            guard retrying({ calls.synchronize(file.descriptor) }) == 0 else {
                throw unwritable(temporary, "fsync")
            }
            try rename(file.name, to: name)
        } catch {
            discard(file)
            throw error
        }
        try synchronize()
    }

    private func write(_ bytes: SecretBytes, to file: TemporaryFile) throws(StoreError) {
        try bytes.withBytes { bytes throws(StoreError) in
            var offset = 0
            while let base = bytes.baseAddress, offset < bytes.count {
                let written = retrying {
                    calls.write(file.descriptor, base + offset, bytes.count - offset, offset)
                }
                guard written > 0 else { throw unwritable(path(of: file.name), "writing") }
                offset += written
            }
        }
    }

    func rename(_ old: String, to new: String) throws(StoreError) {
        guard calls.rename(descriptor, old, new) == 0 else {
            throw unwritable(path(of: new), "renaming")
        }
    }

    /// Removes a file; one that is not there is no error.
    func remove(_ name: String) throws(StoreError) {
        guard unlinkat(descriptor, name, 0) != 0, errno != ENOENT else { return }
        throw unwritable(path(of: name), "removing")
    }

    /// Makes renames and removals durable. Some file systems have no such notion for directories.
    func synchronize() throws(StoreError) {
        guard retrying({ calls.synchronize(descriptor) }) != 0 else { return }
        guard errno != EINVAL, errno != EROFS, errno != EBADF else { return }
        throw unwritable(path, "fsync")
    }

    func discard(_ file: TemporaryFile) {
        unlinkat(descriptor, file.name, 0)
    }

    /// To be called right after the failed call.
    private func unwritable(_ path: String, _ operation: String) -> StoreError {
        switch errno {
        case EROFS, EACCES, EPERM: .readOnly(path: self.path, code: errno)
        case let code: .failed(path: path, operation: operation, code: code)
        }
    }
}
