// How one thread hands messages to another: whole batches, one wake-up per batch.

import Synchronization

/// A queue that any thread may post to and one thread empties.
package final class Mailbox<Message: Sendable>: Sendable {
    private let queue = Mutex<[Message]>([])
    private let wake: @Sendable () -> Void

    /// `wake` must be callable from any thread; it is called only when the queue was empty.
    package init(wake: @escaping @Sendable () -> Void) {
        self.wake = wake
    }

    package func post(_ message: Message) {
        let wasEmpty = queue.withLock { queue in
            queue.append(message)
            return queue.count == 1
        }
        if wasEmpty { wake() }
    }

    /// Everything posted so far, in order.
    package func takeAll() -> [Message] {
        queue.withLock { queue in
            let taken = queue
            queue = []
            return taken
        }
    }
}
