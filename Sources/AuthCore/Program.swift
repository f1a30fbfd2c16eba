// Runs a program for what it prints: no shell, no terminal, no variable that holds a secret of ours, a
// limit on time and one on size. What it says on its error output is counted and thrown away, since
// nobody knows what is in it.

import Bytes
import Dispatch
import Synchronization
import Vocabulary

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Why a program gave nothing; its output is in no case.
package enum ProgramError: Error, Hashable, Sendable {
    case cannotStart(program: String, code: Int32)
    case exited(program: String, status: Int32)
    case killed(program: String, signal: Int32)
    case timedOut(program: String, seconds: Int)
    case tooMuchOutput(program: String, bytesMax: Int)
}

extension ProgramError {
    package var message: String {
        switch self {
        case .cannotStart(let program, let code):
            "cannot run \"\(program)\": \(String(cString: strerror(code)))"
        case .exited(let program, let status): "\"\(program)\" ended with status \(status)"
        case .killed(let program, let signal): "\"\(program)\" was ended by signal \(signal)"
        case .timedOut(let program, let seconds):
            "\"\(program)\" gave no answer within \(seconds) s"
        case .tooMuchOutput(let program, let bytesMax):
            "\"\(program)\" printed more than \(bytesMax) bytes"
        }
    }
}

/// Who has changed what programs inherit puts it right in those that are started here.
package enum StartedPrograms {
    private static let hook = Mutex<(@Sendable (Int32) -> Void)?>(nil)

    /// To be called once, before any is started; the body gets the number of each as soon as it runs.
    package static func watch(_ body: @escaping @Sendable (Int32) -> Void) {
        hook.withLock { $0 = body }
    }

    static func note(_ process: Int32) { hook.withLock { $0 }?(process) }
}

/// A command line, started as it stands.
struct Program: Sendable {
    private let arguments: [String]
    private let environment: [String: String]
    private let secondsMax: Int
    private let bytesMax: Int

    /// The first argument is looked for in PATH.
    init(
        _ arguments: [String], environment: [String: String], secondsMax: Int = 60,
        bytesMax: Int = SecretText.bytesMax
    ) {
        self.arguments = arguments
        self.environment = environment
        self.secondsMax = secondsMax
        self.bytesMax = bytesMax
    }

    private var name: String { arguments.first ?? "" }

