// Sockets that a service manager has opened for us (sd_listen_fds(3)).

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// What LISTEN_PID, LISTEN_FDS and LISTEN_FDNAMES say.
struct PassedSockets {
    /// Descriptors with their names, in order.
    let sockets: [(descriptor: Int32, name: String)]

    /// The first descriptor (SD_LISTEN_FDS_START).
    private static let start: Int32 = 3

    /// Nothing unless the variables are meant for this process: a child would inherit them.
    init(_ environment: [String: String], processID: Int32 = getpid()) {
        guard let owner = environment["LISTEN_PID"].flatMap({ Int32($0) }), owner == processID,
            let count = environment["LISTEN_FDS"].flatMap({ Int32($0) }), (1...1024).contains(count)
        else {
            sockets = []
            return
        }
        let names = (environment["LISTEN_FDNAMES"] ?? "")
            .split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        sockets = (0..<count).map { index in
            let name = names.indices.contains(Int(index)) ? names[Int(index)] : ""
            return (Self.start + index, name.isEmpty ? "unknown" : name)
        }
    }
}
