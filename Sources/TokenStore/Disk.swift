// Where blocking file work runs: a thread of the store's own, so that a slow fsync or a hanging
// network file system never holds one of the few threads that all tasks share.

import Dispatch

/// Performs work in order, off the cooperative pool.
final class Disk: Sendable {
    private let queue = DispatchQueue(label: "token-store")

    func perform<Value: Sendable>(
        _ work: @escaping @Sendable () throws(StoreError) -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { waiting in
            queue.async {
                do throws(StoreError) {
                    waiting.resume(returning: .success(try work()))
                } catch {
                    waiting.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }
}
