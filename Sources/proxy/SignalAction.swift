// What the process does about a signal (sigaction(2)), in the two spellings that C libraries have for it.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

enum SignalAction {
    /// It holds nothing, may do only what signal-safety(7) allows, and is told who sent the signal.
    typealias Handler =
        @convention(c) (Int32, UnsafeMutablePointer<siginfo_t>?, UnsafeMutableRawPointer?) -> Void

    /// Whether whoever started us wants the signal ignored (nohup(1)). Nil where there is no such signal.
    static func isIgnored(_ number: Int32) -> Bool? {
        var action = sigaction()
        guard sigaction(number, nil, &action) == 0 else { return nil }
        #if canImport(Glibc)
            let handler = action.__sigaction_handler.sa_handler
        #else
            let handler = action.__sigaction_u.__sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    /// Calls that a signal interrupts go on by themselves.
    static func set(_ number: Int32, _ handler: @escaping Handler) {
        var action = sigaction()
        sigemptyset(&action.sa_mask)
        action.sa_flags = SA_SIGINFO | SA_RESTART
        #if canImport(Glibc)
            action.__sigaction_handler.sa_sigaction = handler
        #else
            action.__sigaction_u.__sa_sigaction = handler
        #endif
        sigaction(number, &action, nil)
    }
}
