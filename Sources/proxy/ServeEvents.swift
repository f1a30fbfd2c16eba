// What happens to a proxy that runs: signals, a changed file, a parent that has gone. Each is passed on to
// whoever answers it; nothing is answered here.

import Configuration

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The watches of one run.
struct ServeEvents: Sendable {
    private let tasks: [Task<Void, Never>]

    private static let parentCheck = Duration.milliseconds(300)

    /// - Parameters:
    ///   - hangups: nil where SIGHUP means something else.
    ///   - file: the configuration's; nil where nobody watches it.
    ///   - parent: whose end is ours as well; nil where it is not.
    init(
        of running: Running, signals: AsyncStream<Int32>, hangups: AsyncStream<HangupWatch.Event>?,
        file: ConfigurationWatch?, parent: Int32?, reloader: Reloader
    ) {
        var tasks = [
            Task { for await signal in signals { running.end(.signal(signal)) } }
        ]
        if let hangups {
            tasks.append(
                Task {
                    for await event in hangups {
                        switch event {
                        case .terminalClosed: running.end(.signal(SIGHUP))
                        case .reload: await reloader.hangup()
                        }
                    }
                })
        }
        if let file {
            tasks.append(Task { for await _ in file.changes() { await reloader.reload() } })
        }
        if let parent {
            tasks.append(
                Task {
                    // Whoever takes in orphans is another process (getppid(2)). No signal of the kernel's
                    // is asked for: that one goes by the parent's thread, which may end much earlier.
                    while getppid() == parent {
                        guard (try? await Task.sleep(for: Self.parentCheck)) != nil else { return }
                    }
                    running.end(.parentGone)
                })
        }
        self.tasks = tasks
    }

    func stop() { for task in tasks { task.cancel() } }
}
