// Waiting that ends with the caller's task, for work that does not: a request that a provider may have
// acted on goes on to its own end, whoever has stopped waiting for it.

/// What the work gives, or nil as soon as the calling task is cancelled. Then the work's task is
/// cancelled as well, and nobody learns what it gives.
func unlessCancelled<Value: Sendable>(
    _ work: @escaping @Sendable () async -> Value
) async -> Value? {
    let (values, continuation) = AsyncStream.makeStream(of: Value.self)
    let task = Task {
        continuation.yield(await work())
        continuation.finish()
    }
    var iterator = values.makeAsyncIterator()
    guard let value = await iterator.next() else {
        task.cancel()
        return nil
    }
    return value
}
