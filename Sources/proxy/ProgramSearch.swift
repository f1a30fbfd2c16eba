// Whether a program of that name could be started.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

extension World {
    /// Looks along PATH, as execvp(3) does; a name with a slash is a path itself.
    func isProgram(_ name: String) -> Bool {
        if name.contains("/") { return access(name, X_OK) == 0 }
        return environment["PATH", default: ""].split(separator: ":").contains { folder in
            access("\(folder)/\(name)", X_OK) == 0
        }
    }
}
