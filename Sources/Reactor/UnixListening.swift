// Listening sockets that are no TCP port of ours: files of the Unix domain, and sockets that a service
// manager has opened already. Of the file system it touches one path, and it removes nothing there but a
// socket that nobody listens on.

import CUV
import Glibc

extension ListenSocket {
    /// Binds a Unix socket (unix(7)) that exists with this mode from its first moment. A socket at the
    /// path is removed when nobody listens on it, as after a crash; anything else there is left alone and
    /// the call fails.
    ///
    /// - Parameters:
    ///   - path: absolute, at most 107 bytes.
    ///   - owner: changed before anybody can connect; nil leaves the process's own.
    /// - Throws: `socketPathTaken` where the path is no socket, `addressInUse` where somebody listens.
    package static func bind(
        path: String, mode: UInt32, owner: UInt32? = nil, group: UInt32? = nil
    ) throws(ReactorError) -> ListenSocket {
        guard var address = unixAddress(path) else { throw ReactorError(code: -ENAMETOOLONG) }
        try removeStale(path, address)
        let descriptor = try newUnixSocket()
        do throws(ReactorError) {
            // The process's mask is the only way to a mode without a moment of another one. Nothing
            // else makes files while listeners are bound.
            let old = umask(mode_t(~mode & 0o777))
            let result = withUnixAddress(&address) { Glibc.bind(descriptor, $0, $1) }
            let failure = errno
            umask(old)
            guard result == 0 else { throw ReactorError(code: -failure) }
            // Nobody can connect before `listen`.
            if owner != nil || group != nil {
                guard lchown(path, owner ?? .max, group ?? .max) == 0 else {
                    let failure = errno
                    unlink(path)
                    throw ReactorError(code: -failure)
                }
            }
            guard listen(descriptor, backlog) == 0 else { throw ReactorError(code: -errno) }
        } catch {
            Glibc.close(descriptor)
            throw error
        }
        return ListenSocket(
            descriptor: descriptor, port: 0, address: path, isUnix: true, file: FileIdentity(path))
    }

    /// Takes over a socket that was passed to the process (sd_listen_fds(3)), if it is a stream that
    /// listens.
    package static func adopt(descriptor: Int32) throws(ReactorError) -> ListenSocket {
        var (accepts, type): (Int32, Int32) = (0, 0)
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &accepts, &size) == 0,
            getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
        else { throw ReactorError(code: -errno) }
        guard accepts == 1, type == Int32(SOCK_STREAM.rawValue) else {
            throw ReactorError(code: UV_EINVAL.rawValue)
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
        var storage = sockaddr_storage()
        size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let named = withUnsafeMutablePointer(to: &storage) {
            getsockname(
                descriptor, UnsafeMutableRawPointer($0).assumingMemoryBound(to: sockaddr.self),
                &size)
        }
        guard named == 0 else { throw ReactorError(code: -errno) }
        switch Int32(storage.ss_family) {
        case AF_UNIX:
            let path = withUnsafeBytes(of: &storage) { bytes in
                String(decoding: bytes[2..<Int(max(size, 2))].prefix { $0 != 0 }, as: UTF8.self)
            }
            return ListenSocket(
                descriptor: descriptor, port: 0, address: path, isUnix: true, file: nil,
                isInherited: true)
        case AF_INET, AF_INET6:
            let address = PeerFacts.literal(&storage) ?? ""
            let port = withUnsafeBytes(of: &storage) { UInt16($0[2]) << 8 | UInt16($0[3]) }
            return ListenSocket(
                descriptor: descriptor, port: port, address: address, isUnix: false, file: nil,
                isInherited: true)
        default: throw ReactorError(code: UV_EAFNOSUPPORT.rawValue)
        }
    }

    private static func newUnixSocket() throws(ReactorError) -> Int32 {
        let type =
            Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, type, 0)
        guard descriptor >= 0 else { throw ReactorError(code: -errno) }
        return descriptor
    }

    private static func removeStale(_ path: String, _ address: sockaddr_un) throws(ReactorError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            if errno == ENOENT { return }
            throw ReactorError(code: -errno)
        }
        guard status.st_mode & S_IFMT == S_IFSOCK else { throw .socketPathTaken }
        let descriptor = try newUnixSocket()
        defer { Glibc.close(descriptor) }
        var address = address
        let result = withUnixAddress(&address) { connect(descriptor, $0, $1) }
        // A full queue is somebody's as well.
        if result == 0 || errno == EAGAIN { throw .addressInUse }
        guard errno == ECONNREFUSED else { throw ReactorError(code: -errno) }
        guard unlink(path) == 0 || errno == ENOENT else { throw ReactorError(code: -errno) }
    }
}

/// Which file a path named when we made it.
package struct FileIdentity: Sendable, Equatable {
    private let device: UInt64
    private let inode: UInt64

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
    }
}

private func unixAddress(_ path: String) -> sockaddr_un? {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let bytes = Array(path.utf8)
    return withUnsafeMutableBytes(of: &address.sun_path) { target in
        // One byte stays for the NUL at the end; a NUL inside would name another file.
        guard bytes.count < target.count, !bytes.isEmpty, !bytes.contains(0) else { return false }
        target.copyBytes(from: bytes)
        return true
    } ? address : nil
}

private func withUnixAddress(
    _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
) -> Int32 {
    withUnsafePointer(to: &address) {
        body(
            UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self),
            socklen_t(MemoryLayout<sockaddr_un>.size))
    }
}

extension ReactorError {
    /// Something that is no socket lies where one should be.
    package static let socketPathTaken = ReactorError(code: UV_ENOTSOCK.rawValue)
}
