// Reads the one file, whole, with a limit.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum ConfigurationFile {
    /// An errno value (errno(3)).
    struct Failure: Error {
        let code: Int32

        /// There is no such file, rather than one that may not be read.
        var isMissing: Bool { code == ENOENT || code == ENOTDIR }
        var reason: String { String(cString: strerror(code)) }
    }

    /// Up to one byte more than the limit, so that the reader can tell. A pipe is read to its end.
    static func contents(of path: String) -> Result<[UInt8], Failure> {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return .failure(Failure(code: errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 65_536)
        while bytes.count <= YAMLLimits.bytesMax {
            let count = read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count >= 0 else { return .failure(Failure(code: errno)) }
            if count == 0 { break }
            bytes += block[..<count]
        }
        return .success(bytes)
    }
}
