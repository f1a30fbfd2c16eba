// A child process with an environment of its own, no terminal, and everything that it prints kept.

import Glibc
import Synchronization

/// Started by `init`; killed when dropped.
package final class ChildProcess: Sendable {
    package enum Stream: Int, Sendable { case output, error }

    package enum Ending: Hashable, Sendable {
        case exited(Int32)
        case killed(signal: Int32)
    }

    package let identifier: Int32
    private let shared: Shared

    /// The first argument is the program's path. The child leads a session of its own, so that it has
    /// no controlling terminal and signals to it reach its children with `kill(wholeGroup:)`.
    package init(
        _ arguments: [String], environment: [String: String], directory: String,
        input: Octets = ""
    ) throws {
        let inputEnds = try Descriptors.pipe()
        let outputEnds = try Descriptors.pipe()
        let errorEnds = try Descriptors.pipe()
        defer {
            close(inputEnds.reader)
            close(outputEnds.writer)
            close(errorEnds.writer)
        }
        identifier = try Self.spawn(
            arguments, environment, directory,
            descriptors: [inputEnds.reader, outputEnds.writer, errorEnds.writer])
        shared = Shared()
        let (shared, identifier) = (shared, identifier)
        OwnThread.start { Self.feed(inputEnds.writer, input) }
        OwnThread.start { shared.collect(outputEnds.reader, .output) }
        OwnThread.start { shared.collect(errorEnds.reader, .error) }
        OwnThread.start { shared.reap(identifier) }
    }

    deinit {
        // What is killed tells no sanitizer's findings.
        if Sanitizer.isOn && isRunning {
            kill(SIGTERM)
            _ = try? waitForEnd(within: .seconds(5))
        }
        kill(SIGKILL, wholeGroup: true)
    }

    // MARK: What it does

    package var isRunning: Bool { shared.state.withLock { $0.ending == nil } }

    /// What was printed so far.
    package func printed(_ stream: Stream) -> Octets {
        shared.state.withLock { $0.printed[stream.rawValue] }
    }

    /// Waits for the end of the process and of what it prints (a grandchild that holds the streams
    /// open is waited for only within the limit).
    @discardableResult
    package func waitForEnd(within limit: Duration = .seconds(30)) throws -> Ending {
        try waited(for: "the end of process \(identifier)", within: limit) {
            shared.state.withLock { $0.openStreams == 0 ? $0.ending : nil }
        }
    }

    package func kill(_ signal: Int32, wholeGroup: Bool = false) {
        shared.state.withLock { state in
            // Once reaped, the number may belong to a stranger.
            if state.ending == nil { Glibc.kill(wholeGroup ? -identifier : identifier, signal) }
        }
    }

    // MARK: Facts from /proc

    /// This process and all of its descendants that live now.
    package var family: [Int32] {
        var parents: [pid_t: pid_t] = [:]
        for name in Files.list("/proc") {
            guard let child = pid_t(name), let parent = Self.parent(of: child) else { continue }
            parents[child] = parent
        }
        var family = [identifier]
        var index = 0
        while index < family.count {
            family += parents.filter { $0.value == family[index] }.map(\.key)
            index += 1
        }
        return family
    }

    private static func parent(of child: pid_t) -> pid_t? {
        // The program's name stands in parentheses and may hold anything; proc(5).
        guard let text = try? Files.read("/proc/\(child)/stat")?.text,
            let behind = text.components(separatedBy: ") ").last
        else { return nil }
        return pid_t(behind.components(separatedBy: " ").dropFirst().first ?? "")
    }

    /// A figure of /proc/PID/status in KiB, such as VmHWM, the highest resident size so far.
    package func memoryKibibytes(_ name: String) throws -> Int {
        let text = try Files.read("/proc/\(identifier)/status")?.text ?? ""
        for line in text.components(separatedBy: "\n") where line.hasPrefix("\(name):") {
            let digits = line.unicodeScalars.filter { (48...57).contains($0.value) }
            if let value = Int(String(String.UnicodeScalarView(digits))) { return value }
        }
        throw Failure.malformed("/proc/\(identifier)/status without \(name)")
    }

    // MARK: Starting

    private static func spawn(
        _ arguments: [String], _ environment: [String: String], _ directory: String,
        descriptors: [Int32]
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, descriptor) in descriptors.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        SpawnExtensions.closeFrom(&actions, 3)
        SpawnExtensions.changeDirectory(&actions, directory)

        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // POSIX_SPAWN_SETSID, which <spawn.h> hides from Swift; the signals are put back to their
        // defaults since a test runner may ignore some, and its threads block most.
        let newSession: Int16 = 0x80
        posix_spawnattr_setflags(
            &attributes,
            newSession | Int16(POSIX_SPAWN_SETSIGDEF) | Int16(POSIX_SPAWN_SETSIGMASK))
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)

        var identifier = pid_t()
        let code = withCStrings(arguments) { arguments in
            withCStrings(environment.map { "\($0.key)=\($0.value)" }) { environment in
                posix_spawn(
                    &identifier, arguments[0]!, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw Failure.system("posix_spawn \(arguments[0])", code) }
        return identifier
    }

    private static func withCStrings<Result>(
        _ texts: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let pointers = texts.map { strdup($0) }
        defer { for pointer in pointers { free(pointer) } }
        return body(pointers + [nil])
    }

    private static func feed(_ descriptor: Int32, _ input: Octets) {
        // A child that does not read its input must not end the test runner by SIGPIPE.
        var blocked = sigset_t()
        sigemptyset(&blocked)
        sigaddset(&blocked, SIGPIPE)
        pthread_sigmask(SIG_BLOCK, &blocked, nil)
        var rest = input.bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        close(descriptor)
    }
}

