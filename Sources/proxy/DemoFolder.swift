// The demo's directory: made for one tour, private, and removed with all that is in it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A directory of our own.
struct DemoFolder: Sendable {
    let path: String

    /// 0700 below TMPDIR or /tmp (mkdtemp(3)).
    init(in world: World) throws(CommandFailure) {
        let named = world.environment["TMPDIR"].flatMap { $0.hasPrefix("/") ? $0 : nil }
        let parent = named ?? "/tmp"
        var template = Array("\(parent)/credential-proxy-demo.XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw CommandFailure(
                .failure, "cannot make a directory in \"\(parent)\": \(systemMessage(errno))",
                hint: "set TMPDIR to a directory that can be written")
        }
        path = String(cString: made)
    }

    /// Makes a file that only we can read, and gives its path.
    func write(_ text: String, to name: String) throws(CommandFailure) -> String {
        let file = "\(path)/\(name)"
        let descriptor = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw CommandFailure(.failure, "cannot write \"\(file)\": \(systemMessage(errno))")
        }
        defer { close(descriptor) }
        let output = TextOutput(descriptor: descriptor, isTerminal: false)
        output.write(text)
        if let code = output.failure {
            throw CommandFailure(.failure, "cannot write \"\(file)\": \(systemMessage(code))")
        }
        return file
    }

    /// Follows no link: what a link in it leads to stays.
    func remove() { Self.remove(path) }

    private static func remove(_ path: String) {
        guard unlink(path) != 0, let folder = opendir(path) else { return }
        var names: [String] = []
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
        closedir(folder)
        for name in names { remove("\(path)/\(name)") }
        rmdir(path)
    }
}
