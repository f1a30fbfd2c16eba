// A thread for a loop. Signals are blocked on it, so that they reach the thread that expects them.

import Glibc

/// A joinable thread (pthreads(7)).
package struct LoopThread: @unchecked Sendable {
    // SAFETY: a thread's id may be joined from any thread, once; the caller joins once.
    private let id: pthread_t

    /// Runs the body on a new thread. The stack is small: loops do not recurse.
    package init(_ body: @escaping @Sendable () -> Void) throws(ReactorError) {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var blocked = sigset_t()
        var before = sigset_t()
        sigfillset(&blocked)
        pthread_sigmask(SIG_BLOCK, &blocked, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, 512 * 1024)
        // SAFETY: the new thread takes the one reference given here.
        let box = Unmanaged.passRetained(Box(body))
        var id = pthread_t()
        let result = pthread_create(
            &id, &attributes,
            { argument in
                // SAFETY: see above.
                Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        guard result == 0 else {
            box.release()
            throw ReactorError(code: -result)
        }
        self.id = id
    }

    package func join() { pthread_join(id, nil) }
}