/// What the threads of a child know of it.
private final class Shared: Sendable {
    struct State {
        var printed: [Octets] = ["", ""]
        var openStreams = 2
        var ending: ChildProcess.Ending?
    }

    let state = Mutex(State())

    func collect(_ descriptor: Int32, _ stream: ChildProcess.Stream) {
        var block = [UInt8](repeating: 0, count: 1 << 14)
        while true {
            let count = read(descriptor, &block, block.count)
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { break }
            state.withLock { $0.printed[stream.rawValue].bytes += block[..<count] }
        }
        close(descriptor)
        state.withLock { $0.openStreams -= 1 }
    }

    func reap(_ identifier: pid_t) {
        // Waits without reaping first, so that `kill` never meets a number that was given away.
        var facts = siginfo_t()
        while waitid(P_PID, id_t(identifier), &facts, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        state.withLock { state in
            var status: Int32 = 0
            while waitpid(identifier, &status, 0) < 0 && errno == EINTR {}
            let signal = status & 0x7F
            state.ending = signal == 0 ? .exited(status >> 8 & 0xFF) : .killed(signal: signal)
        }
    }
}

/// Two functions of <spawn.h> that glibc keeps for GNU programs and Swift's module does not see.
private enum SpawnExtensions {
    private typealias Actions = UnsafeMutablePointer<posix_spawn_file_actions_t>

    static func closeFrom(
        _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ first: Int32
    ) {
        let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np")
        typealias Function = @convention(c) (Actions, Int32) -> Int32
        // SAFETY: the type is the one of posix_spawn_file_actions_addclosefrom_np(3).
        _ = unsafeBitCast(symbol, to: Function.self)(actions, first)
    }

    static func changeDirectory(
        _ actions: UnsafeMutablePointer<posix_spawn_file_actions_t>, _ path: String
    ) {
        let symbol = dlsym(nil, "posix_spawn_file_actions_addchdir_np")
        typealias Function = @convention(c) (Actions, UnsafePointer<CChar>) -> Int32
        // SAFETY: the type is the one of posix_spawn_file_actions_addchdir_np(3).
        _ = unsafeBitCast(symbol, to: Function.self)(actions, path)
    }
}
