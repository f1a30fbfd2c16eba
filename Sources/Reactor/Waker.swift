// The one thing of a loop that other threads may touch: a wake-up.

import CUV
import Synchronization

/// Wakes a loop from any thread; harmless once the loop has gone.
package final class Waker: Sendable {
    private struct State {
        // SAFETY: reached only under the mutex; closed on the loop's thread, freed by its callback.
        nonisolated(unsafe) var async: UnsafeMutablePointer<uv_async_t>?
    }

    private let state = Mutex(State(async: nil))
    // SAFETY: called by the loop's thread alone, which is the one that made it.
    private nonisolated(unsafe) let onWake: () -> Void

    /// `onWake` runs on the loop's thread, once for any number of wake-ups.
    package init(on loop: EventLoop, onWake: @escaping () -> Void) throws(ReactorError) {
        self.onWake = onWake
        let async = UnsafeMutablePointer<uv_async_t>.allocate(capacity: 1)
        let result = uv_async_init(loop.loop, async, wokenUp)
        guard result == 0 else {
            async.deallocate()
            throw ReactorError(code: result)
        }
        // SAFETY: `close` must be called before the last reference goes; it is, by the worker.
        async.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        nonisolated(unsafe) let handle = async
        state.withLock { $0.async = handle }
    }

    package func wake() {
        state.withLock { state in
            if let async = state.async { uv_async_send(async) }
        }
    }

    /// On the loop's thread: no wake-up arrives after this.
    package func close() {
        state.withLock { state in
            guard let async = state.async else { return }
            state.async = nil
            let handle = UnsafeMutableRawPointer(async).assumingMemoryBound(to: uv_handle_t.self)
            uv_close(handle) { $0?.deallocate() }
        }
    }

    fileprivate func deliver() { onWake() }
}

private func wokenUp(_ async: UnsafeMutablePointer<uv_async_t>?) {
    // SAFETY: see Waker.init.
    Unmanaged<Waker>.fromOpaque(async!.pointee.data)._withUnsafeGuaranteedRef { $0.deliver() }
}
