// What every run does before its first line of work: no death by a closed pipe or a full file, no
// secret in a core file, no socket on a standard descriptor, as many connections as the system allows.

import AuthCore
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

    /// Runs the body with the limits that we were started with, which a program then inherits: it may have core
    /// files, and may use select(2), which a descriptor beyond 1,023 breaks. Only where no connection can be
    /// wanted meanwhile: for that moment no more files can be opened than before.
    static func withOriginalLimits<Result>(_ body: () -> Result) -> Result {
        let cores = coreLimit.load(ordering: .relaxed)
        let files = fileLimit.load(ordering: .relaxed)
        let ours = files > 0 ? softLimit(fileResource) : 0
        if cores > 0 { setSoftLimit(coreResource, cores) }
        if files > 0 { setSoftLimit(fileResource, files) }
        defer {
            if cores > 0 { setSoftLimit(coreResource, 0) }
            if files > 0 { setSoftLimit(fileResource, ours) }
        }
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
        var limit = rlimit()
        guard getrlimit(fileResource, &limit) == 0 else { return }
        let original = UInt64(limit.rlim_cur)
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 18))
        guard limit.rlim_cur > original, setrlimit(fileResource, &limit) == 0 else { return }
        fileLimit.store(original, ordering: .relaxed)
        StartedPrograms.watch { _ = cprocess_limit_files($0, original) }
    }

    /// For kernels that write cores of processes that are not dumpable (fs.suid_dumpable, core(5)).
    private static func forbidCoreFiles() {
        coreLimit.store(softLimit(coreResource), ordering: .relaxed)
        setSoftLimit(coreResource, 0)
    }

    private static func softLimit(_ resource: Resource) -> UInt64 {
        var limit = rlimit()
        return getrlimit(resource, &limit) == 0 ? UInt64(limit.rlim_cur) : 0
    }

    private static func setSoftLimit(_ resource: Resource, _ value: UInt64) {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = rlim_t(value)
        setrlimit(resource, &limit)
    }

    #if canImport(Glibc)
        private typealias Resource = __rlimit_resource_t
        private static let coreResource = __rlimit_resource_t(RLIMIT_CORE.rawValue)
        private static let fileResource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private typealias Resource = Int32
        private static let coreResource = RLIMIT_CORE
        private static let fileResource = RLIMIT_NOFILE
    #endif

    /// What the soft limits were at the start; 0 where they were never touched.
    private static let coreLimit = Atomic<UInt64>(0)
    private static let fileLimit = Atomic<UInt64>(0)
}
