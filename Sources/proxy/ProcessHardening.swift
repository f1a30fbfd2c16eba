// What every run does before its first line of work: no death by a closed pipe or a full file, no
// secret in a core file, no socket on a standard descriptor, as many connections as the system allows.

import CProcess
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum ProcessHardening {
    /// `allowsDumps` is for whoever debugs the proxy itself: a process that may start it could
    /// read its memory anyway.
    static func apply(allowsDumps: Bool) {
        // OpenSSL and libcurl write to sockets whose reader may have gone; SIGPIPE would end us.
        signal(SIGPIPE, SIG_IGN)
        // A limit on the size of files is a failed write, to be tried again, and not our death.
        signal(SIGXFSZ, SIG_IGN)
        occupyStandardDescriptors()
        allowDescriptors()
        guard !allowsDumps else { return }
        _ = cprocess_forbid_dumps()
        forbidCoreFiles()
    }

    /// Runs the body with the core files' limit that we were started with: a program that inherits our
    /// limits may have core files.
    static func withCoreFiles<Result>(_ body: () -> Result) -> Result {
        let original = coreLimit.load(ordering: .relaxed)
        guard original > 0 else { return body() }
        setCoreLimit(original)
        defer { setCoreLimit(0) }
        return body()
    }

    /// Opens /dev/null on every standard descriptor that is closed: the next socket would get its
    /// number, and the next message would go to a client or an upstream.
    private static func occupyStandardDescriptors() {
        while true {
            let descriptor = open("/dev/null", O_RDWR)
            guard descriptor >= 0 else { return }
            guard descriptor <= 2 else {
                close(descriptor)
                return
            }
        }
    }

    /// Shells and service managers start programs with 1,024 descriptors, for the sake of select(2), which
    /// nothing here uses; each connection takes one.
    private static func allowDescriptors() {
        #if canImport(Glibc)
            let files = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #else
            let files = RLIMIT_NOFILE
        #endif
        var limit = rlimit()
        guard getrlimit(files, &limit) == 0 else { return }
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 18))
        setrlimit(files, &limit)
    }

    /// For kernels that write cores of processes that are not dumpable (fs.suid_dumpable, core(5)).
    private static func forbidCoreFiles() {
        var limit = rlimit()
        guard getrlimit(coreResource, &limit) == 0 else { return }
        coreLimit.store(UInt64(limit.rlim_cur), ordering: .relaxed)
        setCoreLimit(0)
    }

    private static func setCoreLimit(_ bytes: UInt64) {
        var limit = rlimit()
        guard getrlimit(coreResource, &limit) == 0 else { return }
        limit.rlim_cur = rlim_t(bytes)
        setrlimit(coreResource, &limit)
    }

    #if canImport(Glibc)
        private static let coreResource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
        private static let coreResource = RLIMIT_CORE
    #endif

    /// What the limit was at the start; 0 where it was never touched.
    private static let coreLimit = Atomic<UInt64>(0)
}
