// How other threads speak to the server's: answers and orders go in, a byte in a pipe wakes it.

import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

final class ServerMail: Sendable {
    enum Order {
        case run
        case drain(until: UInt64)
        case stop
    }

    enum Answer {
        case response(ServerResponse)
        /// Of an open body; nil ends it.
        case piece([UInt8]?)
    }

    struct Content {
        var answers: [(connection: UInt64, answer: Answer)] = []
        var order = Order.run
    }

    private struct State {
        var content = Content()
        var hasEnded = false
        var thread: pthread_t?
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())
    private let wake: (reading: Int32, writing: Int32)
    /// Its writing end is closed at the end, which any number of threads can wait for.
    private let ending: (reading: Int32, writing: Int32)

    /// Nil when there are no descriptors left.
    init?() {
        guard let wake = openWakePipe() else { return nil }
        guard let ending = openWakePipe() else {
            let code = errno
            closeDescriptor(wake.reading)
            closeDescriptor(wake.writing)
            errno = code
            return nil
        }
        self.wake = wake
        self.ending = ending
    }

    deinit {
        // Whoever posts holds a reference, so nobody writes to a number that means something else.
        closeDescriptor(wake.reading)
        closeDescriptor(wake.writing)
        closeDescriptor(ending.reading)
        if !state.withLock({ $0.hasEnded }) { closeDescriptor(ending.writing) }
    }

    /// The descriptor to poll for reading.
    var wakeDescriptor: Int32 { wake.reading }

    func post(_ answer: Answer, to connection: UInt64) {
        let isFirst = state.withLock { state in
            state.content.answers.append((connection, answer))
            return state.content.answers.count == 1
        }
        if isFirst { wakeUp() }
    }

    /// A stop is final; a second drain can only shorten the first.
    func ask(_ order: Order) {
        state.withLock { state in
            switch (state.content.order, order) {
            case (.stop, _), (_, .run): break
            case (.drain(let old), .drain(let new)):
                state.content.order = .drain(until: min(old, new))
            case (.run, .drain), (.run, .stop), (.drain, .stop): state.content.order = order
            }
        }
        wakeUp()
    }

    /// What has come since the last call; the order in force stays.
    func take() -> Content {
        var drop: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0]
        while read(wake.reading, &drop, drop.count) > 0 {}
        return state.withLock { state in
            let content = state.content
            state.content.answers = []
            return content
        }
    }

    /// The calling thread is the server's.
    func markBegun() {
        let own = pthread_self()
        state.withLock { $0.thread = own }
    }

    /// The server's thread is done and has closed its sockets.
    func markEnded() {
        let waiters = state.withLock { state in
            state.hasEnded = true
            defer { state.waiters = [] }
            return state.waiters
        }
        closeDescriptor(ending.writing)
        for waiter in waiters { waiter.resume() }
    }

    func end() async {
        await withCheckedContinuation { continuation in
            let hasEnded = state.withLock { state in
                if !state.hasEnded { state.waiters.append(continuation) }
                return state.hasEnded
            }
            if hasEnded { continuation.resume() }
        }
    }

    /// Blocks for as long as the server's thread needs to see the order; on that thread itself it
    /// returns at once.
    func waitForEnd() {
        let own = pthread_self()
        let isOwn = state.withLock { $0.thread.map { pthread_equal($0, own) != 0 } ?? false }
        if isOwn { return }
        var entry = pollfd(fd: ending.reading, events: Int16(POLLIN), revents: 0)
        while !state.withLock({ $0.hasEnded }) {
            _ = poll(&entry, 1, -1)
        }
    }

    private func wakeUp() {
        var byte: UInt8 = 1
        // A full pipe wakes as well.
        _ = write(wake.writing, &byte, 1)
    }
}