    /// Everything that it prints, once it has ended well.
    func output() async throws(ProgramError) -> SecretBytes {
        let result: Result<SecretBytes, ProgramError> = await withCheckedContinuation { waiting in
            DispatchQueue(label: "program").async {
                do throws(ProgramError) {
                    waiting.resume(returning: .success(try outputBlocking()))
                } catch {
                    waiting.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// Starts it and leaves it alone; its end is waited for, so that nothing is left of it.
    func detach() throws(ProgramError) {
        let child = try spawn(output: nil)
        DispatchQueue(label: "program").async { _ = Self.wait(child, WaitMode.untilItEnds) }
    }

    private func outputBlocking() throws(ProgramError) -> SecretBytes {
        var ends: (read: Int32, child: pid_t) = (-1, 0)
        // Nothing may be started while the writing end could be inherited: it would stay open.
        try Self.starting.withLock { _ throws(ProgramError) in
            guard let pipe = Pipe() else { throw .cannotStart(program: name, code: errno) }
            defer { close(pipe.write) }
            do throws(ProgramError) {
                ends = (pipe.read, try spawn(output: pipe.write))
            } catch {
                close(pipe.read)
                throw error
            }
        }
        defer { close(ends.read) }
        let outcome = collect(ends.read, from: ends.child)
        if case .success = outcome {} else { kill(-ends.child, SIGKILL) }
        let status = Self.wait(
            ends.child, outcome.isSuccess ? .atMost(seconds: secondsMax) : .untilItEnds)
        let bytes = try outcome.get()
        switch status {
        case .exited(0): return bytes
        case .exited(let status): throw .exited(program: name, status: status)
        case .killed(let signal): throw .killed(program: name, signal: signal)
        }
    }

    // MARK: Output

    /// How long its output is read on after its own end, in milliseconds. What it left running may
    /// hold the output open for ever.
    private static let readOnMilliseconds: UInt64 = 200
    /// How often it is looked at while it says nothing.
    private static let lookMilliseconds: UInt64 = 50

    private func collect(
        _ descriptor: Int32, from child: pid_t
    ) -> Result<SecretBytes, ProgramError> {
        let deadline = SystemTime.bootTime().advanced(byMilliseconds: UInt64(secondsMax) * 1000)
        var block = [UInt8](repeating: 0, count: bytesMax + 1)
        defer { block.withUnsafeMutableBytes { wipe($0) } }
        var filled = 0
        var end: BootTime?
        while true {
            let now = SystemTime.bootTime()
            if let end, now >= end { break }
            guard now < deadline else {
                return .failure(.timedOut(program: name, seconds: secondsMax))
            }
            if end == nil, Self.hasEnded(child) {
                end = now.advanced(byMilliseconds: Self.readOnMilliseconds)
            }
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = min(deadline.milliseconds - now.milliseconds, Self.lookMilliseconds)
            guard poll(&wanted, 1, Int32(clamping: left)) > 0 else { continue }
            let taken = block.withUnsafeMutableBytes { target in
                read(descriptor, target.baseAddress! + filled, target.count - filled)
            }
            if taken < 0, errno == EINTR || errno == EAGAIN { continue }
            guard taken > 0 else { break }
            filled += taken
            guard filled <= bytesMax else {
                return .failure(.tooMuchOutput(program: name, bytesMax: bytesMax))
            }
        }
        return .success(
            block.withUnsafeBytes { SecretBytes(copying: .init(rebasing: $0[..<filled])) })
    }

    // MARK: The process

    private static let starting = Mutex(())

    private struct Pipe {
        let read: Int32
        let write: Int32

        init?() {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { return nil }
            for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            read = ends[0]
            write = ends[1]
        }
    }

    /// In a group of its own, so that what it starts can be ended with it.
    private func spawn(output: Int32?) throws(ProgramError) -> pid_t {
        #if canImport(Glibc)
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #else
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        if let output {
            posix_spawn_file_actions_adddup2(&actions, output, 1)
        } else {
            posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
        }
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0)
        var none = sigset_t()
        var all = sigset_t()
        sigemptyset(&none)
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP))

        var child = pid_t()
        let words = arguments.map { strdup($0) } + [nil]
        let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in words + variables { free(text) } }
        let code = posix_spawnp(&child, name, &actions, &attributes, words, variables)
        guard code == 0 else { throw .cannotStart(program: name, code: code) }
        StartedPrograms.note(child)
        return child
    }

    /// Whether it has ended; it still has to be waited for.
    private static func hasEnded(_ child: pid_t) -> Bool {
        var facts = siginfo_t()
        return waitid(P_PID, id_t(child), &facts, WEXITED | WNOHANG | WNOWAIT) == 0
            && facts.si_signo == SIGCHLD
    }

    private enum End {
        case exited(Int32)
        case killed(Int32)
    }

    private enum WaitMode {
        case untilItEnds
        /// Then it is killed.
        case atMost(seconds: Int)
    }

    private static func wait(_ child: pid_t, _ mode: WaitMode) -> End {
        var polls = 0
        while true {
            var status: Int32 = 0
            let isPolling = if case .atMost = mode { true } else { false }
            let ended = waitpid(child, &status, isPolling ? WNOHANG : 0)
            if ended == child { return end(status) }
            // Somebody else has waited for it already.
            if ended < 0, errno != EINTR { return .exited(0) }
            guard ended == 0, case .atMost(let seconds) = mode else { continue }
            polls += 1
            if polls > seconds * 100 { kill(-child, SIGKILL) }
            usleep(10_000)
        }
    }

    private static func end(_ status: Int32) -> End {
        status & 0x7F == 0 ? .exited(status >> 8 & 0xFF) : .killed(status & 0x7F)
    }
}

extension Result {
    fileprivate var isSuccess: Bool {
        if case .success = self { true } else { false }
    }
}
