// A thread for a call that blocks for as long as a person likes; the concurrency pool has too few to
// lend one.

#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// A thread of its own for something that blocks; it is never joined.
func startThread(_ body: @escaping @Sendable () -> Void) {
    final class Job {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
    #if canImport(Glibc)
        var thread = pthread_t()
    #else
        var thread: pthread_t?
    #endif
    // SAFETY: retained here, released once by the thread that takes it.
    let job = Unmanaged.passRetained(Job(body))
    let code = pthread_create(
        &thread, &attributes,
        { argument in
            #if canImport(Glibc)
                let pointer = argument!
            #else
                let pointer = argument
            #endif
            // SAFETY: see above.
            Unmanaged<Job>.fromOpaque(pointer).takeRetainedValue().body()
            return nil
        }, job.toOpaque())
    pthread_attr_destroy(&attributes)
    if code != 0 { job.release() }
}
