// Threads for code that blocks. Fakes and whole-binary tests wait in system calls, which the threads
// of Swift's own pool must not do: there are only as many of those as cores.

import Glibc

package enum OwnThread {
    /// Runs the body on a new thread, which ends with it.
    package static func start(_ body: @escaping @Sendable () -> Void) {
        final class Box: Sendable {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        // SAFETY: the reference is taken here and given up by the new thread, exactly once.
        let box = Unmanaged.passRetained(Box(body))
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { argument in
                // SAFETY: `argument` is what was passed below and never nil.
                Unmanaged<Box>.fromOpaque(argument!).takeRetainedValue().body()
                return nil
            }, box.toOpaque())
        precondition(code == 0, "pthread_create failed with \(code)")
        pthread_detach(thread)
    }
}

/// Runs each job of a task on a thread of its own, so that a test's body may block in system calls
/// and still belongs to its task (Swift Testing finds the current test there).
package final class OwnThreadExecutor: TaskExecutor {
    package static let shared = OwnThreadExecutor()

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        OwnThread.start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
