// A private directory that goes with its owner, and the few file operations that tests need.

import Glibc

/// 0700 under TMPDIR or /tmp.
package final class TemporaryDirectory: Sendable {
    package let path: String

    package init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/credential-proxy-test.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else { throw Failure.last("mkdtemp") }
        path = String(cString: made)
    }

    deinit { Files.removeTree(path) }

    /// The path of an entry.
    package func path(_ name: String) -> String { "\(path)/\(name)" }

    @discardableResult
    package func write(_ octets: Octets, to name: String, mode: UInt32 = 0o600) throws -> String {
        try Files.write(octets, to: path(name), mode: mode)
        return path(name)
    }

    @discardableResult
    package func makeDirectory(_ name: String, mode: UInt32 = 0o700) throws -> String {
        guard mkdir(path(name), mode) == 0 else { throw Failure.last("mkdir") }
        return path(name)
    }

    /// An executable shell script.
    @discardableResult
    package func writeScript(_ text: String, to name: String) throws -> String {
        try write(Octets("#!/bin/sh\n\(text)\n".utf8), to: name, mode: 0o700)
    }
}

/// Whole files at once.
package enum Files {
    /// Replaces the content in place; the mode is set whatever the umask.
    package static func write(_ octets: Octets, to path: String, mode: UInt32 = 0o600) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode)
        guard descriptor >= 0 else { throw Failure.last("open \(path)") }
        defer { close(descriptor) }
        fchmod(descriptor, mode)
        var rest = octets.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Failure.last("write \(path)") }
            rest = rest.dropFirst(count)
        }
    }

    /// Nil when there is no such file.
    package static func read(_ path: String) throws -> Octets? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ESRCH { return nil }
            throw Failure.last("open \(path)")
        }
        defer { close(descriptor) }
        var content: [UInt8] = []
        var block = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = Glibc.read(descriptor, &block, block.count)
            if count < 0 && errno == ESRCH { return nil }
            guard count >= 0 else { throw Failure.last("read \(path)") }
            if count == 0 { return Octets(content) }
            content += block[..<count]
        }
    }

    package static func exists(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0
    }

    /// The permission bits.
    package static func mode(_ path: String) throws -> UInt32 {
        var facts = stat()
        guard lstat(path, &facts) == 0 else { throw Failure.last("lstat \(path)") }
        return facts.st_mode & 0o7777
    }

    /// Names without "." and "..", sorted; empty when there is no such directory.
    package static func list(_ path: String) -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafePointer(to: entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// Everything below a directory, as full paths of files that are not directories.
    package static func walk(_ path: String) -> [String] {
        list(path).flatMap { name -> [String] in
            let child = "\(path)/\(name)"
            return isDirectory(child) ? walk(child) : [child]
        }
    }

    package static func isDirectory(_ path: String) -> Bool {
        var facts = stat()
        return lstat(path, &facts) == 0 && facts.st_mode & S_IFMT == S_IFDIR
    }

    static func removeTree(_ path: String) {
        if isDirectory(path) {
            chmod(path, 0o700)
            for name in list(path) { removeTree("\(path)/\(name)") }
            rmdir(path)
        } else {
            unlink(path)
        }
    }
}
