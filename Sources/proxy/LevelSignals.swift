// SIGUSR1 and SIGUSR2: how much a running proxy says. The first has everything said, the second goes back to
// what is configured; for a look at a fault without a restart.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// The wishes for more or less, as they come.
enum LevelSignals {
    enum Wish: Sendable {
        case everything
        case asConfigured
    }

    /// Starts watching; to be called once. The default action of both signals would end the process.
    static func start() -> AsyncStream<Wish> {
        let wishes = signals.stream { $0 == SIGUSR1 ? Wish.everything : .asConfigured }
        guard let wishes else {
            signal(SIGUSR1, SIG_IGN)
            signal(SIGUSR2, SIG_IGN)
            return AsyncStream { _ in }
        }
        signal(SIGUSR1, handle)
        signal(SIGUSR2, handle)
        return wishes
    }
}

private let signals = SignalPipe()
private let handle: @convention(c) (Int32) -> Void = { signals.tell($0) }
