// A latch between threads: scripts wait at it until the test opens it. Waiting costs nothing, so that thousands
// of threads can.

import Glibc

/// Closed at first; once open it stays open.
///
/// SAFETY: everything that changes is behind `mutex`; the pointers never do.
package final class Gate: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let opened = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var isOpened = false
    private var arrived = 0

    package init() {
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(opened, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(opened)
        pthread_mutex_destroy(mutex)
        opened.deallocate()
        mutex.deallocate()
    }

    private func withLock<Result>(_ body: () -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body()
    }

    package func open() {
        withLock {
            isOpened = true
            pthread_cond_broadcast(opened)
        }
    }

    package var isOpen: Bool { withLock { isOpened } }

    /// How many have come to wait so far.
    package var arrivals: Int { withLock { arrived } }

    /// Waits until the gate opens.
    package func pass(within limit: Duration = .seconds(30)) throws {
        var end = timespec()
        clock_gettime(CLOCK_MONOTONIC, &end)
        let (seconds, attoseconds) = limit.components
        end.tv_sec += Int(seconds)
        end.tv_nsec += Int(attoseconds / 1_000_000_000)
        if end.tv_nsec >= 1_000_000_000 {
            end.tv_sec += 1
            end.tv_nsec -= 1_000_000_000
        }
        let hasOpened = withLock {
            arrived += 1
            while !isOpened && pthread_cond_timedwait(opened, mutex, &end) == 0 {}
            return isOpened
        }
        if !hasOpened { throw Failure.deadline("a gate to open") }
    }

    /// Waits until that many have come.
    package func waitForArrivals(_ count: Int, within limit: Duration = .seconds(20)) throws {
        try waited(for: "\(count) arrivals at a gate", within: limit) {
            arrivals >= count ? () : nil
        }
    }
}
