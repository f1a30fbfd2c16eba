// The program of `proxy run`: started in our own process group, so that a terminal treats both as one job;
// sent the signals that are meant for it; waited for. It gets what it is given and no secret of ours.

import Bytes
import Synchronization
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A program that runs.
struct ChildProgram: Sendable {
    private let identifier: pid_t

    /// Signals that are passed on. What a terminal sends goes to the whole job, the program included, and
    /// is not passed on a second time; nor does it end us, who must be there until the program has ended.
    private static let passed = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2]

    /// Takes over the signals, before anything long begins: one that comes before there is a program is
    /// kept for it, or ends the start.
    static func takeSignals() {
        for number in passed {
            // What whoever started us ignores (nohup(1)) stays ignored, here and in the program.
            guard SignalAction.isIgnored(number) == false else { continue }
            SignalAction.set(number, handle)
        }
    }

    /// A signal that came although there is no program yet.
    static var earlySignal: Int32? {
        let number = early.load(ordering: .acquiring)
        return number == 0 ? nil : number
    }

    /// Starts it; the first word is looked for in PATH. Throws an errno value.
    static func start(_ words: [String], environment: [String: String]) throws(Errno)
        -> ChildProgram
    {
        #if canImport(Glibc)
            var attributes = posix_spawnattr_t()
        #else
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // What we ignore for our own sake it does not; what we handle is put back by exec. Threads of a
        // pool block signals, and it would inherit that.
        var (none, ours) = (sigset_t(), sigset_t())
        sigemptyset(&none)
        sigemptyset(&ours)
        for number in [SIGPIPE, SIGXFSZ] { sigaddset(&ours, number) }
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &ours)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var identifier = pid_t()
        let arguments = words.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer {
            for text in variables {
                // One of them may hold the run's secret.
                if let text {
                    wipe(UnsafeMutableRawBufferPointer(start: text, count: strlen(text)))
                }
                free(text)
            }
            for text in arguments { free(text) }
        }
        let code = ProcessHardening.withOriginalLimits {
            posix_spawnp(&identifier, words[0], nil, &attributes, arguments, variables)
        }
        guard code == 0 else { throw Errno(code: code) }
        child.store(identifier, ordering: .releasing)
        // The handler stores first and looks then, and so do we: one of us sees it, at worst both.
        if let number = earlySignal { kill(identifier, number) }
        return ChildProgram(identifier: identifier)
    }

    /// What a shell would say of its end: its status, or 128 and the signal's number.
    func ended() async -> Int32 {
        let identifier = identifier
        return await withCheckedContinuation { done in
            startThread { done.resume(returning: Self.wait(for: identifier)) }
        }
    }

    private static func wait(for identifier: pid_t) -> Int32 {
        var facts = siginfo_t()
        // Not reaped at once, so that no signal meets whoever gets its number next.
        while waitid(P_PID, id_t(identifier), &facts, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        child.store(0, ordering: .releasing)
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? status >> 8 & 0xFF : 128 + signal
    }

    /// Why nothing could be started.
    struct Errno: Error {
        let code: Int32
    }
}

/// The program, once there is one; 0 when it has ended, -1 before.
private let child = Atomic<Int32>(-1)
private let early = Atomic<Int32>(0)

/// Only what signal-safety(7) allows.
private let handle: SignalAction.Handler = { number, facts, _ in
    let target = child.load(ordering: .acquiring)
    if target == -1 {
        early.store(number, ordering: .releasing)
        let late = child.load(ordering: .acquiring)
        if late > 0 { kill(late, number) }
        return
    }
    // It has ended, and somebody will not wait for what is still to be saved.
    if target == 0 { _exit(128 + number) }
    // The kernel's own, from the terminal, went to the program as well (sigaction(2)).
    let isFromTerminal = (facts?.pointee.si_code ?? 0) > 0
    if !isFromTerminal { kill(target, number) }
}
